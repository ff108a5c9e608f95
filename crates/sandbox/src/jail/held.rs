//! A folder that is held open while what is in it is looked at.
//!
//! For walks over many files: one system call tells all of an entry, and no path is resolved twice.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{self, AtFlags, Dir, FileType, Stat, StatxFlags};
use rustix::io::Errno;
use samovar_descriptors::retry;
use serde::{Deserialize, Serialize};

use super::{Jail, Kind};
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};
use crate::temp;

/// What the system says of an entry that is not opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// What it is.
    pub kind: Kind,
    /// Its permission bits.
    pub mode: u32,
    /// Its length in bytes.
    pub size: u64,
    /// When its content was last changed, in nanoseconds since 1970.
    pub modified: i64,
    /// When anything of it was last changed, in nanoseconds since 1970. No program can set it.
    pub changed: i64,
    /// Its number in its file system.
    pub inode: u64,
    /// The number of that.
    pub device: u64,
}

/// A folder of a jail, held open.
#[derive(Debug)]
pub struct HeldFolder<'jail> {
    jail: &'jail Jail,
    dir: OwnedFd,
    device: u64,
}

/// What was found in a folder.
#[derive(Debug, Default)]
pub struct Entries {
    /// The entries, in the order of their names, but for hidden folders and unfinished writes.
    pub all: Vec<(OsString, Facts)>,
    /// Whether there are more.
    pub is_cut: bool,
}

fn nanos(seconds: i64, rest: u64) -> i64 {
    let rest = i64::try_from(rest).unwrap_or_default();
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

impl Facts {
    fn of(stat: &Stat) -> Facts {
        Facts {
            kind: Kind::of(stat),
            mode: stat.st_mode & 0o7777,
            size: u64::try_from(stat.st_size).unwrap_or_default(),
            modified: nanos(stat.st_mtime, stat.st_mtime_nsec),
            changed: nanos(stat.st_ctime, stat.st_ctime_nsec),
            inode: stat.st_ino,
            device: stat.st_dev,
        }
    }
}

impl Jail {
    /// Opens a folder.
    ///
    /// # Errors
    /// As [`Jail::list`].
    pub fn hold(&self, place: &JailPath) -> Result<HeldFolder<'_>, JailError> {
        let failed = |errno| JailError::io(place.as_path(), errno);
        let stand = self.descend(place.as_path())?;
        let dir = retry(|| sys::listable(&stand)).map_err(failed)?;
        let device = fs::fstat(&dir).map_err(failed)?.st_dev;
        Ok(HeldFolder {
            jail: self,
            dir,
            device,
        })
    }

    /// What makes the root itself: its device and its number.
    ///
    /// # Errors
    /// What the system said.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        let stat = fs::fstat(&self.root)?;
        Ok((stat.st_dev, stat.st_ino))
    }

    /// What is at a place; `None` where nothing is, or where a name on the way is no folder.
    ///
    /// # Errors
    /// [`JailError::Io`], [`JailError::NoDescriptor`].
    pub fn facts(&self, place: &JailPath) -> Result<Option<Facts>, JailError> {
        let Some((folder, name)) = place.split() else {
            return Ok(None);
        };
        let found = self.descend(folder).and_then(|dir| {
            let stat = sys::stat_in(&dir, name);
            stat.map_err(|errno| JailError::from_errno(errno, place.as_path()))
        });
        match found {
            Ok(stat) if self.guard.hides(Id::of(&stat)) => Ok(None),
            Ok(stat) => Ok(Some(Facts::of(&stat))),
            Err(
                JailError::NotFound { .. }
                | JailError::NotADirectory { .. }
                | JailError::Symlink { .. },
            ) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// When the file at a place was made, in nanoseconds since 1970; `None` for the root, or if the file
    /// system does not record it. A rename does not change it.
    ///
    /// # Errors
    /// [`JailError::NotFound`], [`JailError::Io`], [`JailError::NoDescriptor`].
    pub fn born(&self, place: &JailPath) -> Result<Option<i64>, JailError> {
        let Some((folder, name)) = place.split() else {
            return Ok(None);
        };
        let dir = self.descend(folder)?;
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let found = fs::statx(&dir, name, flags, StatxFlags::BTIME);
        let found = found.map_err(|errno| JailError::from_errno(errno, place.as_path()))?;
        let is_known = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        let born = found.stx_btime;
        Ok(is_known.then(|| nanos(born.tv_sec, born.tv_nsec.into())))
    }

    /// Where the link at a place leads.
    ///
    /// # Errors
    /// [`JailError::NotUtf8`], and as [`Jail::open_file`].
    pub fn link(&self, place: &JailPath) -> Result<String, JailError> {
        let failed = |errno| JailError::from_errno(errno, place.as_path());
        let (folder, name) = place.split().ok_or_else(|| failed(Errno::INVAL))?;
        let dir = self.descend(folder)?;
        let target = fs::readlinkat(&dir, name, Vec::new()).map_err(failed)?;
        target.into_string().map_err(|_| JailError::NotUtf8 {
            path: place.to_string(),
        })
    }

    /// Whether no tool may change what is at a path relative to the root, by the path alone and
    /// whatever is above it.
    pub fn keeps(&self, path: &str) -> bool {
        self.guard.keeps(path)
    }
}

impl<'jail> HeldFolder<'jail> {
    /// What the folder is itself.
    ///
    /// # Errors
    /// What the system said.
    pub fn facts(&self) -> io::Result<Facts> {
        Ok(Facts::of(&fs::fstat(&self.dir)?))
    }

    /// What is in it; at most `max` entries are looked at.
    ///
    /// # Errors
    /// What the system said.
    pub fn entries(&self, max: usize) -> io::Result<Entries> {
        let mut entries = Entries::default();
        for entry in retry(|| Dir::read_from(&self.dir))? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." || temp::is_temp_name(name) {
                continue;
            }
            if entries.all.len() == max {
                entries.is_cut = true;
                break;
            }
            let stat = match sys::stat_in(&self.dir, name) {
                Ok(stat) => stat,
                // It is gone by now.
                Err(Errno::NOENT) => continue,
                Err(errno) => return Err(errno.into()),
            };
            let is_folder = sys::file_type(&stat) == FileType::Directory;
            if !is_folder || !self.jail.guard.hides(Id::of(&stat)) {
                entries.all.push((name.to_owned(), Facts::of(&stat)));
            }
        }
        entries
            .all
            .sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        Ok(entries)
    }

    /// Opens a folder in it.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn enter(&self, name: &OsStr) -> io::Result<HeldFolder<'jail>> {
        let dir = retry(|| sys::open_beneath(&self.dir, Path::new(name), sys::LIST))?;
        let stat = fs::fstat(&dir)?;
        if self.jail.guard.hides(Id::of(&stat)) {
            return Err(Errno::NOENT.into());
        }
        if stat.st_dev != self.device && sys::is_kernel_door(&dir)? {
            return Err(Errno::ACCESS.into());
        }
        Ok(HeldFolder {
            jail: self.jail,
            dir,
            device: stat.st_dev,
        })
    }

    /// What a regular file in it is and holds; never waits for a pipe.
    ///
    /// # Errors
    /// It is no regular file, is longer than `cap` bytes, or what the system said.
    pub fn read(&self, name: &OsStr, cap: u64) -> io::Result<(Facts, Vec<u8>)> {
        let regular = |stat: &Stat| match sys::file_type(stat) {
            FileType::RegularFile => Ok(()),
            _ => Err(io::Error::from(Errno::INVAL)),
        };
        // Before the open, because opening a device can already do something.
        regular(&sys::stat_in(&self.dir, name)?)?;
        let held = retry(|| sys::open_beneath(&self.dir, Path::new(name), sys::READ))?;
        let stat = fs::fstat(&held)?;
        regular(&stat)?;
        let facts = Facts::of(&stat);
        if facts.device != self.device && sys::is_kernel_door(held.as_fd())? {
            return Err(Errno::ACCESS.into());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(facts.size.min(cap)).unwrap_or(0));
        File::from(held).take(cap + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > cap {
            return Err(Errno::FBIG.into());
        }
        Ok((facts, bytes))
    }

    /// Where a link in it leads.
    ///
    /// # Errors
    /// What the system said.
    pub fn link(&self, name: &OsStr) -> io::Result<Vec<u8>> {
        Ok(fs::readlinkat(&self.dir, name, Vec::new())?.into_bytes())
    }
}
