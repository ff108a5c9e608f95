//! The cage: a command runs in it and reaches the workspace, programs, and nothing else (TL-6).

mod git_config;
mod helper;
mod kept;
mod landlock;
mod lookout;
mod made;
mod mounts;
mod orphans;
mod plan;
mod repository;
mod seccomp;
mod shortage;
mod starter;
mod toolchains;
mod trusted;
mod view;
mod watch;

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

pub use helper::be_cage_if_asked;
pub use orphans::{CALL_ID, end_orphans};
pub use plan::{Ended, Home, Level, Limits, Step};
pub use repository::repository_folders;
pub use shortage::Shortage;
pub use toolchains::toolchain_variables;
pub use trusted::{Moved, PutAside, may_be_a_commands, put_aside_after_kill};

use lookout::Lookout;
use made::Made;
use orphans::{Mark, Marks};
use plan::{Plan, View};
use starter::{Started, Starter};
use toolchains::Secrets;
use trusted::Trusted;
use view::Homes;

/// How often it is looked at whether a dropped command has ended its processes itself, and how long
/// that takes at most: five seconds in all.
const POLLS: usize = 2_500;
const POLL: Duration = Duration::from_millis(2);

/// Bytes of a command's output that are read at once.
const READ_BYTES: usize = 64 * 1024;
/// Reads of a pipe before the other sources are polled again: more than a pipe holds.
const READS: usize = 17;

/// The `PATH` of a command that may use no other.
const SYSTEM_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What cages are made for.
#[derive(Clone, Debug)]
pub struct CageSettings {
    /// How commands are shut in.
    pub level: Level,
    /// The folder in which they work. It must exist.
    pub workspace: PathBuf,
    /// The folders of the owner's `PATH`.
    pub path: Vec<PathBuf>,
    /// The owner's home folder, where toolchains are found.
    pub home: Option<PathBuf>,
    /// What of the owner's environment says that a toolchain is elsewhere: [`toolchain_variables`].
    pub variables: Vec<(OsString, OsString)>,
    /// Further files and folders that commands may read.
    pub read: Vec<PathBuf>,
    /// Folders that no command sees: the data directory.
    pub hidden: Vec<PathBuf>,
    /// What of the workspace no command changes, relative to it or absolute.
    pub kept: Vec<PathBuf>,
    /// A file on which each cage holds a shared lock; it must exist.
    pub lock: Option<PathBuf>,
    /// A file that is there while commands run; what `kept` had when they began is in one beside it. For
    /// [`put_aside_after_kill`].
    pub note: Option<PathBuf>,
    /// The program that becomes the cage; `None` for this one, which calls [`be_cage_if_asked`].
    pub program: Option<PathBuf>,
}

/// A command.
#[derive(Clone, Debug)]
pub struct Job {
    /// The program, absolute.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its environment, and nothing besides but where toolchains are.
    pub env: Vec<(String, String)>,
    /// The folders of its `PATH`; `None` for those of [`CageSettings::path`].
    pub path: Option<Vec<PathBuf>>,
    /// The folder in which it runs, absolute.
    pub cwd: PathBuf,
    /// Its home folder; `None` for one among its temporary files, which is empty and gone with it.
    pub home: Option<Home>,
    /// Whether it has the server's network; otherwise it has none.
    pub network: bool,
    /// Whether it may change the workspace, where there are namespaces.
    pub writes: bool,
    /// What it may use.
    pub limits: Limits,
}

/// Starts commands, each in a cage of its own.
#[derive(Debug)]
pub struct Cages {
    settings: CageSettings,
    workspace_id: (u64, u64),
    /// What a command sees that only reads, and one that may change something.
    views: [View; 2],
    secrets: Secrets,
    /// The lists of system calls, without the network and with it.
    filters: [Vec<u8>; 2],
    /// Where toolchains are.
    variables: Vec<(String, String)>,
    trusted: Arc<Trusted>,
    starter: Starter,
    /// The calls of commands that no namespace holds.
    marks: Option<Arc<Marks>>,
}

/// A command that runs. Dropping it ends all of its processes, and may block for some milliseconds.
#[derive(Debug)]
pub struct Running {
    process: Started,
    /// The folder for its temporary files, where it has no file system of its own.
    temp: Option<TempDir>,
    /// Whether this server asked for its end.
    is_stopped: Arc<AtomicBool>,
    /// Dropped when all of its processes have ended. A command that cannot write has none.
    made: Option<Made>,
    /// Dropped then, too.
    mark: Option<Mark>,
}

/// How a command ended, and what was put aside then: it was under names that the server trusts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finish {
    /// How it ended.
    pub ended: Ended,
    /// What it had made.
    pub aside: PutAside,
}

impl Cages {
    /// Cages for a workspace, as it and this machine's programs are now.
    ///
    /// # Errors
    /// The workspace cannot be looked at, or has the system's own folders in it; commands could read
    /// what is hidden at [`Level::Landlock`]; no thread could be started.
    pub fn new(mut settings: CageSettings) -> io::Result<Self> {
        settings.workspace = fs::canonicalize(&settings.workspace)?;
        let found = fs::metadata(&settings.workspace)?;
        if view::is_system(&settings.workspace) {
            let why = "the workspace has the system's own folders in it";
            return Err(io::Error::other(why));
        }
        let (reading, _) = view_of(&settings, false)?;
        let (writing, homes) = view_of(&settings, true)?;
        let variables = homes.iter().map(|(toolchain, home)| {
            let place = home.to_string_lossy().into_owned();
            (toolchain.variable.to_owned(), place)
        });
        let filter = |network| {
            let filter = seccomp::filter(seccomp::Sockets::of(settings.level, network));
            filter
                .map(|filter| seccomp::pack(&filter))
                .map_err(io::Error::other)
        };
        let filters = [filter(false)?, filter(true)?];
        Ok(Self {
            starter: Starter::new(&settings)?,
            marks: match settings.level {
                Level::Namespaces => None,
                Level::Landlock | Level::Off => settings.lock.clone().map(Marks::new),
            },
            workspace_id: (found.dev(), found.ino()),
            trusted: {
                let (level, note) = (settings.level, settings.note.clone());
                Arc::new(Trusted::new(&settings.workspace, level, note)?)
            },
            settings,
            views: [reading, writing],
            filters,
            variables: variables.collect(),
            secrets: Secrets::of(homes),
        })
    }

    /// How commands are shut in.
    pub fn level(&self) -> Level {
        self.settings.level
    }

    /// Starts a command. Blocks for some milliseconds.
    ///
    /// # Errors
    /// What the system said. That a cage could not be built is told by [`Running::watch`].
    pub fn start(&self, job: Job) -> io::Result<Running> {
        let temp = match self.settings.level {
            Level::Namespaces => None,
            Level::Landlock | Level::Off => Some(TempDir::make()?),
        };
        let view = self.view_for(&job)?;
        let mut calls = job.env.iter().filter(|(name, _)| name == CALL_ID);
        let mark = match (&self.marks, calls.next()) {
            (Some(marks), Some((_, call))) => Some(marks.add(call)?),
            (None, _) | (_, None) => None,
        };
        let (made, passing) = match self.settings.level {
            Level::Namespaces if !job.writes => (None, Vec::new()),
            Level::Namespaces | Level::Landlock | Level::Off => {
                let (made, passing) = Made::begin(&self.trusted, &view, job.writes)?;
                (Some(made), passing)
            }
        };
        let mut running = Running {
            process: self.starter.start(job.network)?,
            temp,
            is_stopped: Arc::default(),
            made,
            mark,
        };
        let filter = &self.filters[usize::from(job.network)];
        let plan = Plan {
            passing,
            ..self.plan(job, view, running.temp.as_ref(), filter.len())
        };
        let mut line = serde_json::to_vec(&plan)?;
        line.push(b'\n');
        line.extend(filter);
        match running.process.control.write_all(&line) {
            // It has said why it does not wait for it.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            sent => sent?,
        }
        running.process.control.set_nonblocking(true)?;
        Ok(running)
    }

    /// What a command sees.
    fn view_for(&self, job: &Job) -> io::Result<View> {
        let mut view = match &job.path {
            Some(path) if *path != self.settings.path => {
                let path = path.clone();
                let settings = CageSettings {
                    path,
                    ..self.settings.clone()
                };
                view_of(&settings, job.writes)?.0
            }
            Some(_) | None => self.views[usize::from(job.writes)].clone(),
        };
        view::add_repository(&mut view, &self.settings);
        if self.settings.level != Level::Off {
            let mut secrets = self.secrets.now();
            secrets.retain(|it| view::shows(&view, &it.path) && !self.is_named(&it.path));
            view.masked.extend(secrets);
        }
        Ok(view)
    }

    /// Whether a file is one that the owner shows, or the workspace's.
    fn is_named(&self, path: &Path) -> bool {
        path.starts_with(&self.settings.workspace) || self.settings.read.iter().any(|it| it == path)
    }

    /// The folders of a `PATH` whose programs no command can have made: those that lie outside the
    /// workspace and do not lead through it; those of the system if there are none.
    pub fn foreign_path(&self, path: &str) -> String {
        let workspace = &self.settings.workspace;
        let folders = std::env::split_paths(path);
        let folders = folders.filter(|it| view::beyond_workspace(it, workspace).is_some());
        let joined = std::env::join_paths(folders).unwrap_or_default();
        let joined = joined.into_string().unwrap_or_default();
        // An empty one is the folder in which the command runs.
        if joined.is_empty() {
            return SYSTEM_PATH.to_owned();
        }
        joined
    }

    fn plan(&self, job: Job, view: View, temp: Option<&TempDir>, filter_bytes: usize) -> Plan {
        let mut env = self.variables.clone();
        let is_given = |name: &str| job.env.iter().any(|(given, _)| given == name);
        env.retain(|(name, _)| !is_given(name));
        if let Some(temp) = temp {
            env.push(("TMPDIR".to_owned(), temp.0.to_string_lossy().into_owned()));
        }
        if !is_given("HOME") {
            let level = self.settings.level;
            let home = match (&job.home, temp) {
                (Some(home), _) => home.place(level),
                (None, Some(temp)) => temp.home(),
                (None, None) => PathBuf::from(mounts::EMPTY_HOME),
            };
            env.push(("HOME".to_owned(), home.to_string_lossy().into_owned()));
        }
        env.extend(job.env);
        Plan {
            level: self.settings.level,
            network: job.network,
            writes: job.writes,
            workspace: self.settings.workspace.clone(),
            workspace_id: self.workspace_id,
            view,
            passing: Vec::new(),
            home: job.home,
            temp: temp.map(|temp| temp.0.clone()),
            program: job.program,
            args: job.args,
            env,
            cwd: job.cwd,
            limits: job.limits,
            filter_bytes,
        }
    }

    /// Tries a cage out with a program that does nothing.
    ///
    /// # Errors
    /// [`Shortage`]: what is missing on this machine, and how to get it.
    pub fn probe(&self) -> Result<(), Shortage> {
        let job = Job {
            program: "/bin/sh".into(),
            args: vec!["-c".to_owned(), ":".to_owned()],
            env: Vec::new(),
            path: None,
            cwd: self.settings.workspace.clone(),
            home: None,
            network: false,
            writes: false,
            limits: Limits::default(),
        };
        let ended = self.start(job).and_then(|running| running.watch(|_, _| {}));
        match ended {
            Ok(finish) if finish.ended == Ended::Exited(0) => Ok(()),
            Ok(Finish { ended, .. }) => Err(Shortage::of(&ended, self.settings.level)),
            Err(error) => Err(Shortage::unstarted(&error)),
        }
    }
}

/// What a command sees, and where toolchains are.
fn view_of(settings: &CageSettings, writes: bool) -> io::Result<(View, Homes)> {
    let (view, homes) = view::of(settings, writes);
    if settings.level == Level::Landlock
        && let Some(path) = view::shows_hidden(&view, settings)
    {
        let path = path.display();
        let why = format!("Landlock alone cannot hide {path}, which is below what commands read");
        return Err(io::Error::other(why));
    }
    Ok((view, homes))
}

impl Running {
    /// What ends the command from another thread.
    ///
    /// # Errors
    /// What the system said.
    pub fn stopper(&self) -> io::Result<Stopper> {
        Ok(Stopper {
            control: self.process.control.try_clone()?,
            is_stopped: self.is_stopped.clone(),
        })
    }

    /// Hands over what the command writes, as it comes, and says how it ended. Blocks until all of its
    /// processes have.
    ///
    /// # Errors
    /// What the system said.
    pub fn watch(mut self, mut written: impl FnMut(Channel, &[u8])) -> io::Result<Finish> {
        let mut open = vec![Channel::Stdout, Channel::Stderr];
        let mut buffer = vec![0; READ_BYTES];
        let (mut told, mut is_over) = (Vec::new(), false);
        let (mut lookout, mut obeyed) = (self.made.as_mut().and_then(Made::lookout), None);
        let tick = Timespec::try_from(lookout::TICK).map_err(io::Error::other)?;
        // Not until its pipes are shut: another command may hold them.
        while !is_over {
            if let Some(name) = lookout.as_mut().and_then(Lookout::look) {
                // Its init ends its processes.
                let _gone = self.process.control.shutdown(Shutdown::Write);
                (lookout, obeyed) = (None, Some(name));
            }
            let pipes = open.iter().map(|channel| self.pipe(*channel).as_fd());
            let mut polled: Vec<PollFd<'_>> = pipes
                .chain([self.process.control.as_fd()])
                .chain(lookout.as_ref().and_then(Lookout::notices))
                .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN))
                .collect();
            match poll(&mut polled, lookout.as_ref().map(|_| &tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            is_over = self.hear(&mut told);
            let drained = open.into_iter().map(|channel| {
                let is_open = drain(self.pipe(channel), &mut buffer, |it| written(channel, it));
                Ok(is_open?.then_some(channel))
            });
            let drained: io::Result<Vec<_>> = drained.collect();
            open = drained?.into_iter().flatten().collect();
        }
        self.process.child.wait()?;
        let (ended, stood) = report(&told);
        let is_stopped = self.is_stopped.load(Ordering::Relaxed);
        let unheard = if is_stopped {
            Ended::Stopped
        } else {
            Ended::Lost
        };
        let ended = match (ended.unwrap_or(unheard), obeyed) {
            (Ended::Stopped, Some(name)) if !is_stopped => Ended::Obeyed(name),
            (ended, _) => ended,
        };
        if let (Ended::Lost, Some(mark)) = (&ended, &mut self.mark) {
            mark.stay();
        }
        let made = self.made.take();
        let aside = made.map(|made| made.put_aside(&ended, &stood));
        let aside = aside.unwrap_or_default();
        Ok(Finish { ended, aside })
    }

    fn pipe(&self, channel: Channel) -> &OwnedFd {
        match channel {
            Channel::Stdout => &self.process.stdout,
            Channel::Stderr => &self.process.stderr,
        }
    }

    /// Takes in what the cage says; whether it is gone.
    fn hear(&mut self, told: &mut Vec<u8>) -> bool {
        let heard = self.process.control.read_to_end(told);
        !heard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Ends it and waits until it is gone.
    fn end(&mut self) {
        // Its init ends its processes.
        let Started { child, control, .. } = &mut self.process;
        let _gone = control.shutdown(Shutdown::Write);
        for _ in 0..POLLS {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(POLL);
        }
        // The kernel takes down what it can with it; the other end is shut when that has begun.
        if let Some(mark) = &mut self.mark {
            mark.stay();
        }
        let _gone = child.kill();
        let _gone = child.wait();
        let _bounded = control.set_nonblocking(false);
        let _bounded = control.set_read_timeout(Some(POLL * 1000));
    }
}

/// What a cage has said at its end, as far as it came to that.
fn report(told: &[u8]) -> (Option<Ended>, Vec<PathBuf>) {
    let mut lines = told.split(|byte| *byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let ended = serde_json::from_slice(line()).ok();
    (ended, serde_json::from_slice(line()).unwrap_or_default())
}

/// Hands over what is in a pipe; whether more may come.
fn drain(pipe: &OwnedFd, buffer: &mut [u8], mut written: impl FnMut(&[u8])) -> io::Result<bool> {
    for _ in 0..READS {
        match rustix::io::read(pipe, &mut *buffer) {
            Ok(0) => return Ok(false),
            Ok(bytes) => written(&buffer[..bytes]),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(true)
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
        let mut told = Vec::new();
        self.hear(&mut told);
        if let Some(made) = self.made.take() {
            made.put_aside(&Ended::Stopped, &report(&told).1);
        }
    }
}

/// What a command writes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Ends a command. Dropping it changes nothing.
#[derive(Debug)]
pub struct Stopper {
    control: UnixStream,
    is_stopped: Arc<AtomicBool>,
}

impl Stopper {
    /// Asks for the end of the command and of all of its processes.
    pub fn stop(&self) {
        // Its processes are gone when there is nothing to shut.
        self.is_stopped.store(true, Ordering::Relaxed);
        let _gone = self.control.shutdown(Shutdown::Write);
    }
}

/// A folder that is this user's alone and is removed with what it holds.
#[derive(Debug)]
struct TempDir(PathBuf);

impl TempDir {
    fn make() -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("samovar-{}-{count}", std::process::id());
        let path = std::env::temp_dir().join(name);
        DirBuilder::new().mode(0o700).create(&path)?;
        let made = Self(path);
        DirBuilder::new().mode(0o700).create(made.home())?;
        Ok(made)
    }

    /// A home folder in it.
    fn home(&self) -> PathBuf {
        self.0.join("home")
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        // What cannot be removed is the machine's to clean, as all in that folder.
        let _stays = fs::remove_dir_all(&self.0);
    }
}
