//! The stores of this user: one for each folder, in the user's data folder (FC-10).

use std::fs::{self, DirBuilder};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use samovar_server::Ownership;

use crate::config::{Place, Setup, real};

/// The file of a store that holds the path of its folder, and a line feed.
const FOLDER_FILE: &str = "folder";

/// Bytes of a path, at most, as Linux has it.
const MAX_PATH_BYTES: usize = 4096;

/// Stores that are listed, at most.
const MAX_STORES: usize = 10_000;

/// A data directory of this user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownStore {
    pub(crate) data_dir: PathBuf,
    pub(crate) folder: StoreFolder,
}

/// The folder whose sessions a store holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StoreFolder {
    /// It is there.
    There(PathBuf),
    /// It was deleted or moved.
    Gone(PathBuf),
    /// The store does not tell.
    Untold,
}

/// Whether a data directory holds anything.
pub(crate) fn is_begun(dir: &Path) -> bool {
    ["journal", "history.db"]
        .iter()
        .any(|name| dir.join(name).exists())
}

/// Writes the path of its folder into a store.
///
/// # Errors
/// What the system said.
pub(crate) fn note(store: &Path, folder: &Path) -> io::Result<()> {
    if noted(store).as_deref() == Some(folder) {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(store)?;
    let mut line = folder.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    // Renamed into place, because a list of all stores may read it meanwhile.
    let mut file = tempfile::NamedTempFile::new_in(store)?;
    file.write_all(&line)?;
    file.persist(store.join(FOLDER_FILE))?;
    Ok(())
}

/// The folder of a store.
fn noted(store: &Path) -> Option<PathBuf> {
    let file = store.join(FOLDER_FILE);
    if !fs::symlink_metadata(&file).ok()?.is_file() {
        return None;
    }
    let mut line = fs::read(file).ok()?;
    let end = line.pop_if(|last| *last == b'\n');
    let is_path = end.is_some() && line.starts_with(b"/") && line.len() <= MAX_PATH_BYTES;
    is_path.then(|| std::ffi::OsString::from_vec(line).into())
}

/// Every store of this user that holds anything, that of this folder first.
pub(crate) fn known(found: &Setup) -> Vec<KnownStore> {
    let own = KnownStore {
        data_dir: found.config.data_dir.clone(),
        folder: match found.place {
            Place::Named => StoreFolder::Untold,
            Place::Beside | Place::OfFolder => StoreFolder::There(found.folder()),
        },
    };
    let mut known = vec![own];
    let stores = found
        .folders
        .stores()
        .and_then(|stores| fs::read_dir(stores).ok());
    let entries = stores
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .take(MAX_STORES);
    let mut stores: Vec<_> = entries.map(|entry| entry.path()).collect();
    stores.sort();
    for store in stores {
        let folder = noted(&store);
        let beside = folder.as_ref().map(|folder| folder.join("data"));
        let beside = beside.filter(|beside| is_ours(found, beside));
        let folder = match folder {
            Some(folder) if folder.is_dir() => StoreFolder::There(folder),
            Some(folder) => StoreFolder::Gone(folder),
            None => StoreFolder::Untold,
        };
        known.extend([Some(store), beside].into_iter().flatten().map(|data_dir| {
            let folder = folder.clone();
            KnownStore { data_dir, folder }
        }));
    }
    let mut met = std::collections::HashSet::new();
    known.retain(|store| is_begun(&store.data_dir) && met.insert(real(&store.data_dir)));
    known
}

fn is_ours(found: &Setup, dir: &Path) -> bool {
    let owner = found.config.owner.as_ref();
    owner.is_some_and(|owner| owner.standing(dir) == Ownership::Ours)
}
