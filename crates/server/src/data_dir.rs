//! A data directory: its lock, its small files for the stores, and what is known of one that no
//! server has open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::Error;
use samovar_sandbox::{DirLock, LockError, SmallFiles, Survival};
use samovar_stores::damage::Reports;
use samovar_stores::disk::Disk;
use samovar_stores::{DataDir, SqliteVectors};

use crate::clock::SystemClock;
use crate::config::Config;
use crate::error::OpenError;

pub use samovar_stores::audit::{Verdict, examine as examine_audit};
pub use samovar_stores::backup::{Replace, RestoreReport, last as last_backup};
pub use samovar_stores::damage::damages;
pub use samovar_stores::{
    HistoryReport, Lack, Mended, Missing, Run, RunState, Store, read_history,
};

/// What texts mean, in a file that is made when it is needed.
pub(crate) fn vectors(path: PathBuf) -> SqliteVectors {
    SqliteVectors::new(path)
}

/// A data directory that need not be held, to ask what is known of it.
pub fn unheld(path: &Path) -> DataDir {
    of(path, SmallFiles::of(path).map_err(|error| error.kind()))
}

/// Takes a data directory, until the lock is dropped.
///
/// # Errors
/// [`OpenError::DataDir`] when it cannot be written, or another process holds it.
pub fn take(path: &Path) -> Result<DirLock, OpenError> {
    Ok(DirLock::acquire(path)?)
}

/// Why the stores of a data directory that no process holds would not be opened, if one is missing.
/// Nothing is changed.
///
/// # Errors
/// [`OpenError`] when another process holds it, or that cannot be found out.
pub async fn missing(path: &Path) -> Result<Option<OpenError>, OpenError> {
    let _lock = DirLock::acquire(path)?;
    let missing = samovar_stores::missing(&unheld(path)).await?;
    Ok(missing.map(OpenError::from))
}

/// Prepares a data directory that [`missing`] complains of for a start with empty stores; what is
/// left is set aside, with a report.
///
/// # Errors
/// [`OpenError`] when another process holds it, or it cannot be written.
pub async fn mend(path: &Path) -> Result<Vec<Mended>, OpenError> {
    let _lock = DirLock::acquire(path)?;
    let dir = unheld(path);
    Ok(samovar_stores::mend(&dir, &Reports::open(&dir)).await?)
}

/// Puts a backup into a data directory. What is there is replaced, and kept beside it, when `replace`
/// says so.
///
/// # Errors
/// [`OpenError::DataDir`] when another process holds it; [`samovar_core::Code::BackupUnusable`] when
/// the backup is not whole, or something is there and must not be replaced.
pub fn restore(
    backup: &Path,
    path: &Path,
    replace: Replace,
) -> Result<Result<RestoreReport, Error>, OpenError> {
    let _lock = DirLock::acquire(path)?;
    let dir = unheld(path);
    Ok(samovar_stores::backup::restore(backup, &dir, replace))
}

/// Takes a data directory. A full disk is given some room for that.
pub(crate) fn hold(config: &Config) -> Result<(DirLock, SmallFiles), OpenError> {
    let path = &config.data_dir;
    let lock = match DirLock::acquire(path) {
        // The lock was taken: another owner is reported first. Only space is missing.
        Err(LockError::NotWritable { source, .. }) if is_full(&source) => {
            Disk::drop_ballast(path);
            DirLock::acquire(path)?
        }
        acquired => acquired?,
    };
    mark(&lock, config);
    let files = lock.small_files().map_err(|source| LockError::Io {
        path: path.clone(),
        source,
    })?;
    Ok((lock, files))
}

/// Whether a data directory could be taken now; nothing is given up for that.
pub(crate) fn try_hold(config: &Config) -> Result<(), OpenError> {
    match DirLock::acquire(&config.data_dir) {
        Err(LockError::NotWritable { source, .. }) if is_full(&source) => {}
        acquired => mark(&acquired?, config),
    }
    Ok(())
}

/// A data directory, for the stores.
pub(crate) fn of(path: &Path, files: Result<SmallFiles, io::ErrorKind>) -> DataDir {
    DataDir {
        path: path.to_owned(),
        files: Arc::new(Files(files)),
        clock: Arc::new(SystemClock),
    }
}

fn mark(lock: &DirLock, config: &Config) {
    if let Some(owner) = &config.owner
        && let Err(error) = lock.mark(owner)
    {
        // It can be used all the same, as long as it is named.
        tracing::warn!(%error, "it will not be remembered whose data directory this is");
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// The small files that the stores work with follow no link, and wait for no pipe.
struct Files(Result<SmallFiles, io::ErrorKind>);

impl Files {
    fn get(&self) -> io::Result<&SmallFiles> {
        self.0.as_ref().map_err(|kind| (*kind).into())
    }
}

impl samovar_stores::SmallFiles for Files {
    fn of(&self, folder: &Path) -> io::Result<Arc<dyn samovar_stores::SmallFiles>> {
        Ok(Arc::new(Self(Ok(SmallFiles::of(folder)?))))
    }

    fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
        self.get()?.read(name, max_bytes)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.get()?.write(name, bytes, Survival::Writer)
    }

    fn write_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.get()?.write(name, bytes, Survival::Crash)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.get()?.remove(name)
    }
}
