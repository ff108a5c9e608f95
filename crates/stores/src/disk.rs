//! What the stores of a data directory know of its disk: whether it is full, and whether it failed
//! (DU-12).
//!
//! A file of 16 MiB, the ballast, is made at the start and given up when the disk is full. From then
//! on whatever can wait is refused, so that the room it leaves is for what cannot: results of calls
//! that ran, cancels, the ends of turns. When there is room again, it is made again first.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rustix::fs::{FallocateFlags, fallocate, statvfs};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use samovar_core::Broken;
use samovar_locale as locale;
use tokio::sync::watch;

use crate::data_dir;
use crate::journal::from_io;

/// Bytes of the ballast.
const BALLAST_BYTES: u64 = 16 << 20;
const BALLAST: &str = "ballast";
/// What must be left beside the ballast before it is made again, so that it is not given up at once.
const SPARE_BYTES: u64 = 4 << 20;
/// What is written to find out whether there is room: as much as a transaction may have.
const PROBE_BYTES: usize = 1 << 20;
const PROBE: &str = "probe";
/// What a transaction makes a file longer by, at most.
const LARGEST_GROWTH: u64 = 16 << 20;

/// The disk of a data directory, as its stores share it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Disk(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    dir: PathBuf,
    ballast_bytes: u64,
    is_full: AtomicBool,
    /// Held by whoever makes the ballast or gives it up.
    ballast: Mutex<()>,
    failed: watch::Sender<Option<Broken>>,
    /// The files that must stay where they are while a store has them open.
    watched: Mutex<Vec<WatchedFile>>,
    /// Set once one of them did not.
    gone: OnceLock<Broken>,
}

/// A file as it was when it was opened.
#[derive(Debug)]
struct WatchedFile {
    path: PathBuf,
    identity: (u64, u64),
}

/// How much room a data directory has, looked at from outside: nothing is made or given up for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskSpace {
    /// Bytes that can be written.
    pub free_bytes: u64,
    /// Whether a server refuses what is new there.
    pub is_full: bool,
}

impl DiskSpace {
    /// The free space of a data directory; `None` if the system does not say.
    pub fn of(dir: &Path) -> Option<Self> {
        let free_bytes = free_bytes(dir)?;
        let has_ballast = is_ballast(dir, BALLAST_BYTES);
        let missing = if has_ballast { 0 } else { BALLAST_BYTES };
        Some(Self {
            free_bytes,
            is_full: free_bytes < missing + SPARE_BYTES,
        })
    }
}

impl Disk {
    /// The disk of a data directory, with its ballast; full from the start when there is no room
    /// for that and 4 MiB more.
    pub fn open(dir: &Path) -> Self {
        Self::with_ballast(dir, BALLAST_BYTES)
    }

    /// The same with another ballast, in bytes. With none the disk never counts as full: each write
    /// finds out for itself.
    pub fn with_ballast(dir: &Path, ballast_bytes: u64) -> Self {
        let (failed, _) = watch::channel(None);
        let disk = Self(Arc::new(Inner {
            dir: dir.to_owned(),
            ballast_bytes,
            is_full: AtomicBool::new(false),
            ballast: Mutex::default(),
            failed,
            watched: Mutex::default(),
            gone: OnceLock::new(),
        }));
        disk.0.take_ballast();
        // A start writes here and there; it needs more than the ballast leaves.
        if disk.free_bytes().is_some_and(|free| free < SPARE_BYTES) {
            disk.give_up_ballast();
        }
        disk
    }

    /// The data directory.
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }

    /// Whether the ballast is given up: what can wait is refused.
    pub fn is_full(&self) -> bool {
        self.0.is_full.load(Ordering::Relaxed)
    }

    /// Bytes that can be written, as far as the system knows.
    pub fn free_bytes(&self) -> Option<u64> {
        free_bytes(&self.0.dir)
    }

    /// Waits until a store failed in a way after which nothing is known of its file. It takes nothing
    /// more; only a new start can tell what is there.
    pub async fn failed(&self) -> Broken {
        let mut failed = self.0.failed.subscribe();
        let failed = failed.wait_for(Option::is_some).await;
        let failed = failed.ok().and_then(|failed| failed.clone());
        // The sender lives in this very handle, so somebody has said why.
        failed.unwrap_or_else(|| Broken::Io(String::new()))
    }

    /// How a store failed for good, if one did.
    pub fn failure(&self) -> Option<Broken> {
        self.0.failed.borrow().clone()
    }

    /// Gives the ballast up, so that a start, or whatever cannot wait, has room.
    ///
    /// Whether that was still to be done.
    pub fn give_up_ballast(&self) -> bool {
        let _alone = self.0.alone();
        if self.0.ballast_bytes == 0 || self.0.is_full.swap(true, Ordering::Relaxed) {
            return false;
        }
        let dir = self.0.dir.display();
        tracing::error!(%dir, "the disk is full: nothing new is accepted until there is room");
        self.0.remove(BALLAST);
        true
    }

    /// Removes the ballast of a data directory that is not open, so that it can be opened.
    pub fn drop_ballast(dir: &Path) {
        remove(dir, BALLAST);
    }

    /// Refuses what can wait while the disk is full.
    pub(crate) fn check(&self) -> Result<(), Broken> {
        if self.is_full() {
            let why = format!("no room on the disk of {}", self.0.dir.display());
            return Err(Broken::Full(why));
        }
        Ok(())
    }

    /// Whether there is room for a transaction, tried and not asked.
    pub(crate) fn has_room(&self) -> bool {
        let inner = &self.0;
        // Created again, so that nothing is written through a link that has its name.
        inner.remove(PROBE);
        let written = inner
            .create(PROBE)
            .and_then(|mut probe| probe.write_all(&vec![0; PROBE_BYTES]));
        inner.remove(PROBE);
        let written = written.map_err(|error| from_io("the probe for room", &error));
        !matches!(written, Err(Broken::Full(_)))
    }

    /// Gives the ballast up when it was the disk that had no room. Whether that was still to be
    /// done, so that who failed can try again.
    pub(crate) fn note_full(&self) -> bool {
        !self.is_full() && !self.has_room() && self.give_up_ballast()
    }

    /// Makes the ballast again when the disk is full no longer.
    pub(crate) fn look_again(&self) {
        if !self.is_full() {
            return;
        }
        let _alone = self.0.alone();
        let wanted = self.0.ballast_bytes + SPARE_BYTES;
        if self.free_bytes().is_none_or(|free| free >= wanted) {
            self.0.take_ballast();
        }
    }

    /// Remembers which file is open at a path; none there, nothing to remember.
    pub(crate) fn watch(&self, path: &Path) {
        if let Some(identity) = identity(path).ok().flatten() {
            let path = path.to_owned();
            self.watched().push(WatchedFile { path, identity });
        }
    }

    /// Compares the open files with those at their paths. What is written to a file that was removed
    /// or replaced is lost with it, so the stores fail then, for good.
    ///
    /// # Errors
    /// [`Broken::Io`], which names the path.
    pub(crate) fn look_at_files(&self) -> Result<(), Broken> {
        self.check_files()?;
        let moved = self.watched().iter().find_map(|file| {
            let now = identity(&file.path);
            // Where the system does not say, nothing is known.
            let has_moved = now.is_ok_and(|now| now != Some(file.identity));
            has_moved.then(|| file.path.clone())
        });
        let Some(path) = moved else { return Ok(()) };
        let broken = Broken::Io(locale::store::moved(locale::quoted(&path)));
        tracing::error!(path = %path.display(), "a file of the stores was removed or replaced");
        let broken = self.0.gone.get_or_init(|| broken).clone();
        self.fail(&broken);
        Err(broken)
    }

    /// Refuses once a file was found removed or replaced.
    pub(crate) fn check_files(&self) -> Result<(), Broken> {
        self.0.gone.get().map_or(Ok(()), |gone| Err(gone.clone()))
    }

    fn watched(&self) -> MutexGuard<'_, Vec<WatchedFile>> {
        let watched = self.0.watched.lock();
        watched.unwrap_or_else(PoisonError::into_inner)
    }

    /// A store failed for good.
    pub(crate) fn fail(&self, broken: &Broken) {
        self.0.failed.send_if_modified(|failed| {
            let is_first = failed.is_none();
            if is_first {
                *failed = Some(broken.clone());
            }
            is_first
        });
    }
}

impl Inner {
    fn alone(&self) -> impl Drop + '_ {
        self.ballast.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_ballast(&self) {
        let made = self
            .make_ballast()
            .map_err(|error| from_io("the ballast", &error));
        let is_full = matches!(made, Err(Broken::Full(_)));
        let dir = self.dir.display();
        match made {
            Ok(()) => {}
            Err(Broken::Full(why)) => {
                tracing::error!(%dir, why, "the disk is full: nothing new is accepted");
            }
            Err(
                broken @ (Broken::ReadOnly(_)
                | Broken::Starved(_)
                | Broken::Io(_)
                | Broken::Damaged(_)),
            ) => {
                tracing::warn!(%dir, %broken, "there is no ballast for when the disk is full");
            }
        }
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    /// Makes the ballast, unless it is there.
    fn make_ballast(&self) -> io::Result<()> {
        if self.ballast_bytes == 0 || is_ballast(&self.dir, self.ballast_bytes) {
            return Ok(());
        }
        self.remove(BALLAST);
        let made = self
            .create(BALLAST)
            .and_then(|file| fill(&file, self.ballast_bytes));
        if made.is_err() {
            self.remove(BALLAST);
        }
        made
    }

    fn create(&self, name: &str) -> io::Result<File> {
        data_dir::create(&self.dir.join(name))
    }

    fn remove(&self, name: &str) {
        remove(&self.dir, name);
    }
}

/// The device and the number of a file, by which it is known under any name.
fn identity(path: &Path) -> io::Result<Option<(u64, u64)>> {
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok(Some((meta.dev(), meta.ino()))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Whether the process may make a file as much longer as a large transaction does.
pub(crate) fn may_grow(path: &Path) -> bool {
    let length = fs::metadata(path).map_or(0, |file| file.len());
    let limit = getrlimit(Resource::Fsize).current;
    limit.is_none_or(|limit| length.saturating_add(LARGEST_GROWTH) <= limit)
}

fn free_bytes(dir: &Path) -> Option<u64> {
    let disk = statvfs(dir).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Whether the ballast is there and has its blocks.
fn is_ballast(dir: &Path, bytes: u64) -> bool {
    const BLOCK_BYTES: u64 = 512;
    let is_whole = |file: fs::Metadata| {
        let (is_file, len) = (file.is_file(), file.len());
        is_file && len == bytes && file.blocks() * BLOCK_BYTES >= len
    };
    fs::symlink_metadata(dir.join(BALLAST)).is_ok_and(is_whole)
}

fn remove(dir: &Path, name: &str) {
    match fs::remove_file(dir.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            tracing::warn!(%error, name, "a file of the data directory could not be removed");
        }
        Ok(()) | Err(_) => {}
    }
}

/// Gives a new file so many bytes that take their room on the disk.
pub(crate) fn fill(mut file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        Ok(()) => return Ok(()),
        // Not every file system can.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {}
        Err(error) => return Err(error.into()),
    }
    let piece = [0; 8 << 10];
    let mut left = bytes;
    while left > 0 {
        let part = piece.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.write_all(&piece[..part])?;
        left -= part as u64;
    }
    Ok(())
}
/// Work that waits for the disk, on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Broken> + Send + 'static,
) -> Result<T, Broken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Broken::Io(error.to_string())))
}
