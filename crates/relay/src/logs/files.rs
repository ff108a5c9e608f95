//! The folders of the logs, and the names in them: each is made here from an id of ours (RL-16).

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Dir, Mode, OFlags, fsync, mkdirat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use crate::log::Marker;
use crate::row::hex;

/// Where all of them are, below the data directory.
const LOGS: &str = "logs";
const END: &str = ".jsonl";
const MARKER_END: &str = ".json";
/// Characters of a room's name that its file is known by.
const NAME_CHARS: usize = 24;

/// Studies of a day that are counted, at most: a host may give its studies any number, and from the
/// greatest of all there would be no next one.
const MAX_COUNTED: u64 = 999_999_999;

/// Nothing here is followed or waited for: a link could lead a row into any file of this user.
const SAFE: OFlags = OFlags::NOFOLLOW
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
/// For its owner alone.
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

/// The folders below a data directory.
pub(crate) struct Files {
    data_dir: PathBuf,
}

/// One of the two folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    Studies,
    Rooms,
}

impl Folder {
    fn name(self) -> &'static str {
        match self {
            Self::Studies => "study",
            Self::Rooms => "room",
        }
    }
}

impl Files {
    pub(crate) fn new(data_dir: &Path) -> Self {
        Self {
            data_dir: data_dir.to_owned(),
        }
    }

    /// Opens a folder, and makes it when it is not there.
    pub(crate) fn folder(&self, folder: Folder) -> io::Result<OwnedFd> {
        let logs = make_dir(&self.data()?, LOGS)?;
        make_dir(&logs, folder.name())
    }

    /// Opens a folder that is there.
    fn old_folder(&self, folder: Folder) -> io::Result<OwnedFd> {
        open_dir(&open_dir(&self.data()?, LOGS)?, folder.name())
    }

    fn data(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(open(&self.data_dir, flags, Mode::empty())?)
    }

    /// Makes the file of a study, which no study had before, in the folder that comes with it.
    pub(crate) fn new_study(&self, id: &str) -> io::Result<(File, OwnedFd)> {
        let folder = self.folder(Folder::Studies)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | SAFE;
        let file = openat(&folder, file_name(id), flags, PRIVATE)?;
        Ok((file.into(), folder))
    }

    /// Removes the file of a study that did not begin after all.
    pub(crate) fn remove_study(&self, id: &str) -> io::Result<()> {
        let folder = self.folder(Folder::Studies)?;
        Ok(unlinkat(&folder, file_name(id), AtFlags::empty())?)
    }

    /// Opens the file of a study, to go on in it.
    pub(crate) fn old_study(&self, id: &str) -> io::Result<File> {
        self.study(id, OFlags::RDWR)
    }

    /// Opens the file of a study, to read it.
    pub(crate) fn read_study(&self, id: &str) -> io::Result<File> {
        self.study(id, OFlags::RDONLY)
    }

    fn study(&self, id: &str, access: OFlags) -> io::Result<File> {
        let folder = self.old_folder(Folder::Studies)?;
        let file = openat(&folder, file_name(id), access | SAFE, Mode::empty())?;
        regular(file.into())
    }

    /// Opens a room's file, and makes it when it is not there.
    pub(crate) fn room(&self, id: &str) -> io::Result<File> {
        let folder = self.folder(Folder::Rooms)?;
        let flags = OFlags::RDWR | OFlags::CREATE | SAFE;
        regular(openat(&folder, file_name(id), flags, PRIVATE)?.into())
    }

    /// Opens a room's file, to read it.
    pub(crate) fn read_room(&self, id: &str) -> io::Result<File> {
        let folder = self.old_folder(Folder::Rooms)?;
        let flags = OFlags::RDONLY | SAFE;
        regular(openat(&folder, file_name(id), flags, Mode::empty())?.into())
    }

    /// Moves a room's file away, into the place of the one that was moved before.
    pub(crate) fn roll_room(&self, id: &str) -> io::Result<()> {
        let folder = self.folder(Folder::Rooms)?;
        let old = format!("{id}.old{END}");
        Ok(renameat(&folder, file_name(id), &folder, old)?)
    }

    /// The ids of all studies.
    pub(crate) fn studies(&self) -> Vec<String> {
        let list = || -> io::Result<Vec<String>> {
            let mut ids = Vec::new();
            for entry in Dir::read_from(self.old_folder(Folder::Studies)?)? {
                let entry = entry?;
                let name = entry.file_name().to_str().ok();
                let id = name.and_then(|name| name.strip_suffix(END));
                ids.extend(id.filter(|id| is_id(id)).map(str::to_owned));
            }
            Ok(ids)
        };
        match list() {
            Ok(ids) => ids,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the study logs cannot be listed");
                Vec::new()
            }
        }
    }

    /// The studies that are open in rooms, as their markers say.
    pub(crate) fn marked_studies(&self) -> Vec<String> {
        let list = || -> io::Result<Vec<String>> {
            let folder = self.old_folder(Folder::Rooms)?;
            let mut studies = Vec::new();
            for entry in Dir::read_from(&folder)? {
                let entry = entry?;
                let name = entry.file_name().to_str().ok();
                let name = name.filter(|name| name.ends_with(MARKER_END));
                let Some(name) = name else { continue };
                match Marker::read(folder.as_fd(), name) {
                    Ok(marker) => studies.extend(marker.map(|marker| marker.study)),
                    Err(error) => tracing::warn!(%error, name, "a marker cannot be read"),
                }
            }
            studies.retain(|study| is_id(study));
            studies.sort_unstable();
            Ok(studies)
        };
        match list() {
            Ok(studies) => studies,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                tracing::warn!(%error, "the open studies cannot be listed");
                Vec::new()
            }
        }
    }

    /// The greatest number behind this beginning of an id.
    pub(crate) fn last_of(&self, begin: &str) -> u64 {
        let ids = self.studies();
        let numbers = ids.iter().filter_map(|id| id.strip_prefix(begin));
        let numbers = numbers.filter_map(|number| number.parse().ok());
        let counted = numbers.filter(|number| *number < MAX_COUNTED);
        counted.max().unwrap_or(0)
    }

    /// Whether there is anything in the place of a study's file.
    pub(crate) fn has_study(&self, id: &str) -> bool {
        self.old_folder(Folder::Studies)
            .is_ok_and(|folder| statat(&folder, file_name(id), AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }
}

/// Whether this may be the id of a study: a file is named so.
pub(crate) fn is_id(id: &str) -> bool {
    let is_fine = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=64).contains(&id.len()) && id.bytes().all(is_fine)
}

/// The id of a room's file: what of its name can stand in a file's, and 12 hex digits of the SHA-256
/// of all of it.
pub(crate) fn room_id(name: &str) -> String {
    let fits = |letter: &char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    let letters = name.chars().map(|letter| letter.to_ascii_lowercase());
    let mut id: String = letters.filter(fits).take(NAME_CHARS).collect();
    if !id.is_empty() {
        id.push('-');
    }
    id.push_str(&hex(&Sha256::digest(name)[..6]));
    id
}

/// The name of the file that says which study is open in a room.
pub(crate) fn marker_name(room_id: &str) -> String {
    format!("{room_id}{MARKER_END}")
}

fn file_name(id: &str) -> String {
    format!("{id}{END}")
}

fn make_dir(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match mkdirat(parent, name, Mode::RWXU) {
        Ok(()) => fsync(parent)?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno.into()),
    }
    open_dir(parent, name)
}

fn open_dir(parent: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(parent, name, flags, Mode::empty())?)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let why = "it is no regular file; it was left as it is";
    Err(io::Error::new(io::ErrorKind::InvalidData, why))
}
