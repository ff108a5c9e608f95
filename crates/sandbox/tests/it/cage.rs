//! The cage, attacked: what must not happen in it, each shown to happen without it.

mod home;
mod limits;
mod meanwhile;
mod obeyed;
mod orphans;
mod proof;
mod spare;
mod storm;
mod toolchains;
mod trusted;

use std::collections::HashMap;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use samovar_sandbox::cage::{CageSettings, Cages, Ended, Job, Level, Limits};
use tempfile::TempDir;

const EFFECTS: &str = include_str!("cage/effects.tsv");
/// The program that is a cage.
const PROGRAM: &str = env!("CARGO_BIN_EXE_samovar-cage");
/// What Landlock alone does not hold: the names and attributes of files, the workspace's own files, and
/// the sight of other processes.
const WEAKER: [&str; 28] = [
    "read\ta file outside, by its size",
    "read\twhether a file outside exists",
    "read\tthe data folder",
    "read\tthe data folder by a listing",
    "read\tthe data folder through a rename of the one above",
    "read\tthe boot folder",
    "write\ta file outside, by its mode",
    "write\ta file outside, by its time",
    "write\tthe mode of a device",
    "write\tthe data folder",
    "write\tthe data folder by moving it away",
    "write\twhat the server trusts",
    "write\twhat the server trusts, by a rename over it",
    "write\twhat the server trusts, by moving it away",
    "write\twhat the server trusts, by removing it",
    "write\twhat the server trusts, by a hard link",
    "write\twhat the server trusts, in a folder",
    "write\twhat the server trusts, by moving its folder",
    "network\ta look at its devices",
    "network\ta look at its connections",
    "unix\tthe socket of a container engine",
    "proc\tthe processes of this machine",
    "proc\tanother process",
    "proc\tits command line",
    "proc\tits environment",
    "proc\tthe server's environment",
    "proc\tthe environment of what started it",
    "privilege\ta device file",
];
/// A user without rights, which every Linux has.
const NOBODY: u32 = 65534;

/// A machine in small: what is around a workspace that a command must not reach.
pub(crate) struct Machine {
    all: TempDir,
    /// Where a toolchain's home can be shown.
    owner: TempDir,
    workspace: PathBuf,
    outside: PathBuf,
    home: PathBuf,
    /// The user that commands run as: the test's own, or one without rights.
    user: Option<u32>,
}

/// A process of this machine, and what listens on it.
struct Neighbours {
    process: Child,
    values: HashMap<&'static str, String>,
    /// A file of the machine's temporary folder.
    temp: PathBuf,
    _held: Vec<OwnedFd>,
}

impl Machine {
    fn new(user: Option<u32>) -> Self {
        let folder_in = |place: &str| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("samovar-cage-").tempdir_in(place).unwrap()
        };
        let (all, owner) = (folder_in("/var/tmp"), folder_in("/tmp"));
        let at = |name: &str| all.path().join(name);
        let home = owner.path().join("home");
        for folder in ["workspace/holder/data", "workspace/agents", "outside"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        fs::create_dir_all(home.join(".cargo/bin")).unwrap();
        for file in [
            "outside/secret",
            "workspace/holder/data/token",
            "workspace/samovar.toml",
        ] {
            fs::write(at(file), "canary").unwrap();
        }
        for file in [".cargo/credentials.toml", ".cargo/bin/tool", ".netrc"] {
            fs::write(home.join(file), "canary").unwrap();
        }
        symlink(at("outside"), at("workspace/was-there")).unwrap();
        let program = at("samovar-cage");
        // A link is there at once, but not on another disk.
        if fs::hard_link(PROGRAM, &program).is_err() {
            fs::copy(PROGRAM, &program).unwrap();
        }
        let machine = Self {
            workspace: at("workspace"),
            outside: at("outside"),
            home,
            all,
            owner,
            user,
        };
        if let Some(user) = user {
            for folder in [&machine.all, &machine.owner] {
                fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
                give(folder.path(), user);
            }
        }
        machine
    }

    fn settings(&self, level: Level) -> CageSettings {
        CageSettings {
            level,
            workspace: self.workspace.clone(),
            path: ["/usr/bin", "/bin"].map(PathBuf::from).to_vec(),
            home: Some(self.home.clone()),
            variables: Vec::new(),
            read: Vec::new(),
            hidden: match level {
                Level::Landlock => Vec::new(),
                Level::Namespaces | Level::Off => vec![self.workspace.join("holder/data")],
            },
            kept: vec!["samovar.toml".into(), "agents".into()],
            lock: None,
            note: None,
            program: Some(self.program()),
        }
    }

    /// The program that becomes a cage, as the user of this machine.
    fn program(&self) -> PathBuf {
        let program = self.all.path().join("samovar-cage");
        let Some(user) = self.user else {
            return program;
        };
        let script = self.all.path().join("as-user");
        let text = format!(
            "#!/bin/bash\nexec setpriv --reuid {user} --regid {user} --clear-groups \
             --pdeathsig keep bash -c 'exec -a samovar-cage {}'\n",
            program.display()
        );
        // By another process: a child that this one starts meanwhile would hold it open for writing.
        let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
        let mut written = Command::new("bash");
        written.args(["-c", write, "write", &text]).arg(&script);
        assert!(written.status().unwrap().success());
        script
    }

    pub(crate) fn cages(&self, level: Level) -> Cages {
        Cages::new(self.settings(level)).unwrap()
    }

    /// A process of the machine's user that runs until it is ended.
    fn process(&self, output: File) -> Child {
        let mut process = Command::new("bash");
        process
            .args(["-c", "read -r forever # canary"])
            .env("CANARY", "canary")
            .stdin(Stdio::piped())
            .stdout(Stdio::from(output));
        if let Some(user) = self.user {
            std::os::unix::process::CommandExt::uid(&mut process, user);
        }
        process.spawn().unwrap()
    }

    fn neighbours(&self) -> Neighbours {
        let secret = File::open(self.outside.join("secret")).unwrap();
        let process = self.process(secret);
        let pid = process.id();
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = TcpListener::bind("0.0.0.0:0").unwrap();
        let tcp6 = TcpListener::bind("[::1]:0").ok();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = tcp.local_addr().unwrap().port();
        let (named, datagram) = (self.outside.join("socket"), self.outside.join("datagram"));
        for socket in [&named, &datagram] {
            let _none = fs::remove_file(socket);
        }
        let listener = UnixListener::bind(&named).unwrap();
        let datagrams = UnixDatagram::bind(&datagram).unwrap();
        let name = format!("samovar-cage-{pid}");
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let nameless = UnixListener::bind_addr(&address).unwrap();
        for socket in [&named, &datagram] {
            fs::set_permissions(socket, Permissions::from_mode(0o777)).unwrap();
        }
        let values = HashMap::from([
            ("pid", pid.to_string()),
            ("fd", "1".to_owned()),
            ("server", std::process::id().to_string()),
            ("port", port.to_string()),
            ("porthex", format!("{port:04X}")),
            ("portall", all.local_addr().unwrap().port().to_string()),
            (
                "port6",
                tcp6.as_ref()
                    .map_or(1, |it| it.local_addr().unwrap().port())
                    .to_string(),
            ),
            ("address", own_address()),
            ("udp", udp.local_addr().unwrap().port().to_string()),
            ("socket", named.display().to_string()),
            ("abstract", name),
            ("memory", memory_of(pid)),
            ("outside", self.outside.display().to_string()),
            (
                "hidden",
                self.workspace.join("holder/data").display().to_string(),
            ),
            ("home", self.home.display().to_string()),
            (
                "hostname",
                fs::read_to_string("/proc/sys/kernel/hostname")
                    .unwrap()
                    .trim()
                    .to_owned(),
            ),
        ]);
        let temp = PathBuf::from(format!("/tmp/samovar-cage-tmp-{pid}"));
        fs::write(&temp, "canary").unwrap();
        let sockets = [listener.into(), datagrams.into(), nameless.into()];
        let mut held: Vec<OwnedFd> = vec![tcp.into(), all.into(), udp.into()];
        held.extend(sockets.into_iter().chain(tcp6.map(OwnedFd::from)));
        Neighbours {
            process,
            values,
            temp,
            _held: held,
        }
    }

    pub(crate) fn job(&self, command: &str) -> Job {
        let env = [
            ("PATH", "/usr/bin:/bin"),
            ("HOME", self.workspace.to_str().unwrap()),
            ("LANG", "C.UTF-8"),
        ];
        Job {
            program: "/bin/bash".into(),
            args: vec!["-c".to_owned(), command.to_owned()],
            env: env
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
            path: None,
            cwd: self.workspace.clone(),
            home: None,
            network: false,
            writes: true,
            limits: Limits::default(),
        }
    }
}

/// The address of this machine that others use.
fn own_address() -> String {
    let own = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    own.map_or_else(|_| "127.0.0.2".to_owned(), |own| own.ip().to_string())
}

/// Where the memory of a process begins.
fn memory_of(pid: u32) -> String {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = maps.split('-').next().unwrap();
    u64::from_str_radix(memory, 16).unwrap().to_string()
}

/// Gives a folder with all that is in it to a user.
fn give(path: &Path, user: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(user)).unwrap();
    if path.is_dir() && !path.is_symlink() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path(), user);
        }
    }
}

impl Neighbours {
    fn fill(&self, command: &str) -> String {
        self.values
            .iter()
            .fold(command.to_owned(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.temp);
        let _gone = self.process.kill();
        let _gone = self.process.wait();
    }
}

/// Output and end of a job.
pub(crate) fn run(cages: &Cages, job: Job) -> (String, Ended) {
    let mut out = Vec::new();
    let running = cages.start(job).unwrap();
    let finish = running.watch(|_, bytes| out.extend_from_slice(bytes));
    (
        String::from_utf8_lossy(&out).into_owned(),
        finish.unwrap().ended,
    )
}

// proves TL-6
#[test]
fn landlock_alone_is_refused_where_it_would_show_the_data_directory() {
    let machine = Machine::new(None);
    let hidden = machine.outside.join("data");
    fs::create_dir(&hidden).unwrap();
    let settings = CageSettings {
        read: vec![machine.outside.clone()],
        hidden: vec![hidden],
        ..machine.settings(Level::Landlock)
    };
    assert!(Cages::new(settings).is_err());
}

/// The test's own user, and one without rights where that one can become it.
fn users() -> impl Iterator<Item = Option<u32>> {
    let other = is_root().then_some(Some(NOBODY));
    [None].into_iter().chain(other)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The rows of the table: what, and how.
fn effects() -> impl Iterator<Item = (&'static str, &'static str)> {
    let rows = EFFECTS.lines().filter(|line| !line.starts_with('#'));
    rows.map(|row| {
        let mut cells = row.splitn(3, '\t');
        let what = &row[..cells.next().unwrap().len() + 1 + cells.next().unwrap().len()];
        (what, cells.next().unwrap())
    })
}

/// Runs every effect, each on a machine of its own; those that happened.
fn attack(user: Option<u32>, level: Option<Level>, waits: bool) -> Vec<&'static str> {
    let rows: Vec<_> = effects().collect();
    let happened = |(what, how): &(&'static str, &str)| {
        let machine = Machine::new(user);
        let neighbours = machine.neighbours();
        let command = neighbours.fill(how);
        let command = format!("( {command} ) >/dev/null 2>&1 && echo EFFECT");
        let text = match level {
            Some(level) => {
                let cages = machine.cages(level);
                if waits {
                    // The cage of the attack has waited for it.
                    run(&cages, machine.job("true"));
                    std::thread::sleep(std::time::Duration::from_millis(80));
                }
                run(&cages, machine.job(&command)).0
            }
            None => machine.without_cage(&command),
        };
        text.contains("EFFECT").then_some(*what)
    };
    let parts = rows.chunks(rows.len().div_ceil(4));
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().filter_map(happened).collect::<Vec<_>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    })
}

impl Machine {
    /// What a command writes that runs as a server without a cage would run it.
    fn without_cage(&self, command: &str) -> String {
        let inherited = File::open(self.outside.join("secret")).unwrap();
        let open = inherited.as_raw_fd();
        let mut process = Command::new("bash");
        let command = format!("exec 9</proc/self/fd/{open} 2>/dev/null; {command}");
        process
            .args(["-c", &command])
            .current_dir(&self.workspace)
            .env("SAMOVAR_CANARY", "canary")
            .env("API_KEY", "canary")
            .env("HOME", &self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
        let mut process = process.spawn().unwrap();
        let _gone = process.stdin.take().unwrap().write_all(b"x");
        let output = process.wait_with_output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Whether this machine has what a level needs; says what it lacks.
#[expect(clippy::print_stdout, reason = "a person reads why nothing was proven")]
fn is_provable(level: Level) -> bool {
    let lacking = Machine::new(None).cages(level).probe().err();
    lacking.is_none_or(|shortage| {
        println!("not provable here: {shortage}");
        false
    })
}

// proves TL-6
#[test]
fn no_effect_leaves_the_cage() {
    if !is_provable(Level::Namespaces) {
        return;
    }
    assert!(effects().count() >= 90);
    for user in users() {
        assert_eq!(
            attack(user, Some(Level::Namespaces), false),
            [""; 0],
            "{user:?}"
        );
        assert_eq!(
            attack(user, Some(Level::Namespaces), true),
            [""; 0],
            "{user:?}"
        );
    }
}

// proves TL-6
#[test]
fn each_effect_happens_without_the_cage() {
    let happened = attack(None, None, false);
    let all: Vec<_> = effects().map(|(what, _)| what).collect();
    let unprovable: Vec<_> = all.iter().filter(|what| !happened.contains(what)).collect();
    println!("not provable here: {unprovable:#?}");
    if is_root() {
        assert!(happened.len() >= 90, "not provable here: {unprovable:#?}");
    }
}

// proves TL-6
#[test]
fn landlock_alone_holds_less() {
    if !is_provable(Level::Landlock) {
        return;
    }
    for user in users() {
        let machine = Machine::new(user);
        let tool = machine.job(&format!("cat {}/.cargo/bin/tool", machine.home.display()));
        let (text, _) = run(&machine.cages(Level::Landlock), tool);
        assert_eq!(text, "canary", "what a toolchain has besides is read");
        let happened = attack(user, Some(Level::Landlock), false);
        let unexpected: Vec<_> = happened
            .iter()
            .filter(|what| !WEAKER.contains(what))
            .collect();
        assert!(unexpected.is_empty(), "{user:?}: {unexpected:#?}");
    }
}
