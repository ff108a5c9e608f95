//! A backup of a data directory in use, as a folder: the history, the journal, the audit, the blobs,
//! and a list of them with their checksums.
//!
//! Nothing is removed from the journal meanwhile, and the history is copied first: what its copy
//! lacks is in the journal's copy, the audit's copy has the head that it stores, and the blobs that
//! their messages name are there when they are copied last. Tokens, logs
//! and the address of a running server are left out: a backup shows the conversations and gives no
//! access to a server.

mod files;
mod memory;
mod restore;

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use samovar_core::{Backup, Broken, Code, Error, Journal};
use samovar_locale as locale;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::audit::AuditLog;
use crate::blobs::FileBlobs;
use crate::data_dir::{AUDIT, DataDir, make_new, sync_dir};
use crate::disk::blocking;
use crate::history::SqliteHistory;
use crate::journal::LmdbJournal;

use files::{BackupFile, BlobSum, Manifest};
pub(crate) use restore::is_waiting;
use restore::stage;
pub use restore::{Replace, RestoreReport, finish, restore};

/// What stands between a backup's name and the run that makes it, until it is whole.
const PART: &str = ".part-";

/// The files of a backup.
const HISTORY: &str = "history.db";
const JOURNAL: &str = "journal";
const JOURNAL_FILE: &str = "journal/data.mdb";

/// Names the folder of the backup that is being made.
const UNDER_WAY: &str = "backup-under-way";

/// Where the last backup is told of.
const LAST: &str = "last-backup.json";
const MAX_BYTES: u64 = 16 * 1024;

/// Makes backups of the stores that are open.
pub struct Backups {
    dir: DataDir,
    journal: Arc<LmdbJournal>,
    history: Arc<SqliteHistory>,
    audit: Arc<AuditLog>,
    blobs: Arc<FileBlobs>,
    /// Taken while one is made, and for good once one is to be put back.
    one: Arc<Semaphore>,
    /// Work that continues after its caller has gone.
    tasks: TaskTracker,
}

/// Removes the backup that a stop of the last run cut off, if any.
pub(crate) fn remove_cut(dir: &DataDir) {
    let Ok(Some(part)) = dir.files.read(UNDER_WAY, MAX_BYTES) else {
        return;
    };
    let part = PathBuf::from(part);
    // Only what a run of this server names so.
    let name = part.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let is_part = name
        .rsplit_once(PART)
        .is_some_and(|(_, epoch)| epoch.parse::<u64>().is_ok());
    if is_part
        && let Err(error) = std::fs::remove_dir_all(&part)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, path = %part.display(), "half a backup stays");
        return;
    }
    if let Err(error) = dir.files.remove(UNDER_WAY) {
        tracing::warn!(%error, "the next start looks again for a backup that was cut off");
    }
}

/// The last backup of a data directory that need not be held.
pub fn last(dir: &DataDir) -> Option<Backup> {
    let text = dir.files.read(LAST, MAX_BYTES).ok()??;
    serde_json::from_str(&text).ok()
}

impl Backups {
    pub(crate) fn new(
        dir: DataDir,
        (journal, history, audit): (Arc<LmdbJournal>, Arc<SqliteHistory>, Arc<AuditLog>),
        blobs: Arc<FileBlobs>,
    ) -> Self {
        Self {
            dir,
            journal,
            history,
            audit,
            blobs,
            one: Arc::new(Semaphore::new(1)),
            tasks: TaskTracker::new(),
        }
    }

    /// The last one that was made here.
    pub fn last(&self) -> Option<Backup> {
        last(&self.dir)
    }

    /// Makes a backup in a folder that is not there yet; it appears when it is whole. Who asked may
    /// go away meanwhile.
    ///
    /// # Errors
    /// [`Code::BackupUnusable`] when it cannot be made there, [`Code::Busy`] when another is being
    /// made or put back.
    pub async fn make(self: &Arc<Self>, target: PathBuf) -> Result<Backup, Error> {
        let (own, alone) = (self.clone(), self.alone()?);
        let making = self.tasks.spawn(async move {
            let made = own.make_alone(&target).await;
            drop(alone);
            made
        });
        making.await.unwrap_or_else(|error| Err(broke(&error)))
    }

    /// Copies a backup to where the next start takes it from, and asks for that start. It continues
    /// if the caller goes away: a restore must not be left for a start at some later time.
    ///
    /// # Errors
    /// As [`Backups::make`]; nothing changes then.
    pub async fn put_back(
        &self,
        folder: PathBuf,
        restart: CancellationToken,
    ) -> Result<Backup, Error> {
        let (dir, alone) = (self.dir.clone(), self.alone()?);
        let staging = self.tasks.spawn_blocking(move || {
            let staged = stage(&folder, &dir)?;
            alone.forget();
            restart.cancel();
            Ok(staged)
        });
        staging.await.unwrap_or_else(|error| Err(broke(&error)))
    }

    /// Accepts no further backup, and waits for the one in progress, so that nothing is written to
    /// the data directory after its lock is released.
    pub async fn end(&self, within: Duration) {
        self.one.close();
        self.tasks.close();
        if timeout(within, self.tasks.wait()).await.is_err() {
            tracing::warn!("the server stops while a backup is made or put back");
        }
    }

    fn alone(&self) -> Result<OwnedSemaphorePermit, Error> {
        let busy = |_| Error::new(Code::Busy, locale::backup::busy());
        self.one.clone().try_acquire_owned().map_err(busy)
    }

    async fn make_alone(&self, target: &Path) -> Result<Backup, Error> {
        let part = part_of(target, &self.dir.path, self.journal.epoch().0)?;
        let unusable = |why: &dyn std::fmt::Display| {
            let target = locale::quoted(target);
            Error::new(Code::BackupUnusable, locale::backup::not_made(target, why))
        };
        let files = &self.dir.files;
        let named = files.write(UNDER_WAY, part.as_os_str().as_bytes());
        named.map_err(|error| unusable(&error))?;
        make_new(&part).map_err(|error| unusable(&error))?;
        let made = self.fill(&part).await;
        let kept = match made {
            Ok(manifest) => place(&part, target).map(|()| manifest).map_err(from_io),
            Err(broken) => Err(broken),
        };
        if let Err(error) = files.remove(UNDER_WAY) {
            tracing::warn!(%error, "the next start looks for a backup that was cut off");
        }
        let manifest = kept.map_err(|broken| {
            if let Err(error) = std::fs::remove_dir_all(&part) {
                tracing::warn!(%error, "half a backup stays behind");
            }
            unusable(&broken)
        })?;
        let info = manifest.info(target);
        if let Err(error) = self.note(&info) {
            tracing::warn!(%error, "it is not noted that a backup was made");
        }
        Ok(info)
    }

    async fn fill(&self, part: &Path) -> Result<Manifest, Broken> {
        let pause = (
            self.journal.pause_removal(),
            self.blobs.pause_removal().await,
        );
        self.history.copy_to(&part.join(HISTORY)).await?;
        let (journal, folder) = (self.journal.clone(), part.join(JOURNAL));
        blocking(move || journal.copy_to(&folder)).await?;
        self.blobs.copy_to(part).await?;
        drop(pause);
        self.audit.copy_to(part.join(AUDIT)).await?;
        let (part, epoch) = (part.to_owned(), self.journal.epoch().0);
        let dir = self.dir.path.clone();
        let now = self.dir.clock.now();
        blocking(move || {
            let list = |name: &str| BackupFile::of(&part, name);
            let files = [HISTORY, JOURNAL_FILE, AUDIT].map(list).into_iter();
            let files = files.collect::<io::Result<_>>().map_err(from_io)?;
            let blobs = BlobSum::of(&part).map_err(from_io)?;
            let memory = memory::copy_to(&dir, &part).map_err(from_io)?;
            let manifest = Manifest::new(now, epoch, files).with(blobs, memory);
            manifest.write(&part).map_err(from_io)?;
            Ok(manifest)
        })
        .await
    }

    fn note(&self, backup: &Backup) -> io::Result<()> {
        let text = serde_json::to_vec(backup)?;
        self.dir.files.write_synced(LAST, &text)
    }
}

/// The folder that a backup is made in, beside where it is to be. Each run of the server has a name
/// of its own for it, so that what a kill has left is in nobody's way.
fn part_of(target: &Path, data_dir: &Path, epoch: u64) -> Result<PathBuf, Error> {
    let refuse = |why: String| Error::new(Code::BackupUnusable, why);
    let shown = || locale::quoted(target);
    let (Some(parent), Some(name)) = (target.parent(), target.file_name()) else {
        return Err(refuse(locale::backup::no_folder(shown())));
    };
    if !target.is_absolute() || !parent.is_dir() {
        return Err(refuse(locale::backup::no_folder(shown())));
    }
    if target.symlink_metadata().is_ok() {
        return Err(refuse(locale::backup::exists(shown())));
    }
    let inside = |parent: PathBuf, data_dir: PathBuf| parent.starts_with(data_dir);
    match (parent.canonicalize(), data_dir.canonicalize()) {
        (Ok(parent), Ok(data_dir)) if inside(parent.clone(), data_dir.clone()) => {
            Err(refuse(locale::backup::inside(shown())))
        }
        _ => {
            let mut part = name.to_owned();
            part.push(format!("{PART}{epoch}"));
            Ok(parent.join(part))
        }
    }
}

/// Gives a whole backup its name.
fn place(part: &Path, target: &Path) -> io::Result<()> {
    sync_dir(part)?;
    std::fs::rename(part, target)?;
    target.parent().map_or(Ok(()), sync_dir)
}

fn broke(error: &JoinError) -> Error {
    tracing::error!(%error, "the care of a backup broke off");
    Error::new(Code::Internal, locale::store::broke())
}

#[expect(clippy::needless_pass_by_value, reason = "it stands in `map_err`")]
fn from_io(error: io::Error) -> Broken {
    Broken::Io(error.to_string())
}
