//! One owner for a data directory.

use std::fs::{DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{self, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use samovar_locale as locale;

use crate::temp::{self, TempFile};

pub(crate) const LOCK_NAME: &str = "lock";
/// How often a lock that is held is tried again.
const POLL: Duration = Duration::from_millis(10);
/// How long the lock of an owner that has ended is waited for.
const LEFT_OVER: Duration = Duration::from_secs(2);
/// More than the digits of any process id.
const PID_BYTES: u64 = 32;

/// The exclusive hold on a data directory, kept until it is dropped or the process ends.
///
/// It is an `flock` on the file `lock`, close-on-exec: no program that this process starts keeps it, and
/// no stale file keeps anybody out. A process that was killed while it started one leaves the lock to
/// that child for as long as the child has not begun its program, so the lock of an owner that has ended
/// is waited for.
#[derive(Debug)]
pub struct DirLock {
    dir: PathBuf,
    held: OwnedFd,
    _file: File,
}

/// Why a data directory cannot be owned.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Something else has the path.
    #[error("{}", locale::data_dir::no_directory(locale::quoted(.path)))]
    NotADirectory {
        /// The path that was given.
        path: PathBuf,
    },
    /// It could not be made, or a file written there could not be kept.
    #[error("{}", locale::data_dir::unwritable(locale::quoted(.path), .source))]
    NotWritable {
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process owns it.
    #[error("{}", held(.path, *.pid))]
    Held {
        /// The path that was given.
        path: PathBuf,
        /// The owner, when it has told.
        pid: Option<u32>,
    },
    /// The lock itself failed.
    #[error("{}", locale::data_dir::unlockable(locale::quoted(.path), .source))]
    Io {
        /// The path that was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DirLock {
    /// Takes `dir`, and makes it with mode 0700 when it is missing. Blocks for two seconds at most, and
    /// only when its owner is no process here: one that has ended, or one of another container.
    ///
    /// # Errors
    /// [`LockError`]: not a directory, not writable (tried, not asked), or held.
    pub fn acquire(dir: &Path) -> Result<DirLock, LockError> {
        let held = open_dir(dir)?;
        let mut file = open_lock_file(&held, dir)?;
        lock(&mut file, dir)?;
        try_to_write(&held)
            .and_then(|()| write_pid(&mut file))
            .map_err(|source| LockError::NotWritable {
                path: dir.to_owned(),
                source,
            })?;
        Ok(DirLock {
            dir: dir.to_owned(),
            held,
            _file: file,
        })
    }

    /// The directory that is held, as it was given.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn held(&self) -> &OwnedFd {
        &self.held
    }
}

fn lock(file: &mut File, dir: &Path) -> Result<(), LockError> {
    let mut polls = LEFT_OVER.as_millis() / POLL.as_millis();
    loop {
        let held_by = match fs::flock(&*file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::WOULDBLOCK) => read_pid(file),
            Err(source) => {
                return Err(LockError::Io {
                    path: dir.to_owned(),
                    source: source.into(),
                });
            }
        };
        if polls == 0 || !held_by.is_some_and(has_ended) {
            return Err(LockError::Held {
                path: dir.to_owned(),
                pid: held_by,
            });
        }
        polls -= 1;
        std::thread::sleep(POLL);
    }
}

/// Whether the process is gone, or a zombie.
fn has_ended(pid: u32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        // The state follows the name, which is in brackets and may contain brackets itself.
        Ok(stat) => stat
            .rsplit_once(')')
            .is_some_and(|(_, rest)| rest.trim_start().starts_with(['Z', 'X'])),
        Err(_) => pid
            .try_into()
            .ok()
            .and_then(Pid::from_raw)
            .is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH)),
    }
}

/// Makes a lock file where it is missing, and waits until no process holds it.
///
/// # Errors
/// [`io::ErrorKind::WouldBlock`] when one still holds it after `patience`; what the system said.
pub fn wait_until_free(path: &Path, patience: Duration) -> io::Result<()> {
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)?;
    let polls = patience.as_millis() / POLL.as_millis();
    for _ in 0..polls {
        match fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(POLL),
            locked => return Ok(locked?),
        }
    }
    Err(io::ErrorKind::WouldBlock.into())
}

fn open_dir(dir: &Path) -> Result<OwnedFd, LockError> {
    let not_writable = |source| LockError::NotWritable {
        path: dir.to_owned(),
        source,
    };
    if dir.exists() && !dir.is_dir() {
        return Err(LockError::NotADirectory {
            path: dir.to_owned(),
        });
    }
    if !dir.exists() {
        make_dir(dir).map_err(not_writable)?;
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fs::open(dir, flags, Mode::empty()).map_err(|errno| not_writable(errno.into()))
}

/// Makes it with all that is missing above it, so that a power cut does not take it away with what it
/// holds by then.
fn make_dir(dir: &Path) -> io::Result<()> {
    let dir = std::path::absolute(dir)?;
    let missing: Vec<_> = dir
        .ancestors()
        .take_while(|above| !above.exists())
        .collect();
    DirBuilder::new().recursive(true).mode(0o700).create(&dir)?;
    let mut above = missing.iter().filter_map(|made| made.parent());
    above.try_for_each(|above| match File::open(above) {
        Ok(above) => above.sync_all(),
        // A folder that may be written and not be read cannot be synced by us.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) => Err(error),
    })
}

fn open_lock_file(held: &OwnedFd, dir: &Path) -> Result<File, LockError> {
    // Should a pipe or a link have the name, the open neither waits nor follows.
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::CLOEXEC
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY;
    fs::openat(held, LOCK_NAME, flags, Mode::RUSR | Mode::WUSR)
        .map(File::from)
        .map_err(|errno| LockError::NotWritable {
            path: dir.join(LOCK_NAME),
            source: errno.into(),
        })
}

/// Modes do not say what root, a read-only mount or a full disk will do; a byte does.
fn try_to_write(dir: &OwnedFd) -> io::Result<()> {
    temp::sweep(dir.as_fd());
    let probe = TempFile::create(dir.as_fd(), Mode::RUSR | Mode::WUSR)?;
    probe.file().write_all(b"?")
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn read_pid(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(PID_BYTES).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn held(path: &Path, pid: Option<u32>) -> String {
    let path = locale::quoted(path);
    match pid {
        Some(pid) => locale::data_dir::held_by(path, pid),
        None => locale::data_dir::held(path),
    }
}
