//! The places inside a jail that are not there, or not to be changed.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io;

use super::from_root;
use crate::error::JailError;
use crate::path::JailPath;
use crate::sys::{self, Id};

/// What a jail protects from every tool, in every mode.
#[derive(Debug, Clone, Default)]
pub struct Protected {
    /// Directories that are treated as not there, wherever they lie; they must exist.
    ///
    /// Each is known by its identity: another name, a rename or a bind mount changes nothing.
    pub hidden: Vec<PathBuf>,
    /// Files and folders that can be read and not written, relative to the root or absolute; they
    /// need not exist.
    pub read_only: Vec<PathBuf>,
}

/// [`Protected`], held.
#[derive(Debug)]
pub(super) struct Guard {
    hidden: Vec<HiddenDir>,
    read_only: Vec<JailPath>,
}

#[derive(Debug)]
struct HiddenDir {
    id: Id,
    /// Held so that the file system cannot give the identity to another directory.
    _held: OwnedFd,
}

impl Guard {
    /// `spellings` are the ways in which the root may be written.
    pub(super) fn open(
        protected: &Protected,
        spellings: &[PathBuf; 2],
    ) -> Result<Guard, JailError> {
        let hidden = protected
            .hidden
            .iter()
            .map(|path| HiddenDir::open(path).map_err(|errno| JailError::from_errno(errno, path)));
        let read_only = protected.read_only.iter().map(|path| {
            let (raw, beneath) = (path.to_string_lossy(), from_root(spellings, path));
            match beneath {
                None if path.is_absolute() => JailPath::of_system(&raw, path),
                beneath => JailPath::parse(&raw, beneath.unwrap_or(path)),
            }
        });
        Ok(Guard {
            hidden: hidden.collect::<Result<_, _>>()?,
            read_only: read_only.collect::<Result<_, _>>()?,
        })
    }

    /// Whether this directory is treated as not there.
    pub(super) fn hides(&self, id: Id) -> bool {
        self.hidden.iter().any(|dir| dir.id == id)
    }

    /// Whether `root` is a hidden directory or lies in one.
    pub(super) fn encloses(&self, root: &OwnedFd) -> io::Result<bool> {
        let mut dir = sys::open_beneath(root, ".", sys::STAND)?;
        let mut id = Id::of(&fs::fstat(&dir)?);
        loop {
            if self.hides(id) {
                return Ok(true);
            }
            dir = fs::openat(&dir, "..", sys::STAND | OFlags::CLOEXEC, Mode::empty())?;
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
        self.read_only
            .iter()
            .any(|guarded| place.is_within(guarded))
    }

    /// Whether `id` is what a read-only place leads to at this moment.
    ///
    /// This sees through what names do not show: a protected name that is a link into the
    /// workspace, a bind mount, a file system for which `Skills` and `skills` are one.
    pub(super) fn leads_to(&self, root: impl AsFd, id: Id) -> bool {
        let root = root.as_fd();
        self.read_only
            .iter()
            .filter_map(|guarded| fs::statat(root, guarded.as_path(), AtFlags::NO_AUTOMOUNT).ok())
            .any(|stat| Id::of(&stat) == id)
    }

    /// Whether some file system would take `place` for a read-only one.
    ///
    /// A file that does not exist yet has no identity to compare, and file systems differ in
    /// what they fold: case, ignorable characters, dots at the end. So a new file is refused
    /// when its letters and digits are those of a protected name.
    pub(super) fn resembles(&self, place: &JailPath) -> bool {
        let folded = fold(place);
        self.read_only.iter().any(|guarded| fold(guarded) == folded)
    }
}

impl HiddenDir {
    fn open(path: &Path) -> io::Result<HiddenDir> {
        let held = fs::open(path, sys::STAND | OFlags::CLOEXEC, Mode::empty())?;
        let id = Id::of(&fs::fstat(&held)?);
        Ok(HiddenDir { id, _held: held })
    }
}

/// The letters and digits, without their case. Upper first: it also joins `ſ` with `s`.
fn fold(place: &JailPath) -> String {
    place
        .to_string()
        .chars()
        .filter(|c| c.is_alphanumeric() || *c == '/')
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .collect()
}
