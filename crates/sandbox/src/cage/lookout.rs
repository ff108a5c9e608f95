//! The look at what git obeys, from outside the cage and while a command runs.
//!
//! The person's own git runs what these names say without waiting for the command's end, and no mount keeps
//! a name that is missing.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use super::trusted::Trusted;
use crate::sys;

/// How often it looks without a notice: a network disk gives none, nor does a mapped file.
pub(super) const TICK: Duration = Duration::from_millis(50);
/// Bytes of notices that are taken in at once.
const NOTICES: usize = 4096;

/// Sources of notices that no lookout uses at the moment: to close one takes milliseconds. They keep what
/// they watch, because the next command has the same folders.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Vec<OwnedFd>>);

/// Looks at what git obeys.
#[derive(Debug)]
pub(super) struct Lookout {
    trusted: Arc<Trusted>,
    /// Gives notices of changes; `None` where the system gives no more of them.
    inotify: Option<OwnedFd>,
    /// The repository's folders, relative to the workspace.
    folders: Vec<PathBuf>,
    last: Instant,
}

impl Lookout {
    /// Called before a command and before its names are looked at: whatever changes from here on is told.
    pub(super) fn new(trusted: Arc<Trusted>, folders: &[PathBuf]) -> Self {
        let new = || inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok();
        let inotify = trusted.spare.take().or_else(new);
        let folders = folders.iter().map(|it| trusted.inside(it).to_owned());
        let lookout = Self {
            folders: folders.collect(),
            trusted,
            inotify,
            last: now(),
        };
        // What happened since the command that used it before.
        lookout.is_told();
        lookout.listen();
        lookout
    }

    /// What is polled for input.
    pub(super) fn notices(&self) -> Option<BorrowedFd<'_>> {
        self.inotify.as_ref().map(AsFd::as_fd)
    }

    /// A name for which the command is to be ended. Looks only after a notice, and at each tick.
    pub(super) fn look(&mut self) -> Option<PathBuf> {
        let now = now();
        if !self.is_told() && now.duration_since(self.last) < TICK {
            return None;
        }
        self.last = now;
        // Before the look, so that nothing changes unseen after it.
        self.listen();
        self.trusted.obeyed()
    }

    /// Asks for notices of the folders that are there now.
    fn listen(&self) {
        let Some(inotify) = &self.inotify else {
            return;
        };
        let made = WatchFlags::CREATE
            | WatchFlags::MOVED_TO
            | WatchFlags::ONLYDIR
            | WatchFlags::DONT_FOLLOW;
        let changed = made | WatchFlags::MODIFY | WatchFlags::ATTRIB;
        let watch = |held: &OwnedFd, folder: &str, of_what| {
            let path = format!("/proc/self/fd/{}/{folder}", held.as_raw_fd());
            // The ticks do without.
            let _missing = inotify::add_watch(inotify, path, of_what);
        };
        let root = self.trusted.root();
        watch(root, ".", made);
        for folder in &self.folders {
            if let Ok(held) = sys::open_beneath(root, folder, sys::STAND) {
                watch(&held, ".", changed);
                watch(&held, "hooks", changed);
            }
        }
    }

    /// Takes in all notices; whether there were any.
    fn is_told(&self) -> bool {
        let Some(inotify) = &self.inotify else {
            return false;
        };
        let mut buffer = [MaybeUninit::uninit(); NOTICES];
        let mut is_told = false;
        while rustix::io::read(inotify, &mut buffer).is_ok_and(|(read, _)| !read.is_empty()) {
            is_told = true;
        }
        is_told
    }
}

impl Drop for Lookout {
    fn drop(&mut self) {
        if let Some(inotify) = self.inotify.take() {
            self.trusted.spare.keep(inotify);
        }
    }
}

impl Spare {
    fn take(&self) -> Option<OwnedFd> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn keep(&self, inotify: OwnedFd) {
        let mut spare = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spare.push(inotify);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "it is the time between two looks, of which no one is told"
)]
fn now() -> Instant {
    Instant::now()
}
