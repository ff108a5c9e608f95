//! The small files of a directory of ours: tokens, marks, an address.
//!
//! The directory may have come from somebody else, so nothing in it is followed or waited for: a
//! link could lead a write to any file of this user, and who opens a pipe waits for ever.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{self, AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;
use samovar_locale as locale;

use crate::lock::DirLock;
use crate::sys;
use crate::temp::TempFile;

/// A directory whose small files are read and written, held open, so that it stays the same one
/// whatever becomes of its path.
#[derive(Clone, Debug)]
pub struct SmallFiles {
    dir: Arc<OwnedFd>,
}

/// What has to survive a crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// The file, under its name, once the write has returned.
    Crash,
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

pub(crate) fn read(dir: impl AsFd, name: &str, max_bytes: u64) -> io::Result<Option<String>> {
    let file = match sys::open_beneath(dir, name, sys::READ) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::LOOP) => return Err(unusable(locale::data_dir::file_is_link())),
        Err(errno) => return Err(errno.into()),
    };
    if sys::file_type(&fs::fstat(&file)?) != FileType::RegularFile {
        return Err(unusable(locale::data_dir::file_not_regular()));
    }
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
    match survival {
        Survival::Crash => {
            temp.file().sync_all()?;
            temp.rename(OsStr::new(name))?;
            Ok(sys::sync_dir(sys::listable(dir)?)?)
        }
        Survival::Writer => Ok(temp.rename(OsStr::new(name))?),
    }
}

fn unusable(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
