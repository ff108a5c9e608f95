//! Replaces one file, but not what another program saved since it was looked at.
//!
//! A rename would remove whatever has the name at that moment. So the new file and the old one change
//! names, and only then is the old one looked at: what is not as it was is put back.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::thread;
use std::time::Duration;

use rustix::fs::{self, AtFlags, FlockOperation, OFlags, RenameFlags};
use rustix::io::Errno;

use super::Jail;
use super::write::WriteResult;
use crate::error::JailError;
use crate::kernel::is_open_for_writing;
use crate::path::{self, JailPath};
use crate::sys::{self, Id};
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
        let new = Id::of(&fs::fstat(temp.file()).map_err(|errno| self.refused(errno))?);
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
        let is_old = self.id(&other) == fs::fstat(&old).ok().map(|stat| Id::of(&stat));
        if is_old && is_as_before(&old, before) {
            return self.remove(&other);
        }
        self.put_back(&other, new)
    }

    /// Gives the name back to what was saved, which has the other one, and removes the new file.
    fn put_back(&self, other: &str, new: Id) -> Result<(), JailError> {
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
        if self.id(other) == Some(new) && self.holds_new(other) {
            self.remove(other)?;
            return Err(self.changed());
        }
        Err(self.keep_beside(other))
    }

    fn holds_new(&self, other: &str) -> bool {
        let Ok(file) = sys::open_beneath(self.dir, other, sys::READ | OFlags::NOFOLLOW) else {
            return false;
        };
        let mut now = Vec::new();
        let read = File::from(file)
            .take(self.content.len() as u64 + 1)
            .read_to_end(&mut now);
        read.is_ok() && now == self.content
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

    fn remove(&self, other: &str) -> Result<(), JailError> {
        match fs::unlinkat(self.dir, other, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(self.refused(errno)),
        }
    }

    fn id(&self, name: &str) -> Option<Id> {
        sys::stat_in(self.dir, name).ok().map(|stat| Id::of(&stat))
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
