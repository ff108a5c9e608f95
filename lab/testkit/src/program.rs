//! The built binary, as a process of its own.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinSet;

use crate::api::Api;

pub use rustix::process::Signal;

/// How long a program may take before the test gives up on it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A command line with its own folders and nothing of the test's environment.
pub struct Program {
    binary: PathBuf,
    root: TempDir,
    variables: Vec<(String, String)>,
    /// What a shell does before it becomes the program.
    prelude: Option<String>,
}

/// What a program left behind.
#[derive(Debug)]
pub struct Finished {
    /// Its exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// What it wrote on stdout.
    pub stdout: String,
    /// What it wrote on stderr.
    pub stderr: String,
}

/// A `serve` that runs. It is killed when it is dropped.
pub struct Serving {
    child: Child,
    api: Api,
    /// Where it listens, as it said.
    pub address: String,
    /// What it said until it listened.
    pub banner: String,
    stdout: Output,
    stderr: Output,
    readers: JoinSet<()>,
}

/// What a program has written so far.
type Output = Arc<Mutex<String>>;

impl Program {
    /// The binary at a path (`env!("CARGO_BIN_EXE_samovar")`), in fresh folders. It does not look
    /// for model servers on the machine, whose ports are not the test's.
    ///
    /// # Panics
    /// When the system gives no temporary folder.
    pub fn new(binary: &str) -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["work", "home"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        Self {
            binary: binary.into(),
            root,
            variables: [
                ("SAMOVAR__MODELS__PROBE", "false"),
                ("SAMOVAR__TOOLS__TRUST_WORKSPACE", "true"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
            prelude: None,
        }
    }

    /// Lets it ask the model server at this address, which is set by hand, so that no other is
    /// asked; `variable` is the one that sets it.
    #[must_use]
    pub fn looking_at(mut self, variable: &str, address: &str) -> Self {
        self.variables
            .retain(|(name, _)| name != "SAMOVAR__MODELS__PROBE");
        self.set(variable, address)
    }

    /// Sets a variable for every later run.
    #[must_use]
    pub fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it with this soft and this hard limit of file descriptors.
    #[must_use]
    pub fn limited(mut self, soft: u32, hard: u32) -> Self {
        self.prelude = Some(format!("ulimit -Sn {soft}; ulimit -Hn {hard}"));
        self
    }

    /// Starts it so that it ignores the end of its terminal, as `nohup` does.
    #[must_use]
    pub fn ignoring_hang_up(mut self) -> Self {
        self.prelude = Some("trap '' HUP".to_owned());
        self
    }

    /// Starts it with this program and its options.
    #[must_use]
    pub fn started_by(mut self, starter: &str) -> Self {
        self.prelude = Some(format!(r#"set -- "$0" "$@"; exec {starter} "$@""#));
        self
    }

    /// The folder that it is started in.
    pub fn folder(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Its `HOME`.
    pub fn home(&self) -> PathBuf {
        self.root.path().join("home")
    }

    /// The store of the folder that it is started in, once there is one.
    ///
    /// # Panics
    /// When there is none.
    pub fn store(&self) -> PathBuf {
        let stores = self.home().join(".local/share/samovar/stores");
        let mut stores = std::fs::read_dir(stores).expect("stores").flatten();
        let is_work = |name: &OsStr| name.to_string_lossy().starts_with("work-");
        let store = stores.find(|store| is_work(&store.file_name()));
        store.expect("the store of the folder").path()
    }

    /// Writes a file into the folder that it is started in.
    ///
    /// # Panics
    /// When that fails.
    pub fn file(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) -> &Self {
        let path = self.folder().join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        std::fs::write(path, content).expect("a file");
        self
    }

    /// A command with these arguments, not started yet.
    pub fn command<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Command {
        let mut command = match &self.prelude {
            Some(prelude) => {
                let script = format!(r#"{prelude}; exec "$0" "$@""#);
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", &script]).arg(&self.binary);
                shell
            }
            None => Command::new(&self.binary),
        };
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", "/usr/bin:/bin")
            .current_dir(self.folder())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        for (name, value) in &self.variables {
            command.env(name, value);
        }
        command
    }

    /// Runs it to its end.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub async fn run<A: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = A>) -> Finished {
        self.run_with_stdin(args, None).await
    }

    /// Runs it to its end with something on stdin.
    ///
    /// # Panics
    /// When it does not start, or not end within a minute.
    pub async fn run_with_stdin<A: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = A>,
        input: Option<Vec<u8>>,
    ) -> Finished {
        Finished::with_stdin(self.command(args), input).await
    }

    /// Starts `serve` with these further arguments, and waits until it says where it listens.
    ///
    /// # Panics
    /// When it ends instead.
    pub async fn serve(&self, args: &[&str]) -> Serving {
        let serving = self.try_serve(args).await;
        serving.unwrap_or_else(|ended| panic!("the server did not start: {ended:?}"))
    }

    /// Starts `serve` with these further arguments, and waits until it says where it listens.
    ///
    /// # Errors
    /// What it left behind, when it ends instead.
    ///
    /// # Panics
    /// When it does not start at all.
    pub async fn try_serve(&self, args: &[&str]) -> Result<Serving, Finished> {
        let args = ["serve", "--port", "0"].iter().chain(args);
        let mut child = self.command(args).spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("stderr is piped");
        let mut lines = BufReader::new(stderr).lines();
        let banner = read_banner(&mut lines).await;
        if !banner.contains("\napproval:") {
            let mut ended = Finished::of(child).await;
            ended.stderr = banner;
            return Err(ended);
        }
        let stdout = child.stdout.take().expect("stdout is piped");
        let address = said(&banner, "samovar listens on http://").to_owned();
        let token = match said(&banner, "token: in ") {
            "" => self.variable("SAMOVAR_TOKEN").to_owned(),
            path => std::fs::read_to_string(path).expect("the token that was said"),
        };
        // What it says later is read on, or a full pipe would stop it.
        let mut readers = JoinSet::new();
        let (out, err) = (Output::default(), Output::default());
        readers.spawn(gather(BufReader::new(stdout).lines(), out.clone()));
        readers.spawn(gather(lines, err.clone()));
        Ok(Serving {
            child,
            api: Api::new(&address, token.trim()),
            address,
            banner,
            stdout: out,
            stderr: err,
            readers,
        })
    }

    fn variable(&self, name: &str) -> &str {
        let mut set = self.variables.iter().rev();
        set.find(|(set, _)| set == name)
            .map_or("", |(_, value)| value)
    }
}

impl Finished {
    /// Itself, when it ended with this exit code.
    ///
    /// # Panics
    /// When it ended otherwise.
    #[track_caller]
    #[expect(
        clippy::return_self_not_must_use,
        reason = "often the exit code is all that is asked"
    )]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:?}");
        self
    }

    /// Runs a command to its end with something on stdin.
    ///
    /// # Panics
    /// When it does not start, or not end within a minute.
    pub async fn with_stdin(mut command: Command, input: Option<Vec<u8>>) -> Self {
        if input.is_some() {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().expect("the program starts");
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // A program that has read enough closes its end.
            let _had_enough = stdin.write_all(&input).await.is_err();
        }
        Self::of(child).await
    }

    /// Waits for the end of a program.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn of(child: Child) -> Self {
        Self::within(PATIENCE, child).await
    }

    /// Waits for the end of a program that may take so long.
    ///
    /// # Panics
    /// When that takes longer.
    pub async fn within(patience: Duration, child: Child) -> Self {
        let output = tokio::time::timeout(patience, child.wait_with_output()).await;
        let output = output
            .expect("the program ends in time")
            .expect("the program ran");
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Serving {
    /// Kills it, as `kill -9` does, and waits until it is gone.
    ///
    /// # Panics
    /// When it cannot be killed.
    pub async fn kill(mut self) {
        self.child.kill().await.expect("the server can be killed");
    }

    /// Sends it a signal.
    ///
    /// # Panics
    /// When it has ended.
    pub fn send(&self, signal: Signal) {
        send(signal, &self.child);
    }

    /// Stops it, as `kill -STOP` does, and returns when none of its threads runs any more.
    ///
    /// # Panics
    /// When it has ended.
    pub fn pause(&self) {
        self.send(Signal::STOP);
        let tasks = format!("/proc/{}/task", self.pid().as_raw_nonzero());
        let runs = |task: io::Result<DirEntry>| {
            let stat = task.and_then(|task| fs::read_to_string(task.path().join("stat")));
            // The state follows the name, which is in brackets.
            stat.is_ok_and(|stat| {
                stat.rsplit_once(')')
                    .is_some_and(|(_, rest)| !rest.starts_with(" T"))
            })
        };
        while fs::read_dir(&tasks).expect("the program runs").any(runs) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Its process.
    ///
    /// # Panics
    /// When it has ended.
    pub fn pid(&self) -> Pid {
        pid(&self.child)
    }

    /// Waits until it has ended by itself: its exit code, and all that it wrote after its banner.
    ///
    /// # Panics
    /// When that takes longer than a minute.
    pub async fn end(mut self) -> Finished {
        let ended = tokio::time::timeout(PATIENCE, self.child.wait()).await;
        let status = ended.expect("the server ends in time").expect("it ran");
        while self.readers.join_next().await.is_some() {}
        let all = |output: &Output| {
            let output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.clone()
        };
        Finished {
            code: status.code(),
            stdout: all(&self.stdout),
            stderr: all(&self.stderr),
        }
    }
}

/// What can be asked of it.
impl Deref for Serving {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

/// Sends a signal to a program that was started.
///
/// # Panics
/// When it has ended.
pub fn send(signal: Signal, child: &Child) {
    kill_process(pid(child), signal).expect("the program can be signalled");
}

fn pid(child: &Child) -> Pid {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    pid.and_then(Pid::from_raw).expect("the program runs")
}

async fn read_banner(lines: &mut Lines<BufReader<ChildStderr>>) -> String {
    let mut banner = String::new();
    while let Ok(Some(line)) = lines.next_line().await {
        banner.push_str(&line);
        banner.push('\n');
        if line.starts_with("approval:") {
            break;
        }
    }
    banner
}

/// What stands behind this in a line.
fn said<'a>(banner: &'a str, before: &str) -> &'a str {
    let mut lines = banner.lines();
    lines
        .find_map(|line| line.strip_prefix(before))
        .unwrap_or_default()
}

async fn gather(mut lines: Lines<BufReader<impl AsyncRead + Unpin>>, output: Output) {
    while let Ok(Some(line)) = lines.next_line().await {
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.push_str(&line);
        output.push('\n');
    }
}
