//! What is in one directory.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{Dir, FileType, Stat};
use rustix::io::Errno;
use samovar_descriptors::retry;
use serde::{Deserialize, Serialize};

use super::Jail;
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};
use crate::temp;

/// How many names of one directory are looked at and sorted.
const MAX_NAMES: usize = 65_536;

/// The kind of a directory entry; links are not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link, wherever it leads.
    Symlink,
    /// A pipe, a socket, a device.
    Other,
}

/// One name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Where it is; [`JailPath::is_lossy`] marks a name that is not UTF-8.
    pub place: JailPath,
    /// What it is.
    pub kind: Kind,
    /// Bytes, for a file; otherwise 0.
    pub size: u64,
}

/// The entries of one directory, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// What is shown, in the order of the names' bytes.
    pub entries: Vec<Entry>,
    /// How many more names there are, at least.
    pub more: usize,
}

impl Jail {
    /// Lists a directory, at most `cap` entries; hidden directories and unfinished writes are
    /// left out.
    ///
    /// Of a directory with more than 65,536 names, any 65,536 are looked at.
    ///
    /// # Errors
    /// [`JailError::NotFound`], [`JailError::Symlink`], [`JailError::NotADirectory`],
    /// [`JailError::Io`].
    pub fn list(&self, place: &JailPath, cap: usize) -> Result<Listing, JailError> {
        let failed = |errno| JailError::io(place.as_path(), errno);
        let stand = self.descend(place.as_path())?;
        let dir = retry(|| sys::listable(&stand)).map_err(failed)?;
        let mut names = names_in(&dir).map_err(failed)?;
        names.sort_unstable();
        let more = names.len().saturating_sub(cap);
        names.truncate(cap);
        let entries = names
            .iter()
            .filter_map(|name| self.entry(&dir, place, name))
            .collect();
        Ok(Listing { entries, more })
    }

    /// The entry of this name; none when it is hidden, or gone since its name was read.
    fn entry(&self, dir: &OwnedFd, place: &JailPath, name: &OsStr) -> Option<Entry> {
        let stat = sys::stat_in(dir, name).ok()?;
        if self.guard.hides(Id::of(&stat)) {
            return None;
        }
        let kind = Kind::of(&stat);
        let size = match kind {
            Kind::File => u64::try_from(stat.st_size).unwrap_or_default(),
            Kind::Directory | Kind::Symlink | Kind::Other => 0,
        };
        Some(Entry {
            place: place.child(name),
            kind,
            size,
        })
    }
}

impl Kind {
    pub(super) fn of(stat: &Stat) -> Kind {
        match sys::file_type(stat) {
            FileType::RegularFile => Kind::File,
            FileType::Directory => Kind::Directory,
            FileType::Symlink => Kind::Symlink,
            FileType::Fifo
            | FileType::Socket
            | FileType::CharacterDevice
            | FileType::BlockDevice
            | FileType::Unknown => Kind::Other,
        }
    }
}

fn names_in(dir: &OwnedFd) -> Result<Vec<OsString>, Errno> {
    let mut names = Vec::new();
    for entry in retry(|| Dir::read_from(dir))? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || temp::is_temp_name(name) {
            continue;
        }
        if names.len() == MAX_NAMES {
            break;
        }
        names.push(name.to_owned());
    }
    Ok(names)
}
