//! The thread that starts cages, and keeps one in reserve: starting a program takes longer than
//! anything that a cage does.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::plan::{Level, Order};
use super::{CageSettings, helper};

/// Where a cage's program is: this one, which calls [`super::be_cage_if_asked`].
const SELF: &str = "/proc/self/exe";
/// Keep the cage's processes free of threads of the allocator, with which they could not fork. Where it
/// is also C code's allocator it reads the first, elsewhere the second.
const ALLOCATOR: [(&str, &str); 2] = [
    ("MALLOC_CONF", "background_thread:false"),
    ("_RJEM_MALLOC_CONF", "background_thread:false"),
];
/// Delay before the thread prepares the next process, so that it does not slow the command that has just
/// started.
const SOON: Duration = Duration::from_millis(20);
/// How long the thread keeps a process that no command uses.
const KEPT: Duration = Duration::from_mins(1);

/// A process that has done what needs no plan, and waits for that. It ends when `control` does.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) control: UnixStream,
}

/// Starts the processes of cages.
#[derive(Debug)]
pub(super) struct Starter(SyncSender<Request>);

/// Whether the command has the network, and where the process goes.
type Request = (bool, SyncSender<io::Result<Started>>);

/// What all processes have in common.
struct Pattern {
    program: PathBuf,
    level: Level,
    lock: Option<PathBuf>,
}

impl Starter {
    /// The thread lives as long as this: the kernel ends what it started when it ends.
    pub(super) fn new(settings: &CageSettings) -> io::Result<Self> {
        let pattern = Pattern {
            program: settings.program.clone().unwrap_or_else(|| SELF.into()),
            level: settings.level,
            lock: settings.lock.clone(),
        };
        let (sender, receiver) = mpsc::sync_channel(0);
        std::thread::Builder::new()
            .name("cages".to_owned())
            .spawn(move || serve(&pattern, &receiver))?;
        Ok(Self(sender))
    }

    /// A process that waits for a plan.
    ///
    /// # Errors
    /// What the system said.
    pub(super) fn start(&self, network: bool) -> io::Result<Started> {
        let ended = || io::Error::other("the thread that starts commands has ended");
        let (reply, started) = mpsc::sync_channel(1);
        self.0.send((network, reply)).map_err(|_| ended())?;
        started.recv().map_err(|_| ended())?
    }
}

fn serve(pattern: &Pattern, starts: &Receiver<Request>) {
    let mut spare: Option<Started> = None;
    // The kernel's table of mounts, which tells when it has changed since the spare one was begun.
    let mut mounts = None;
    // The thread prepares a process after a start, and not again after one went unused.
    let mut is_wanted = false;
    loop {
        let patience = if spare.is_none() && is_wanted {
            SOON
        } else {
            KEPT
        };
        match starts.recv_timeout(patience) {
            Ok((network, reply)) => {
                // The spare one has left the network already, and knows of no mount since.
                let is_fitting = !network && !has_changed(mounts.as_ref());
                let started = spare.take_if(|_| is_fitting).and_then(Started::if_alive);
                if !network && let Some(unfit) = spare.take() {
                    unfit.end();
                }
                let started = started.map_or_else(|| Started::new(pattern, network), Ok);
                is_wanted = true;
                // If the caller is gone, the process ends: it never receives a plan.
                let _not_wanted = reply.send(started);
            }
            Err(RecvTimeoutError::Timeout) if is_wanted && spare.is_none() => {
                // One that cannot be prepared is tried again when it is needed.
                mounts = File::open("/proc/self/mountinfo").ok();
                spare = Started::new(pattern, false).ok();
                is_wanted = spare.is_some();
            }
            Err(RecvTimeoutError::Timeout) => {
                is_wanted = false;
                if let Some(unused) = spare.take() {
                    unused.end();
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                if let Some(unused) = spare {
                    unused.end();
                }
                return;
            }
        }
    }
}

/// Whether the table has changed since it was opened.
fn has_changed(mounts: Option<&File>) -> bool {
    let polled = mounts.map(|table| PollFd::new(table, PollFlags::PRI));
    polled.is_some_and(|table| poll(&mut [table], Some(&Timespec::default())) != Ok(0))
}

impl Started {
    fn new(pattern: &Pattern, network: bool) -> io::Result<Self> {
        let (mut control, theirs) = UnixStream::pair()?;
        let mut child = Command::new(&pattern.program)
            .arg0(helper::NAME)
            .env_clear()
            .envs(ALLOCATOR)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let gone = || io::Error::other("a pipe of the command is gone");
        let stdout = child.stdout.take().ok_or_else(gone)?.into();
        let stderr = child.stderr.take().ok_or_else(gone)?.into();
        for pipe in [&stdout, &stderr] {
            let flags = rustix::fs::fcntl_getfl(pipe)?;
            rustix::fs::fcntl_setfl(pipe, flags | OFlags::NONBLOCK)?;
        }
        let order = Order {
            parent: std::process::id().cast_signed(),
            level: pattern.level,
            lock: pattern.lock.clone(),
            network,
        };
        let mut line = serde_json::to_vec(&order)?;
        line.push(b'\n');
        // One that ends at once says why itself.
        let _told = control.write_all(&line);
        Ok(Self {
            child,
            stdout,
            stderr,
            control,
        })
    }

    /// The same, unless something has ended it meanwhile.
    fn if_alive(mut self) -> Option<Self> {
        matches!(self.child.try_wait(), Ok(None)).then_some(self)
    }

    fn end(self) {
        let Self {
            mut child, control, ..
        } = self;
        drop(control);
        // It has nothing to save.
        let _gone = child.kill();
        let _gone = child.wait();
    }
}
