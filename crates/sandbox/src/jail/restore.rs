//! Giving a place back what it was: a file, a link, a folder, or nothing.
//!
//! Unlike a write, nothing here is durable until [`Jail::sync`]: an undo restores many files and
//! waits for the disk once.

use std::ffi::OsStr;
use std::path::Path;

use rustix::fs::{self, Access, AtFlags, FileType, Mode};
use rustix::io::Errno;
use samovar_descriptors::retry;

use super::write::fill;
use super::{Jail, make, step};
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};

/// Permission bits of a file that are given back; set-uid and its kin vouched for another content.
const OF_FILE: u32 = 0o777;
/// Those of a folder, whose set-gid and sticky bits say who owns and who removes what is in it.
const OF_FOLDER: u32 = 0o7777;

impl Jail {
    /// Puts a file at `place`, whole or not at all, with these permission bits, or with those that the
    /// file there has. Missing folders are made.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn put_file(
        &self,
        place: &JailPath,
        content: &[u8],
        mode: Option<u32>,
    ) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let stand = self.descend_making(folder)?;
        let dir = retry(|| sys::listable(&stand)).map_err(refused)?;
        // A rename leaves the file as it is under its other names; a caller that knows the permissions
        // knows what became of those.
        let standing = || match self.standing(&dir, name, place) {
            Err(JailError::HardLinked { .. }) if mode.is_some() => Ok(None),
            found => found,
        };
        let old = standing()?;
        let temp = fill(&dir, content, old.as_ref())
            .map_err(|source| JailError::io(place.as_path(), source))?;
        if let Some(mode) = mode {
            let mode = Mode::from_raw_mode(mode & OF_FILE);
            fs::fchmod(temp.file(), mode).map_err(refused)?;
        }
        // As for a write: this look refuses what became wrong.
        standing()?;
        temp.rename(name).map_err(refused)
    }

    /// Makes a link at `place`, where nothing is. Missing folders are made.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn put_link(&self, place: &JailPath, target: &OsStr) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let dir = self.descend_making(folder)?;
        self.refuse_new(&dir, place)?;
        fs::symlinkat(target, &dir, name).map_err(refused)
    }

    /// Makes a folder with these permission bits at `place`, or gives them to the one there. Missing
    /// folders above it are made.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn put_folder(&self, place: &JailPath, mode: u32) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let above = self.descend_making(folder)?;
        let dir = match step(&above, name) {
            Err(Errno::NOENT) => {
                self.refuse_new(&above, place)?;
                make(&above, name)
            }
            found => found,
        };
        let (dir, id) = dir.map_err(refused)?;
        self.refuse_guarded(id, place.as_path())?;
        sys::set_mode(&dir, mode & OF_FOLDER).map_err(refused)
    }

    /// Changes the permission bits of a folder, and says what they were; `None` where none is.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn change_mode(
        &self,
        folder: &JailPath,
        change: impl FnOnce(u32) -> u32,
    ) -> Result<Option<u32>, JailError> {
        let refused = |errno| JailError::from_errno(errno, folder.as_path());
        let dir = match self.descend_to_change(folder.as_path()) {
            Ok(dir) => dir,
            Err(error) if is_no_folder(&error) => return Ok(None),
            Err(other) => return Err(other),
        };
        let old = fs::fstat(&dir).map_err(refused)?.st_mode & OF_FOLDER;
        let new = change(old) & OF_FOLDER;
        if new != old {
            sys::set_mode(&dir, new).map_err(refused)?;
        }
        Ok(Some(old))
    }

    /// Whether what is at `place` could be put there or cleared, as far as a look can tell;
    /// `has_names` says whether a file there may have other names.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn check_change(&self, place: &JailPath, has_names: bool) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let (mut dir, mut reached, names) = self.start(folder)?;
        let mut is_missing = false;
        for name in names {
            reached.push(name);
            match step(&dir, name) {
                Ok((next, id)) => {
                    self.refuse_guarded(id, &reached)?;
                    dir = next;
                }
                // It is made, or takes the place of what is there.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {
                    is_missing = true;
                    break;
                }
                Err(errno) => return Err(JailError::from_errno(errno, &reached)),
            }
        }
        let changes = Access::WRITE_OK | Access::EXEC_OK;
        fs::accessat(&dir, ".", changes, AtFlags::EACCESS).map_err(refused)?;
        match sys::stat_in(&dir, name) {
            Ok(stat) if !is_missing && sys::file_type(&stat) == FileType::RegularFile => {
                match self.standing(&dir, name, place) {
                    Err(JailError::HardLinked { .. }) if has_names => Ok(()),
                    found => found.map(drop),
                }
            }
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Removes the file, the link or the empty folder at `place`. Returns whether nothing is there
    /// now: a folder that is in use stays.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn clear(&self, place: &JailPath) -> Result<bool, JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let dir = match self.descend_to_change(folder) {
            Ok(dir) => dir,
            Err(error) if is_no_folder(&error) => return Ok(true),
            Err(other) => return Err(other),
        };
        let stat = match sys::stat_in(&dir, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(true),
            Err(errno) => return Err(refused(errno)),
        };
        self.refuse_guarded(Id::of(&stat), place.as_path())?;
        let flags = match sys::file_type(&stat) {
            FileType::Directory => AtFlags::REMOVEDIR,
            _ => AtFlags::empty(),
        };
        match fs::unlinkat(&dir, name, flags) {
            Ok(()) | Err(Errno::NOENT) => Ok(true),
            Err(Errno::NOTEMPTY | Errno::EXIST | Errno::BUSY) => Ok(false),
            Err(errno) => Err(refused(errno)),
        }
    }

    /// Makes all that was changed survive a crash of the machine.
    ///
    /// # Errors
    /// [`JailError::Io`].
    pub fn sync(&self) -> Result<(), JailError> {
        let root = Path::new(".");
        let failed = |errno| JailError::from_errno(errno, root);
        let dir = retry(|| sys::listable(&self.root)).map_err(failed)?;
        fs::syncfs(dir).map_err(failed)
    }
}

/// Whether a walk ended because there is no such folder.
fn is_no_folder(error: &JailError) -> bool {
    matches!(
        error,
        JailError::NotFound { .. } | JailError::NotADirectory { .. } | JailError::Symlink { .. }
    )
}
