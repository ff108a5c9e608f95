//! What is moved out of the way, and the folders that it goes to.

use std::fs::{DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use samovar_core::failpoint;

use crate::damage::FOLDER;

/// The names of the history's files.
pub(crate) const HISTORY: [&str; 3] = ["history.db", "history.db-wal", "history.db-shm"];
/// The names of the journal's folders.
pub(crate) const JOURNAL: [&str; 2] = ["journal", "spool"];

/// A new folder in that for damaged things.
pub(super) fn free_folder(dir: &Path, word: &str, epoch: u64) -> io::Result<PathBuf> {
    let damaged = make_folder(dir, FOLDER)?;
    let mut number = 0;
    loop {
        let name = match number {
            0 => format!("{word}-{epoch}"),
            more => format!("{word}-{epoch}-{more}"),
        };
        match DirBuilder::new().mode(0o700).create(damaged.join(&name)) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            made => return made.map(|()| damaged.join(name)),
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

pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
