//! The places inside a jail that are not there, or not to be changed.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io;
use samovar_descriptors::retry;

use super::from_root;
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};

/// What a jail protects from every tool, in every mode.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    /// Directories that are treated as not there, wherever they lie.
    ///
    /// Each is known by its identity: another name, a rename or a bind mount changes nothing. One that
    /// is made later is known by the identity that its path has then.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that can be read and not written, relative to the root or absolute; they
    /// need not exist. A folder that is there is known by its identity as well.
    pub read_only: Vec<PathBuf>,
    /// Names that are read-only in every folder, with all that is below them.
    pub read_only_names: Vec<String>,
}

/// Links that are followed from a read-only place to what it stands for, at most.
const MAX_HOPS: usize = 8;

/// [`Protected`], held.
#[derive(Debug)]
pub(super) struct Guard {
    hidden: Vec<HeldDir>,
    /// The paths of those that were not there when the jail was opened.
    hidden_later: Vec<PathBuf>,
    read_only: Vec<JailPath>,
    /// The folders among them, as they were when the jail was opened: one stays protected while
    /// another takes its name.
    read_only_dirs: Vec<HeldDir>,
    /// Folded.
    read_only_names: Vec<String>,
}

/// A directory that is known by its identity.
#[derive(Debug)]
struct HeldDir {
    id: Id,
    /// Held so that the file system cannot give the identity to another directory.
    _held: OwnedFd,
}

impl Guard {
    /// `spellings` are the ways in which `root` may be written.
    pub(super) fn open(
        protected: &Protected,
        root: &OwnedFd,
        spellings: &[PathBuf; 2],
    ) -> Result<Guard, JailError> {
        let (mut hidden, mut hidden_later) = (Vec::new(), Vec::new());
        for path in &protected.hidden {
            match HeldDir::open(path) {
                Ok(held) => hidden.push(held),
                // Nothing is there yet, or it cannot be looked at.
                Err(errno) if errno == io::Errno::ACCESS || fs::stat(path).is_err() => {
                    hidden_later.push(path.clone());
                }
                Err(errno) => return Err(JailError::from_errno(errno, path)),
            }
        }
        let read_only = protected.read_only.iter().map(|path| {
            let (raw, beneath) = (path.to_string_lossy(), from_root(spellings, path));
            match beneath {
                None if path.is_absolute() => JailPath::of_system(&raw, path),
                beneath => JailPath::parse(&raw, beneath.unwrap_or(path)),
            }
        });
        let read_only: Vec<JailPath> = read_only.collect::<Result<_, _>>()?;
        let dirs = read_only.iter().filter_map(|place| {
            let path = Some(place.as_path()).filter(|path| !path.as_os_str().is_empty())?;
            HeldDir::beneath(root, path).ok()
        });
        let names = protected.read_only_names.iter();
        Ok(Guard {
            hidden,
            hidden_later,
            read_only_dirs: dirs.collect(),
            read_only_names: names.map(|name| fold(name)).collect(),
            read_only,
        })
    }

    /// Whether this directory is treated as not there.
    pub(super) fn hides(&self, id: Id) -> bool {
        let is_made = |path: &PathBuf| fs::stat(path).is_ok_and(|found| Id::of(&found) == id);
        self.hidden.iter().any(|dir| dir.id == id) || self.hidden_later.iter().any(is_made)
    }

    /// Whether `root` is a hidden directory or lies in one.
    pub(super) fn encloses(&self, root: &OwnedFd) -> io::Result<bool> {
        let mut dir = retry(|| sys::open_beneath(root, ".", sys::STAND))?;
        let mut id = Id::of(&fs::fstat(&dir)?);
        loop {
            if self.hides(id) {
                return Ok(true);
            }
            let above = || fs::openat(&dir, "..", sys::STAND | OFlags::CLOEXEC, Mode::empty());
            dir = retry(above)?;
            let above = Id::of(&fs::fstat(&dir)?);
            // The parent of `/` is `/`.
            if above == id {
                return Ok(false);
            }
            id = above;
        }
    }

    /// Whether `place` is by its name a read-only place or inside one.
    pub(super) fn is_read_only(&self, place: &JailPath) -> bool {
        let mut read_only = self.read_only.iter();
        let mut names = place.as_path().iter();
        read_only.any(|guarded| place.is_within(guarded)) || names.any(|name| self.is_name(name))
    }

    /// Whether this path, relative to the root, is a read-only place itself.
    pub(super) fn keeps(&self, path: &str) -> bool {
        let is_same = |guarded: &JailPath| guarded.as_path().as_os_str() == path;
        let name = path.rsplit('/').next().unwrap_or(path);
        self.read_only.iter().any(is_same) || self.is_name(OsStr::new(name))
    }

    /// Whether `id` is what a read-only place leads to at this moment, or a folder that was one when
    /// the jail was opened.
    ///
    /// This sees through what names do not show: a protected name that is a link into the
    /// workspace, a bind mount, a file system for which `Skills` and `skills` are one.
    pub(super) fn leads_to(&self, root: impl AsFd, id: Id) -> bool {
        let root = root.as_fd();
        let mut dirs = self.read_only_dirs.iter();
        dirs.any(|dir| dir.id == id)
            || self
                .read_only
                .iter()
                .filter_map(|guarded| stat(root, guarded.as_path()))
                .any(|found| found == id)
    }

    /// Whether a new entry at `place`, whose folder is `dir`, would be a read-only place on some file
    /// system, or what a link in such a place leads to.
    ///
    /// What does not exist yet has no identity to compare, and file systems differ in what they
    /// fold: case, ignorable characters, dots at the end. So it is refused when its letters and
    /// digits are those of a protected name in the same folder, however that folder was reached.
    pub(super) fn would_be(&self, root: impl AsFd, dir: Id, place: &JailPath) -> bool {
        let root = root.as_fd();
        let folded = fold(&place.to_string());
        let name = place.name().map(|name| fold(&name.to_string_lossy()));
        self.read_only.iter().any(|guarded| {
            fold(&guarded.to_string()) == folded
                || trail(root, guarded.as_path()).any(|(folder, guarded)| {
                    let guarded = fold(&guarded.to_string_lossy());
                    Some(guarded) == name && stat(root, &folder) == Some(dir)
                })
        })
    }

    /// Whether this is a name that is read-only in every folder.
    fn is_name(&self, name: &OsStr) -> bool {
        self.read_only_names
            .contains(&fold(&name.to_string_lossy()))
    }
}

impl HeldDir {
    fn open(path: &Path) -> io::Result<HeldDir> {
        let open = || fs::open(path, sys::STAND | OFlags::CLOEXEC, Mode::empty());
        HeldDir::of(retry(open)?)
    }

    /// A directory that a path in a jail names; links in it are followed, as its owner meant them.
    fn beneath(root: &OwnedFd, path: &Path) -> io::Result<HeldDir> {
        let flags = sys::STAND | OFlags::CLOEXEC;
        HeldDir::of(retry(|| fs::openat(root, path, flags, Mode::empty()))?)
    }

    fn of(held: OwnedFd) -> io::Result<HeldDir> {
        let id = Id::of(&fs::fstat(&held)?);
        Ok(HeldDir { id, _held: held })
    }
}

/// The identity of what `path` leads to; the root itself is the empty path.
fn stat(root: BorrowedFd<'_>, path: &Path) -> Option<Id> {
    let path = match path {
        empty if empty.as_os_str().is_empty() => Path::new("."),
        path => path,
    };
    let found = fs::statat(root, path, AtFlags::NO_AUTOMOUNT).ok()?;
    Some(Id::of(&found))
}

/// A place and, while it is a link, what that leads to: each as a folder and a name in it.
fn trail(root: BorrowedFd<'_>, place: &Path) -> impl Iterator<Item = (PathBuf, OsString)> {
    let next = move |path: &PathBuf| {
        let target = fs::readlinkat(root, path, Vec::new()).ok()?;
        let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
        Some(path.parent()?.join(target))
    };
    std::iter::successors(Some(place.to_owned()), next)
        .take(MAX_HOPS)
        .filter_map(|path| Some((path.parent()?.to_owned(), path.file_name()?.to_owned())))
}

/// The letters and digits, without their case, and the dots that a name begins with: all that tells
/// `.git` from the plain word. Upper first: it also joins `ſ` with `s`.
fn fold(text: &str) -> String {
    let names = text.split('/').map(|name| {
        let first = name.find(char::is_alphanumeric).unwrap_or(name.len());
        let dots = name[..first].chars().filter(|c| *c == '.');
        let rest = name[first..].chars().filter(|c| c.is_alphanumeric());
        let upper = dots.chain(rest).flat_map(char::to_uppercase);
        upper.flat_map(char::to_lowercase).collect::<String>()
    });
    names.collect::<Vec<_>>().join("/")
}
