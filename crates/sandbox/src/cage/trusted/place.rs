//! Where a name of the workspace leads, without following a link of a command.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, Stat};
use rustix::io::Errno;

use crate::sys;
use crate::temp::{random_hex, rename_new};

/// What such a file is called then, before something that no command guesses.
const ASIDE: &str = "from-exec";

/// What is at a path: its first part that is no folder, its last, or the first that is missing.
pub(super) struct Place {
    pub(super) dir: Arc<OwnedFd>,
    pub(super) path: PathBuf,
    /// What the kernel says of it; `None` if it is missing.
    pub(super) found: Option<Stat>,
    /// Where it leads.
    pub(super) link: Option<PathBuf>,
}

/// The way to one name after the other: the folder of the last one is held, because the next one is mostly
/// in it, too.
pub(super) struct Trail<'a> {
    root: &'a Arc<OwnedFd>,
    last: Option<(PathBuf, Arc<OwnedFd>)>,
}

impl<'a> Trail<'a> {
    pub(super) fn new(root: &'a Arc<OwnedFd>) -> Self {
        Self { root, last: None }
    }

    /// Lets go of the folder: another one may have its name.
    pub(super) fn forget(&mut self) {
        self.last = None;
    }

    fn begin(&self, path: &Path) -> (PathBuf, Arc<OwnedFd>) {
        let last = self.last.iter();
        let mut last = last.filter(|(folder, _)| path.parent() == Some(folder));
        let begin = || (PathBuf::new(), self.root.clone());
        last.next().cloned().unwrap_or_else(begin)
    }
}

impl Place {
    pub(super) fn of(trail: &mut Trail<'_>, path: &Path) -> rustix::io::Result<Self> {
        let (begin, dir) = trail.begin(path);
        let mut parts = path
            .components()
            .skip(begin.components().count())
            .peekable();
        let mut place = Self {
            dir,
            path: begin,
            found: None,
            link: None,
        };
        while let Some(part) = parts.next() {
            place.path.push(part);
            let dir = &place.dir;
            let stat = match reach(dir, || sys::stat_in(dir, part)) {
                Err(Errno::NOENT) => return Ok(place),
                stat => stat?,
            };
            let kind = sys::file_type(&stat);
            if kind == FileType::Symlink {
                let link = rustix::fs::readlinkat(dir, part.as_os_str(), Vec::new())?;
                place.link = Some(OsString::from_vec(link.into_bytes()).into());
            }
            if kind != FileType::Directory || parts.peek().is_none() {
                place.found = Some(stat);
                return Ok(place);
            }
            place.dir = Arc::new(reach(dir, || sys::open_beneath(dir, part, sys::STAND))?);
            trail.last = Some((place.path.clone(), place.dir.clone()));
        }
        Ok(place)
    }

    /// The last part of its path.
    pub(super) fn name(&self) -> rustix::io::Result<&OsStr> {
        self.path.file_name().ok_or(Errno::INVAL)
    }

    /// Renames what is there; its new place.
    pub(super) fn move_aside(&self) -> rustix::io::Result<PathBuf> {
        let mut new = self.path.clone().into_os_string();
        new.push(format!(".{ASIDE}-{}", random_hex()?));
        let new = PathBuf::from(new);
        let (dir, name, to) = (&self.dir, self.name()?, new.file_name());
        let to = to.ok_or(Errno::INVAL)?;
        reach(dir, || rustix::fs::renameat(dir, name, dir, to))?;
        Ok(new)
    }

    /// Continues to a path below a missing folder, and makes the folders.
    pub(super) fn make(mut self, path: &Path) -> rustix::io::Result<Self> {
        while self.path != path {
            let name = self.name()?.to_owned();
            let dir = &self.dir;
            match reach(dir, || rustix::fs::mkdirat(dir, &name, Mode::from(0o755))) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            self.dir = Arc::new(reach(dir, || sys::open_beneath(dir, &name, sys::STAND))?);
            let next = path.components().nth(self.path.components().count());
            self.path.push(next.ok_or(Errno::INVAL)?);
        }
        Ok(self)
    }
}

/// Gives a file or folder the name that it is to have, unless something has it.
pub(super) fn name_new(dir: &OwnedFd, from: &str, name: &OsStr) -> rustix::io::Result<()> {
    use std::os::fd::AsFd;
    match reach(dir, || rename_new(dir.as_fd(), from, name)) {
        // The file system does not know how to: what has the name is looked for first.
        Err(Errno::OPNOTSUPP) if sys::stat_in(dir, name).err() == Some(Errno::NOENT) => {
            rustix::fs::renameat(dir, from, dir, name)
        }
        done => done,
    }
}

/// Does what needs the rights of a folder, which a command may have taken from it.
pub(super) fn reach<T>(
    dir: &OwnedFd,
    act: impl Fn() -> rustix::io::Result<T>,
) -> rustix::io::Result<T> {
    match act() {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode) | Mode::RWXU;
            rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), mode)?;
            act()
        }
        done => done,
    }
}
