//! Blobs as files: one for each hash in the folder `blobs`, whose name is the hash of its bytes.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::{BlobHash, Blobs, Broken, Future, failpoint};
use tokio::sync::Mutex;

use crate::data_dir::{create, make_folder, sync_dir};
use crate::disk::{Disk, blocking};
use crate::journal::from_io;

/// The folder.
pub(crate) const BLOBS: &str = "blobs";
/// What ends the name of a file that is being written.
const PART: &str = ".part";

/// The blobs of a data directory.
pub(crate) struct FileBlobs {
    disk: Disk,
    /// Held while one is written.
    writing: Mutex<()>,
    /// Held while some are removed, and by a backup.
    removing: Arc<Mutex<()>>,
}

impl FileBlobs {
    /// Opens the folder, if there is one, and removes what a crash left half written.
    pub(crate) fn open(disk: &Disk) -> Self {
        let folder = disk.dir().join(BLOBS);
        for name in names(&folder).unwrap_or_default() {
            if name.ends_with(PART)
                && let Err(error) = fs::remove_file(folder.join(&name))
            {
                tracing::warn!(%error, name, "half a blob stays");
            }
        }
        Self {
            disk: disk.clone(),
            writing: Mutex::default(),
            removing: Arc::default(),
        }
    }

    /// Lets none be removed until the guard is dropped.
    pub(crate) async fn pause_removal(&self) -> impl Drop + use<> {
        self.removing.clone().lock_owned().await
    }

    /// Copies all of them into a folder's own, durably.
    pub(crate) async fn copy_to(&self, folder: &Path) -> Result<(), Broken> {
        let (from, to) = (self.disk.dir().to_owned(), folder.to_owned());
        blocking(move || copy(&from, &to).map(drop).map_err(|error| broken(&error))).await
    }

    fn folder(&self) -> PathBuf {
        self.disk.dir().join(BLOBS)
    }
}

impl Blobs for FileBlobs {
    fn put(&self, bytes: Arc<[u8]>) -> Future<'_, Result<BlobHash, Broken>> {
        Box::pin(async move {
            self.disk.check()?;
            let _alone = self.writing.lock().await;
            let disk = self.disk.clone();
            blocking(move || {
                let put = put(disk.dir(), &bytes).map_err(|error| broken(&error));
                if matches!(put, Err(Broken::Full(_))) {
                    disk.note_full();
                }
                put
            })
            .await
        })
    }

    fn read<'a>(&'a self, hash: &'a BlobHash) -> Future<'a, Result<Option<Arc<[u8]>>, Broken>> {
        let (path, hash) = (self.folder().join(hash.as_str()), hash.clone());
        Box::pin(blocking(move || match fs::read(path) {
            Ok(bytes) if BlobHash::of(&bytes) == hash => Ok(Some(bytes.into())),
            Ok(_) => {
                tracing::error!(%hash, "the bytes of a blob have another hash");
                Ok(None)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(broken(&error)),
        }))
    }

    fn list(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        let folder = self.folder();
        Box::pin(blocking(move || {
            list(&folder).map_err(|error| broken(&error))
        }))
    }

    fn remove(&self, hashes: BTreeSet<BlobHash>) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            let _alone = self.removing.lock().await;
            let folder = self.folder();
            blocking(move || remove(&folder, &hashes).map_err(|error| broken(&error))).await
        })
    }
}

/// The hashes that files of a folder have as names.
pub(crate) fn list(folder: &Path) -> io::Result<BTreeSet<BlobHash>> {
    let names = names(folder)?;
    let hashes = names.iter().filter_map(|name| BlobHash::new(name).ok());
    Ok(hashes.collect())
}

/// Whether a data directory has a blob, whose bytes have its hash.
pub(crate) fn is_whole(data_dir: &Path, hash: &BlobHash) -> bool {
    let bytes = fs::read(data_dir.join(BLOBS).join(hash.as_str()));
    bytes.is_ok_and(|bytes| BlobHash::of(&bytes) == *hash)
}

/// Copies the blobs of one folder into another, which has none, durably. Whether each is what its name
/// says.
pub(crate) fn copy(from: &Path, to: &Path) -> io::Result<bool> {
    let hashes = list(&from.join(BLOBS))?;
    if hashes.is_empty() {
        return Ok(true);
    }
    let (from, to) = (from.join(BLOBS), make_folder(to, BLOBS)?);
    let mut are_whole = true;
    for hash in hashes {
        let bytes = fs::read(from.join(hash.as_str()))?;
        are_whole &= BlobHash::of(&bytes) == hash;
        write(&to.join(hash.as_str()), &bytes)?;
    }
    sync_dir(&to)?;
    Ok(are_whole)
}

/// The names in a folder; none if there is no folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name());
    let names: Vec<_> = entries.map(name).collect::<io::Result<_>>()?;
    Ok(names
        .into_iter()
        .filter_map(|name| name.into_string().ok())
        .collect())
}

fn put(dir: &Path, bytes: &[u8]) -> io::Result<BlobHash> {
    let (hash, folder) = (BlobHash::of(bytes), make_folder(dir, BLOBS)?);
    let path = folder.join(hash.as_str());
    // One that was damaged is written again.
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(hash);
    }
    let part = folder.join(format!("{hash}{PART}"));
    if part.exists() {
        fs::remove_file(&part)?;
    }
    let written = write(&part, bytes).and_then(|()| {
        failpoint!("blob.put.before");
        fs::rename(&part, &path)?;
        sync_dir(&folder)
    });
    if written.is_err() && fs::remove_file(&part).is_err() {
        tracing::debug!(%hash, "nothing of a blob was written");
    }
    written?;
    failpoint!("blob.put.after");
    Ok(hash)
}

fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file: File = create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn remove(folder: &Path, hashes: &BTreeSet<BlobHash>) -> io::Result<()> {
    for hash in hashes {
        match fs::remove_file(folder.join(hash.as_str())) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        failpoint!("blob.remove.after");
    }
    if hashes.is_empty() {
        Ok(())
    } else {
        sync_dir(folder)
    }
}

fn broken(error: &io::Error) -> Broken {
    from_io(BLOBS, error)
}
