//! Writing one file, whole or not at all.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{self, Access, AtFlags, Gid, Mode, Stat, Uid};
use rustix::io::Errno;
use samovar_descriptors::retry;
use samovar_points::failpoint;

use super::{Jail, require_regular, step};
use crate::error::JailError;
use crate::path::{self, JailPath};
use crate::sys::{self, Id};
use crate::temp::{self, TempFile};

/// What a write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteResult {
    /// There was no such file.
    Created,
    /// The file had other content before.
    Replaced,
}

impl Jail {
    /// Gives the file at `place` this content, atomically and durably: a reader finds the old
    /// content or the new, also after a crash.
    ///
    /// Missing folders are made. A replaced file keeps its permission bits (not set-uid and its
    /// kin) and, as far as the system lets us, its owner; not its extended attributes.
    ///
    /// # Errors
    /// [`JailError::TooLarge`] above `cap` bytes, [`JailError::Protected`],
    /// [`JailError::HardLinked`], [`JailError::Symlink`], [`JailError::NotRegular`],
    /// [`JailError::IsADirectory`], [`JailError::NotADirectory`], [`JailError::Io`].
    /// The file is then as it was, unless the very last step, syncing its folder, is what failed.
    pub fn write(
        &self,
        place: &JailPath,
        content: &[u8],
        cap: u64,
    ) -> Result<WriteResult, JailError> {
        self.write_by(place, content, cap, |_, temp, name| {
            let renamed = temp.rename(name);
            renamed.map_err(|errno| JailError::from_errno(errno, place.as_path()))
        })
    }

    /// The same, with another last step, which gives the finished file its name in its folder.
    pub(super) fn write_by(
        &self,
        place: &JailPath,
        content: &[u8],
        cap: u64,
        put: impl FnOnce(&OwnedFd, TempFile<'_>, &OsStr) -> Result<(), JailError>,
    ) -> Result<WriteResult, JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = self.admit(place)?;
        let size = content.len() as u64;
        if size > cap {
            let path = place.to_string();
            return Err(JailError::TooLarge { path, size, cap });
        }
        let stand = self.descend_making(folder)?;
        let dir = retry(|| sys::listable(&stand)).map_err(refused)?;
        let old = self.target(&dir, name, place)?;
        temp::sweep(dir.as_fd());
        failpoint!("file.write.before");
        let temp = fill(&dir, content, old.as_ref())
            .map_err(|source| JailError::io(place.as_path(), source))?;
        // The rename follows nothing and changes no other name of a file, so a target that was
        // swapped since the check cannot lead outside; this look refuses what became wrong.
        self.target(&dir, name, place)?;
        failpoint!("file.rename.before");
        put(&dir, temp, name)?;
        failpoint!("file.rename.after");
        sys::sync_dir(&dir).map_err(refused)?;
        failpoint!("file.write.after");
        Ok(old.map_or(WriteResult::Created, |_| WriteResult::Replaced))
    }

    /// Refuses what [`Jail::write`] refuses because of what is at `place`, and writes nothing.
    ///
    /// # Errors
    /// As [`Jail::write`].
    pub fn check_writable(&self, place: &JailPath) -> Result<(), JailError> {
        let (folder, name) = self.admit(place)?;
        let dir = self.descend_to_change(folder)?;
        self.target(&dir, name, place).map(drop)
    }

    /// The folder and name of a file that may be written, as far as the path alone tells.
    pub(super) fn admit<'p>(
        &self,
        place: &'p JailPath,
    ) -> Result<(&'p Path, &'p OsStr), JailError> {
        let protected = || JailError::Protected {
            path: place.to_string(),
        };
        if self.guard.is_read_only(place) {
            return Err(protected());
        }
        match place.split() {
            Some((_, name)) if temp::is_temp_name(name) => Err(protected()),
            Some(parts) if !place.names_folder() => Ok(parts),
            Some(_) | None => Err(JailError::IsADirectory {
                path: place.to_string(),
            }),
        }
    }

    /// Walks to `folder`, for a writer: makes what is missing, refuses what is protected.
    pub(super) fn descend_making(&self, folder: &Path) -> Result<OwnedFd, JailError> {
        let (mut dir, mut reached, names) = self.start(folder)?;
        for name in names {
            reached.push(name);
            let refused = |errno| JailError::from_errno(errno, &reached);
            let found = match step(&dir, name) {
                // Not a new folder beside the one whose name could not be shown.
                Err(Errno::NOENT) if path::was_lossy(name) => Err(Errno::ILSEQ),
                Err(Errno::NOENT) => {
                    self.refuse_new(&dir, &JailPath::at(&reached))?;
                    make(&dir, name)
                }
                found => found,
            };
            let (next, id) = found.map_err(refused)?;
            self.refuse_guarded(id, &reached)?;
            dir = next;
        }
        Ok(dir)
    }

    /// What is at `place` now, if a write may replace it; none when nothing is there.
    pub(super) fn target(
        &self,
        dir: &OwnedFd,
        name: &OsStr,
        place: &JailPath,
    ) -> Result<Option<Stat>, JailError> {
        let found = self.standing(dir, name, place)?;
        if found.is_some() {
            // A rename would go through although the file itself was made read-only.
            fs::accessat(dir, name, Access::WRITE_OK, AtFlags::EACCESS)
                .map_err(|errno| JailError::from_errno(errno, place.as_path()))?;
        }
        Ok(found)
    }

    /// The same, of a file that was made read-only, too.
    pub(super) fn standing(
        &self,
        dir: &OwnedFd,
        name: &OsStr,
        place: &JailPath,
    ) -> Result<Option<Stat>, JailError> {
        let path = place.to_string();
        let stat = match sys::stat_in(dir, name) {
            Ok(stat) => stat,
            Err(Errno::NOENT) if path::was_lossy(name) => return Err(JailError::NotUtf8 { path }),
            Err(Errno::NOENT) => return self.refuse_new(dir, place).map(|()| None),
            Err(errno) => return Err(JailError::from_errno(errno, place.as_path())),
        };
        self.refuse_guarded(Id::of(&stat), place.as_path())?;
        require_regular(&stat, place)?;
        let links = sys::links(&stat);
        if links > 1 {
            return Err(JailError::HardLinked { path, links });
        }
        Ok(Some(stat))
    }

    /// Refuses to make at `place`, in the folder `dir`, what would be protected.
    pub(super) fn refuse_new(&self, dir: &OwnedFd, place: &JailPath) -> Result<(), JailError> {
        let refused = |errno| JailError::from_errno(errno, place.as_path());
        let dir = Id::of(&fs::fstat(dir).map_err(refused)?);
        if self.guard.would_be(&self.root, dir, place) {
            let path = place.to_string();
            return Err(JailError::Protected { path });
        }
        Ok(())
    }

    pub(super) fn refuse_guarded(&self, id: Id, path: &Path) -> Result<(), JailError> {
        if self.guard.hides(id) || self.guard.leads_to(&self.root, id) {
            return Err(JailError::Protected {
                path: path::shown(path),
            });
        }
        Ok(())
    }
}

/// Makes the folder `name` in `dir` and opens it.
pub(super) fn make(dir: &OwnedFd, name: &OsStr) -> Result<(OwnedFd, Id), Errno> {
    match fs::mkdirat(dir, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => sys::sync_dir(retry(|| sys::listable(dir))?)?,
        // Somebody else made it, or put something in its place: the step finds out.
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    step(dir, name)
}

/// A synced file in `dir` with this content, and with what `old` hands down.
pub(super) fn fill<'dir>(
    dir: &'dir OwnedFd,
    content: &[u8],
    old: Option<&Stat>,
) -> io::Result<TempFile<'dir>> {
    // Until it has the old one's mode, nobody else may read what was meant for few.
    let mode = if old.is_some() { 0o600 } else { 0o666 };
    let temp = retry(|| TempFile::create(dir.as_fd(), Mode::from_raw_mode(mode)))?;
    temp.file().write_all(content)?;
    if let Some(old) = old {
        take_after(&temp, old)?;
    }
    failpoint!("file.sync.before");
    temp.file().sync_all()?;
    Ok(temp)
}

/// Gives the new file the owner and the permission bits of the old one.
fn take_after(temp: &TempFile<'_>, old: &Stat) -> Result<(), Errno> {
    let new = fs::fstat(temp.file())?;
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid) {
        let (owner, group) = (Uid::from_raw(old.st_uid), Gid::from_raw(old.st_gid));
        match fs::fchown(temp.file(), Some(owner), Some(group)) {
            // Only root gives files away; for anybody else the writer becomes the owner.
            Ok(()) | Err(Errno::PERM) => {}
            Err(errno) => return Err(errno),
        }
    }
    // Not set-uid, set-gid and sticky: they vouched for the content that is going.
    fs::fchmod(temp.file(), Mode::from_raw_mode(old.st_mode & 0o777))
}
