//! A data directory, as the stores see it: its small files, and its folders.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::{Clock, failpoint};

/// The names of the history's files.
pub(crate) const HISTORY: [&str; 3] = ["history.db", "history.db-wal", "history.db-shm"];
/// The names of the journal's folders.
pub(crate) const JOURNAL: [&str; 2] = ["journal", "spool"];
/// The file of the audit.
pub(crate) const AUDIT: &str = "audit.jsonl";
/// The file that the holder of the directory has locked.
pub(crate) const LOCK: &str = "lock";
/// The folder for reports of damage and for the files that were set aside.
pub(crate) const DAMAGED: &str = "damaged";

/// A data directory. Its lock is the caller's: whatever writes here is for the holder alone.
#[derive(Clone)]
pub struct DataDir {
    /// Where it is.
    pub path: PathBuf,
    /// Its small files.
    pub files: Arc<dyn SmallFiles>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// The small files of a folder. The caller brings them, with its own rules for links and pipes.
pub trait SmallFiles: Send + Sync {
    /// Those of another folder.
    ///
    /// # Errors
    /// What the system said.
    fn of(&self, folder: &Path) -> io::Result<Arc<dyn SmallFiles>>;

    /// The text of a file; `None` when there is no such file.
    ///
    /// # Errors
    /// It is longer than `max_bytes`, or no text; or what the system said.
    fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<String>>;

    /// Replaces a file, whole or not at all. It survives a crash of the process.
    ///
    /// # Errors
    /// What the system said.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// The same, synced: it survives a crash of the machine.
    ///
    /// # Errors
    /// What the system said.
    fn write_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// Removes a file, if there is one.
    ///
    /// # Errors
    /// What the system said.
    fn remove(&self, name: &str) -> io::Result<()>;
}

/// A new folder in that for damaged things: its path below the data directory.
pub(crate) fn free_folder(dir: &Path, word: &str, epoch: u64) -> io::Result<String> {
    let damaged = make_folder(dir, DAMAGED)?;
    let mut number = 0;
    loop {
        let name = match number {
            0 => format!("{word}-{epoch}"),
            more => format!("{word}-{epoch}-{more}"),
        };
        match make_new(&damaged.join(&name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| format!("{DAMAGED}/{name}")),
        }
    }
}

/// Moves what there is of some names from one folder to another, durably.
pub(crate) fn move_all(from: &Path, to: &Path, names: &[&str]) -> io::Result<()> {
    for name in names {
        match std::fs::rename(from.join(name), to.join(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            moved => moved?,
        }
        failpoint!("aside.move.after");
    }
    sync_dir(to)?;
    sync_dir(from)
}

/// A folder of the data directory, for its owner alone.
pub(crate) fn make_folder(dir: &Path, name: &str) -> io::Result<PathBuf> {
    let folder = dir.join(name);
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    sync_dir(dir)?;
    Ok(folder)
}

/// A new folder, for its owner alone.
pub(crate) fn make_new(folder: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(folder)
}

/// A new file, for its owner alone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600).open(path)
}

pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use samovar_core::Millis;

    use super::*;

    /// Files without rules.
    struct Plain(PathBuf);

    /// A clock that advances with every look.
    struct Ticking;

    impl SmallFiles for Plain {
        fn of(&self, folder: &Path) -> io::Result<Arc<dyn SmallFiles>> {
            Ok(Arc::new(Self(folder.to_owned())))
        }

        fn read(&self, name: &str, _max_bytes: u64) -> io::Result<Option<String>> {
            match std::fs::read_to_string(self.0.join(name)) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                read => read.map(Some),
            }
        }

        fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
            std::fs::write(self.0.join(name), bytes)
        }

        fn write_synced(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
            self.write(name, bytes)
        }

        fn remove(&self, name: &str) -> io::Result<()> {
            std::fs::remove_file(self.0.join(name))
        }
    }

    impl Clock for Ticking {
        fn now(&self) -> Millis {
            static NOW: AtomicI64 = AtomicI64::new(0);
            Millis(NOW.fetch_add(1, Ordering::Relaxed))
        }
    }

    pub(crate) fn data_dir(dir: &tempfile::TempDir) -> DataDir {
        let path = dir.path().to_owned();
        DataDir {
            files: Arc::new(Plain(path.clone())),
            path,
            clock: Arc::new(Ticking),
        }
    }
}
