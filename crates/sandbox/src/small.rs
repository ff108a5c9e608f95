//! The small files of a directory of ours: tokens, marks, an address.
//!
//! The directory may have come from somebody else, so nothing in it is followed or waited for: a
//! link could lead a write to any file of this user, and who opens a pipe waits for ever.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use samovar_locale as locale;

use crate::lock::DirLock;
use crate::sys;
use crate::temp::{self, TempFile};

/// A directory whose small files are read and written, held open, so that it stays the same one
/// whatever becomes of its path.
#[derive(Clone, Debug)]
pub struct SmallFiles {
    dir: Arc<OwnedFd>,
}

/// A file of such a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallFile {
    /// Its name.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// When it was last written, in seconds since 1970.
    pub modified: i64,
}

/// What has to survive a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// The file, under its name, once the write has returned.
    Crash,
    /// The file, once its folder is synced; until then the name is absent or has the whole file. For
    /// several files that are written before one sync of their folder.
    Content,
    /// Nothing: the file means something only while its writer runs.
    Writer,
}

impl SmallFiles {
    /// Those of a directory that need not be held.
    ///
    /// # Errors
    /// What the system said.
    pub fn of(dir: &Path) -> io::Result<SmallFiles> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = fs::open(dir, flags, Mode::empty())?;
        Ok(SmallFiles { dir: Arc::new(dir) })
    }

    /// Those of the folder `name` in this one, which is made for its owner alone if it is missing.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn folder(&self, name: &str) -> io::Result<SmallFiles> {
        self.folder_that(name, Survival::Crash)
    }

    /// The same, where a new folder need not survive everything.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn folder_that(&self, name: &str, survival: Survival) -> io::Result<SmallFiles> {
        match fs::mkdirat(&self.dir, name, Mode::RWXU) {
            Ok(()) => match survival {
                Survival::Crash => sys::sync_dir(sys::listable(&self.dir)?)?,
                Survival::Content | Survival::Writer => {}
            },
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let made = self.existing_folder(name)?;
        made.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Those of the folder `name` in this one; `None` if there is no such folder.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn existing_folder(&self, name: &str) -> io::Result<Option<SmallFiles>> {
        match sys::open_beneath(&self.dir, name, OFlags::RDONLY | OFlags::DIRECTORY) {
            Ok(dir) => Ok(Some(SmallFiles { dir: Arc::new(dir) })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The folder `name` in this one, made if it is missing, and open to its owner whatever became of
    /// its mode.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn opened_folder(&self, name: &str) -> io::Result<SmallFiles> {
        match fs::mkdirat(&self.dir, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let dir = Arc::new(opened(&self.dir, OsStr::new(name))?);
        Ok(SmallFiles { dir })
    }

    /// Removes the folder `name`, if there is one, with all that is in it, however deep and whatever its
    /// modes.
    ///
    /// # Errors
    /// What the system said; a link is not followed.
    pub fn remove_folder(&self, name: &str) -> io::Result<()> {
        if self.length(name)?.is_none() {
            return Ok(());
        }
        // Folders are moved up, so no path and no descriptor is needed for each level.
        let (mut waiting, mut moved) = (vec![name.to_owned()], 0);
        while let Some(folder) = waiting.pop() {
            let dir = opened(&self.dir, OsStr::new(&folder))?;
            for entry in Dir::read_from(&dir)? {
                let entry = entry?;
                let inner = OsStr::from_bytes(entry.file_name().to_bytes());
                if inner == "." || inner == ".." {
                    continue;
                }
                if sys::file_type(&sys::stat_in(&dir, inner)?) != FileType::Directory {
                    fs::unlinkat(&dir, inner, AtFlags::empty())?;
                    continue;
                }
                // Only its owner can move it, with its rights.
                opened(&dir, inner)?;
                moved += 1;
                let place = format!("{name}.{moved}");
                fs::renameat(&dir, inner, &self.dir, &place)?;
                waiting.push(place);
            }
            fs::unlinkat(&self.dir, &folder, AtFlags::REMOVEDIR)?;
        }
        Ok(())
    }

    /// When the file `name` was last written, in seconds since 1970.
    ///
    /// # Errors
    /// What the system said.
    pub fn modified(&self, name: &str) -> io::Result<i64> {
        Ok(sys::stat_in(&self.dir, name)?.st_mtime)
    }

    /// When the file `name` was last changed or touched, in nanoseconds since 1970.
    ///
    /// # Errors
    /// What the system said.
    pub fn changed(&self, name: &str) -> io::Result<i64> {
        let stat = sys::stat_in(&self.dir, name)?;
        Ok(nanoseconds(&stat))
    }

    /// Whether the mode of the file `name` lets no user write it.
    ///
    /// # Errors
    /// What the system said.
    pub fn is_read_only(&self, name: &str) -> io::Result<bool> {
        let mode = Mode::from_raw_mode(sys::stat_in(&self.dir, name)?.st_mode);
        Ok(!mode.intersects(Mode::WUSR | Mode::WGRP | Mode::WOTH))
    }

    /// Gives the file `name` the current time.
    ///
    /// # Errors
    /// What the system said.
    pub fn touch(&self, name: &str) -> io::Result<()> {
        let now = fs::Timespec {
            tv_sec: 0,
            tv_nsec: fs::UTIME_NOW,
        };
        let times = fs::Timestamps {
            last_access: now,
            last_modification: now,
        };
        Ok(fs::utimensat(
            &self.dir,
            name,
            &times,
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }

    /// The moment that the file system gives to what is changed in it now, in nanoseconds since 1970.
    ///
    /// # Errors
    /// What the system said.
    pub fn now(&self) -> io::Result<i64> {
        let dir = self.dir.as_fd();
        let temp = TempFile::create(dir, Mode::RUSR | Mode::WUSR)?;
        Ok(nanoseconds(&fs::fstat(temp.file())?))
    }

    /// Makes all that was written in it, and in folders below it, survive a crash of the machine.
    ///
    /// # Errors
    /// What the system said.
    pub fn sync_all(&self) -> io::Result<()> {
        Ok(fs::syncfs(sys::listable(&self.dir)?)?)
    }

    /// The length of the file `name`; `None` if there is no such file.
    ///
    /// # Errors
    /// What the system said.
    pub fn length(&self, name: &str) -> io::Result<Option<u64>> {
        match sys::stat_in(&self.dir, name) {
            Ok(stat) => Ok(Some(u64::try_from(stat.st_size).unwrap_or_default())),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    /// The files that there are, in the order of their names; what killed writers left is removed.
    ///
    /// # Errors
    /// What the system said.
    pub fn list(&self) -> io::Result<Vec<SmallFile>> {
        temp::sweep(self.dir.as_fd());
        let dir = sys::listable(&self.dir)?;
        let mut found = Vec::new();
        for entry in Dir::read_from(&dir)? {
            let entry = entry?;
            let Ok(name) = entry.file_name().to_str() else {
                continue;
            };
            let stat = match sys::stat_in(&dir, name) {
                // It went meanwhile, as an editor's do.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                stat => stat?,
            };
            if sys::file_type(&stat) == FileType::RegularFile {
                found.push(SmallFile {
                    name: name.to_owned(),
                    bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                    modified: stat.st_mtime,
                });
            }
        }
        found.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// The first `max_bytes` of the file `name`; `None` if there is no such file.
    ///
    /// # Errors
    /// It is a link or no regular file; or what the system said.
    pub fn read_bytes(&self, name: &str, max_bytes: u64) -> io::Result<Option<Vec<u8>>> {
        let Some(file) = open(&self.dir, name)? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(max_bytes).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    /// What the file `name` holds; none when there is no such file.
    ///
    /// # Errors
    /// It is a link, no regular file, longer than `max_bytes`, or no text; or what the system said.
    pub fn read(&self, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
        read(&self.dir, name, max_bytes)
    }

    /// Writes the file `name`, for its owner alone and as a whole or not at all, in place of what
    /// has the name.
    ///
    /// # Errors
    /// What the system said.
    pub fn write(&self, name: &str, bytes: &[u8], survival: Survival) -> io::Result<()> {
        write(&self.dir, name, bytes, survival)
    }

    /// Writes the file `name` like [`SmallFiles::write`], if it is the expected one right before its new
    /// content takes its place; else nothing changes, and the answer is false.
    ///
    /// # Errors
    /// What the system said.
    pub fn replace_if(
        &self,
        name: &str,
        bytes: &[u8],
        is_expected: impl FnOnce() -> io::Result<bool>,
    ) -> io::Result<bool> {
        let dir = self.dir.as_fd();
        let temp = TempFile::create(dir, Mode::RUSR | Mode::WUSR)?;
        temp.file().write_all(bytes)?;
        temp.file().sync_all()?;
        if !is_expected()? {
            return Ok(false);
        }
        temp.rename(OsStr::new(name))?;
        sys::sync_dir(sys::listable(dir)?)?;
        Ok(true)
    }

    /// Removes the file `name`, if there is one.
    ///
    /// # Errors
    /// What the system said.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.dir, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl DirLock {
    /// The small files of the directory that is held.
    ///
    /// # Errors
    /// What the system said.
    pub fn small_files(&self) -> io::Result<SmallFiles> {
        let dir = Arc::new(self.held().try_clone()?);
        Ok(SmallFiles { dir })
    }
}

/// Closes a file or a directory to all but its owner; a link is not followed.
///
/// # Errors
/// It is something else, or what the system said.
pub fn close_to_others(path: &Path) -> io::Result<()> {
    let flags = sys::READ | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = match fs::open(path, flags, Mode::empty()) {
        Ok(held) => held,
        Err(Errno::LOOP) => return Err(unusable(locale::data_dir::file_is_link())),
        Err(errno) => return Err(errno.into()),
    };
    let mode = match sys::file_type(&fs::fstat(&held)?) {
        FileType::RegularFile => Mode::RUSR | Mode::WUSR,
        FileType::Directory => Mode::RWXU,
        FileType::Symlink
        | FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => return Err(unusable(locale::data_dir::file_not_regular())),
    };
    Ok(fs::fchmod(held, mode)?)
}

/// Opens a folder, which its owner may use from then on.
fn opened(dir: impl AsFd, name: &OsStr) -> rustix::io::Result<OwnedFd> {
    let held = sys::open_beneath(dir, Path::new(name), sys::STAND)?;
    sys::set_mode(&held, 0o700)?;
    sys::listable(&held)
}

/// Opens a regular file, without waiting for a pipe's other end; `None` if there is no such file.
fn open(dir: impl AsFd, name: &str) -> io::Result<Option<File>> {
    let file = match sys::open_beneath(dir, name, sys::READ) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(unusable(locale::data_dir::file_is_link())),
        Err(errno) => return Err(errno.into()),
    };
    if sys::file_type(&fs::fstat(&file)?) != FileType::RegularFile {
        return Err(unusable(locale::data_dir::file_not_regular()));
    }
    Ok(Some(file))
}

pub(crate) fn read(dir: impl AsFd, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
    let Some(file) = open(dir, name)? else {
        return Ok(None);
    };
    let mut text = String::new();
    file.take(max_bytes.saturating_add(1))
        .read_to_string(&mut text)?;
    if text.len() as u64 > max_bytes {
        let why = locale::data_dir::file_too_large(max_bytes);
        return Err(unusable(&why));
    }
    Ok(Some(text))
}

pub(crate) fn write(
    dir: impl AsFd,
    name: &str,
    bytes: &[u8],
    survival: Survival,
) -> io::Result<()> {
    let dir = dir.as_fd();
    let temp = TempFile::create(dir, Mode::RUSR | Mode::WUSR)?;
    temp.file().write_all(bytes)?;
    if survival != Survival::Writer {
        temp.file().sync_all()?;
    }
    temp.rename(OsStr::new(name))?;
    if survival == Survival::Crash {
        sys::sync_dir(sys::listable(dir)?)?;
    }
    Ok(())
}

/// When a file was last changed, in nanoseconds since 1970.
fn nanoseconds(stat: &fs::Stat) -> i64 {
    let nanos = i64::try_from(stat.st_ctime_nsec).unwrap_or_default();
    let seconds = stat.st_ctime.saturating_mul(1_000_000_000);
    seconds.saturating_add(nanos)
}

fn unusable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
