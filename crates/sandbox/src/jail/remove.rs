//! Removing a file that a write made, and the folders that it made for it.

use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags};
use rustix::io::Errno;
use samovar_descriptors::retry;

use super::{Jail, step};
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys;

impl Jail {
    /// How many of the folders that `place` names are not there.
    ///
    /// # Errors
    /// As [`Jail::open_file`], but for what is at `place` itself.
    pub fn missing_folders(&self, place: &JailPath) -> Result<usize, JailError> {
        let (folder, _) = self.admit(place)?;
        let (mut dir, mut reached, names) = self.start(folder)?;
        let mut names = names.iter();
        while let Some(name) = names.next() {
            reached.push(name);
            match step(&dir, name) {
                Ok((next, _)) => dir = next,
                Err(Errno::NOENT) => return Ok(names.count() + 1),
                Err(errno) => return Err(JailError::from_errno(errno, &reached)),
            }
        }
        Ok(0)
    }

    /// Removes the file at `place`, durably, and of the folders above it the lowest `folders`, as
    /// far as they are empty. A file that is not there is removed already.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn remove(&self, place: &JailPath, folders: usize) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        match self.descend_to_change(folder) {
            Ok(dir) => {
                if self.target(&dir, name, place)?.is_some() {
                    fs::unlinkat(&dir, name, AtFlags::empty()).map_err(refused)?;
                    sync(&dir).map_err(refused)?;
                }
            }
            Err(JailError::NotFound { .. }) => {}
            Err(other) => return Err(other),
        }
        for folder in folder.ancestors().take(folders) {
            let (Some(above), Some(name)) = (folder.parent(), folder.file_name()) else {
                break;
            };
            let Ok(dir) = self.descend_to_change(above) else {
                continue;
            };
            match fs::unlinkat(&dir, name, AtFlags::REMOVEDIR) {
                Ok(()) => sync(&dir).map_err(refused)?,
                Err(Errno::NOENT) => {}
                // It is in use by now, or something else has its name: the file is gone, and that
                // is what counts.
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Walks to `folder`, for a writer: refuses what is protected.
    pub(super) fn descend_to_change(&self, folder: &Path) -> Result<OwnedFd, JailError> {
        let (mut dir, mut reached, names) = self.start(folder)?;
        for name in names {
            reached.push(name);
            let (next, id) = step(&dir, name).map_err(|e| JailError::from_errno(e, &reached))?;
            self.refuse_guarded(id, &reached)?;
            dir = next;
        }
        Ok(dir)
    }
}

/// Makes a removal survive a crash.
fn sync(dir: &OwnedFd) -> Result<(), Errno> {
    sys::sync_dir(retry(|| sys::listable(dir))?)
}
