//! Marks a journal that is not synced: after a power cut it may be torn.
//!
//! With [`Durability::Process`](samovar_core::Durability) LMDB's pages reach the disk in any order, so a power cut can leave a
//! file that no reader survives. A small file beside it, synced before the first such write, names
//! the kernel's own start; it goes with a close that synced everything. Found after another start of
//! the kernel, it says that the journal is not to be opened: it is wiped (DU-3).

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use samovar_core::Broken;

use super::fault::from_io;
use crate::data_dir::create;

const NAME: &str = "unsynced";
/// The wiped files: the environment and its table of readers.
const ENVIRONMENT: [&str; 2] = ["data.mdb", "lock.mdb"];

/// What an earlier run left on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlierWrites {
    /// Everything it wrote is on the disk.
    Synced,
    /// What it wrote is at least in the kernel's memory.
    InMemory,
    /// The kernel that had it in memory is gone.
    Torn,
}

/// Finds out what an earlier run left. An unknown start of the kernel is taken for another one.
pub(super) fn look(journal_dir: &Path, boot_id: &str) -> Result<EarlierWrites, Broken> {
    let path = journal_dir.join(NAME);
    match fs::read_to_string(&path) {
        Ok(then) if then == boot_id && !boot_id.is_empty() => Ok(EarlierWrites::InMemory),
        Ok(_) => Ok(EarlierWrites::Torn),
        // What stands in the way of the folder, whoever opens it tells.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(EarlierWrites::Synced)
        }
        // Not what was written there: a power cut tore it as well.
        Err(error) if error.kind() == ErrorKind::InvalidData => Ok(EarlierWrites::Torn),
        Err(error) => Err(from_io(&path.display().to_string(), &error)),
    }
}

/// Whether what an earlier run left is not to be opened, but wiped.
pub(super) fn is_torn(journal_dir: &Path) -> Result<bool, Broken> {
    Ok(look(journal_dir, &boot_id())? == EarlierWrites::Torn)
}

/// Removes an environment that may be torn.
pub(super) fn wipe(journal_dir: &Path) -> Result<(), Broken> {
    for name in ENVIRONMENT {
        remove(&journal_dir.join(name))?;
    }
    sync_dir(journal_dir)
}

/// Records, durably, that what follows is not synced.
pub(super) fn begin(journal_dir: &Path, boot_id: &str) -> Result<(), Broken> {
    let path = journal_dir.join(NAME);
    remove(&path)?;
    let written = create(&path).and_then(|mut file| {
        file.write_all(boot_id.as_bytes())?;
        file.sync_all()
    });
    written.map_err(|error| from_io(&path.display().to_string(), &error))?;
    sync_dir(journal_dir)
}

/// Records, durably, that everything is synced.
pub(super) fn end(journal_dir: &Path) -> Result<(), Broken> {
    remove(&journal_dir.join(NAME))?;
    sync_dir(journal_dir)
}

fn remove(path: &Path) -> Result<(), Broken> {
    let removed: io::Result<()> = fs::remove_file(path);
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(from_io(&path.display().to_string(), &error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Syncs the names in a folder.
pub(super) fn sync_dir(dir: &Path) -> Result<(), Broken> {
    let synced = File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|error| from_io(&dir.display().to_string(), &error))
}

/// The kernel's boot id; empty if there is none.
pub(super) fn boot_id() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.unwrap_or_default().trim().to_owned()
}
