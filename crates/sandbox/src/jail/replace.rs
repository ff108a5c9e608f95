//! Replaces one file, but not what another program saved since it was looked at.
//!
//! A rename would remove whatever has the name at that moment. So the new file and the old one change
//! names, and only then is the old one looked at: what is not as it was is put back.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::fs::{self, AtFlags, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::Jail;
use super::write::WriteResult;
use crate::error::JailError;
use crate::kernel::is_open_for_writing;
use crate::path::{self, JailPath};
use crate::sys;
use crate::temp::{self, TempFile, random_hex};

/// How often a file is looked at that another program has open for writing, and how long it has to
/// close it each time: a second in all.
const LOOKS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

impl Jail {
    /// Like [`Jail::write`], for a caller that has seen what the file holds, `None` if there is no such
    /// file. What another program saves after that look, also between the last check and the rename, stays.
    ///
    /// # Errors
    /// As [`Jail::write`]. [`JailError::Changed`]: it holds something else now, or another program has
    /// it open for writing; nothing was written. [`JailError::KeptBeside`]: the same, and a second save
    /// at that moment is in a file beside it.
    pub fn replace(
        &self,
        place: &JailPath,
        before: Option<&[u8]>,
        content: &[u8],
        cap: u64,
    ) -> Result<WriteResult, JailError> {
        self.write_by(place, content, cap, |dir, temp, name| {
            let swap = Swap {
                dir,
                name,
                place,
                content,
            };
            match before {
                None => swap.add(temp),
                Some(before) => swap.change(temp, before),
            }
        })
    }
}

/// The last step of a write.
struct Swap<'a> {
    dir: &'a OwnedFd,
    name: &'a OsStr,
    place: &'a JailPath,
    content: &'a [u8],
}

impl Swap<'_> {
    fn add(&self, temp: TempFile<'_>) -> Result<(), JailError> {
        match temp.rename_new(self.name) {
            Err(Errno::EXIST) => Err(self.changed()),
            done => done.map_err(|errno| self.refused(errno)),
        }
    }

    fn change(&self, mut temp: TempFile<'_>, before: &[u8]) -> Result<(), JailError> {
        let old = match sys::open_beneath(self.dir, self.name, sys::READ | OFlags::NOFOLLOW) {
            Ok(old) => File::from(old),
            Err(Errno::NOENT) => return Err(self.changed()),
            Err(errno) => return Err(self.refused(errno)),
        };
        // Under the other name it is no dead file for a sweep. Where a program locks its files itself,
        // it has the lock.
        fs::flock(&old, FlockOperation::NonBlockingLockExclusive).ok();
        temp.end_writing().map_err(|errno| self.refused(errno))?;
        let other = match temp.exchange(self.name) {
            Ok(other) => other.to_owned(),
            Err(Errno::NOENT) => return Err(self.changed()),
            // A file system that cannot exchange names: the moment stays.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return if is_as_before(&old, before) {
                    temp.rename(self.name).map_err(|errno| self.refused(errno))
                } else {
                    Err(self.changed())
                };
            }
            Err(errno) => return Err(self.refused(errno)),
        };
        if temp::is_still(self.dir.as_fd(), &other, &old) && is_as_before(&old, before) {
            return match self.remove(&other, &old, before)? {
                None => Ok(()),
                Some(saved) => self.put_back(saved.name(), temp.file()),
            };
        }
        self.put_back(&other, temp.file())
    }

    /// Gives the name back to what was saved, which has the other one, and removes the new file.
    fn put_back(&self, other: &str, new: &File) -> Result<(), JailError> {
        let dir = self.dir.as_fd();
        let back = fs::renameat_with(dir, other, dir, self.name, RenameFlags::EXCHANGE);
        match back {
            Ok(()) => {}
            // The name is free again.
            Err(Errno::NOENT) => match temp::rename_new(dir, other, self.name) {
                Ok(()) => return Err(self.changed()),
                Err(_) => return Err(self.keep_beside(other)),
            },
            Err(_) => return Err(self.keep_beside(other)),
        }
        // Another program may have saved the file that was the new one then.
        if temp::is_still(dir, other, new) && is_as_before(new, self.content) {
            return Err(match self.remove(other, new, self.content)? {
                None => self.changed(),
                Some(saved) => self.keep_beside(saved.name()),
            });
        }
        Err(self.keep_beside(other))
    }

    /// Renames a file that another program saved to a name beside the one that it cannot have.
    fn keep_beside(&self, other: &str) -> JailError {
        let dir = self.dir.as_fd();
        let hex = random_hex().unwrap_or_else(|_| "again".to_owned());
        let mut name = self.name.to_owned();
        name.push(format!(".saved-{hex}"));
        let folder = self.place.as_path().parent();
        let kept = folder.map_or_else(|| name.clone().into(), |folder| folder.join(&name));
        match temp::rename_new(dir, other, name.as_os_str()) {
            Ok(()) => JailError::KeptBeside {
                path: self.place.to_string(),
                kept: path::shown(&kept),
            },
            Err(errno) => self.refused(errno),
        }
    }

    /// Removes a file that holds this. What a program saves in it that had found it by its name just
    /// before is returned in a new file.
    fn remove(
        &self,
        other: &str,
        mut file: &File,
        held: &[u8],
    ) -> Result<Option<TempFile<'_>>, JailError> {
        match fs::unlinkat(self.dir, other, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(errno) => return Err(self.refused(errno)),
        }
        // This takes longer than a program needs from a name to its file.
        sys::sync_dir(self.dir).map_err(|errno| self.refused(errno))?;
        let lost = |error| JailError::io(self.place.as_path(), error);
        file.rewind().map_err(lost)?;
        if is_as_before(file, held) {
            return Ok(None);
        }
        file.rewind().map_err(lost)?;
        let stat = fs::fstat(file).map_err(|errno| self.refused(errno))?;
        let mode = Mode::from_raw_mode(stat.st_mode);
        let saved = TempFile::create(self.dir.as_fd(), mode);
        let saved = saved.map_err(|errno| self.refused(errno))?;
        io::copy(&mut file, &mut saved.file()).map_err(lost)?;
        saved.file().sync_all().map_err(lost)?;
        Ok(Some(saved))
    }

    fn changed(&self) -> JailError {
        JailError::Changed {
            path: self.place.to_string(),
        }
    }

    fn refused(&self, errno: Errno) -> JailError {
        JailError::from_errno(errno, self.place.as_path())
    }
}

/// Whether a file holds what it held, and no program can still write to it.
fn is_as_before(old: &File, before: &[u8]) -> bool {
    let mut looks = 0;
    while is_open_for_writing(old) {
        looks += 1;
        if looks == LOOKS {
            return false;
        }
        thread::sleep(PAUSE);
    }
    let mut now = Vec::with_capacity(before.len() + 1);
    let read = old.take(before.len() as u64 + 1).read_to_end(&mut now);
    read.is_ok() && now == before
}
