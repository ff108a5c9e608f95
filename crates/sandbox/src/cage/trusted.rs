//! Names that the server trusts and on which nothing can be mounted, because a workspace lacks them or
//! has links there: what a command makes of them is not trusted (TL-18).
//!
//! Everything is done beneath the workspace, held open, so that no link of a command leads out of it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::sys;
use crate::temp::random_hex;

/// What such a file is called then, before something that no command guesses.
const ASIDE: &str = "from-exec";
/// How often a name is looked at that another command changes meanwhile.
const ATTEMPTS: usize = 8;

/// What commands had made of names that the server trusts, relative to the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PutAside {
    /// Where it is now.
    pub moved: Vec<PathBuf>,
    /// What could not be moved, and is still trusted by its name.
    pub stays: Vec<PathBuf>,
}

/// A name on which nothing can be mounted, relative to the workspace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unmounted {
    path: PathBuf,
    /// Where it leads; `None` if it is missing.
    link: Option<PathBuf>,
}

/// The names that were missing when commands began, and a note of them on disk, so that a start after
/// a kill knows.
#[derive(Debug)]
pub(super) struct Missing {
    workspace: PathBuf,
    root: OwnedFd,
    note: Option<PathBuf>,
    shared: Mutex<Shared>,
}

/// What the commands that run at once have in common: a name that was missing for the first is not
/// trusted before the last has ended.
#[derive(Debug, Default)]
struct Shared {
    running: usize,
    names: Vec<Unmounted>,
}

impl Missing {
    pub(super) fn new(workspace: &Path, note: Option<PathBuf>) -> io::Result<Self> {
        Ok(Self {
            workspace: workspace.to_owned(),
            root: open(workspace)?,
            note,
            shared: Mutex::default(),
        })
    }

    /// Adds the names among `kept` that are missing or links. Called before each command.
    pub(super) fn begin(&self, kept: &[PathBuf]) -> io::Result<()> {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        for path in kept {
            let path = path.strip_prefix(&self.workspace).unwrap_or(path);
            let found = Unmounted::of(&self.root, path);
            let is_known = |found: &Unmounted| shared.names.iter().any(|it| it.path == found.path);
            if let Some(found) = found.filter(|found| !is_known(found)) {
                shared.names.push(found);
            }
        }
        if let Some(note) = &self.note {
            // A kill leaves the note of before or this one.
            let unfinished = note.with_extension("new");
            fs::write(
                &unfinished,
                serde_json::to_vec(&(&self.workspace, &shared.names))?,
            )?;
            fs::rename(unfinished, note)?;
        }
        shared.running += 1;
        Ok(())
    }

    /// Puts aside what commands made of the names. Called after each command.
    pub(super) fn end(&self) -> PutAside {
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let aside = put_aside(&self.root, &shared.names);
        shared.running = shared.running.saturating_sub(1);
        if shared.running == 0 && aside.stays.is_empty() {
            shared.names.clear();
            if let Some(note) = &self.note {
                // A note that stays is read at the next start, which finds nothing to put aside.
                let _stays = fs::remove_file(note);
            }
        }
        aside
    }
}

/// Puts aside what commands made that ran when a server was killed. Called before anything trusts such
/// a name, when no cage lives any more.
///
/// # Errors
/// The note cannot be read, or something cannot be moved.
pub fn put_aside_after_kill(note: &Path) -> io::Result<()> {
    let text = match fs::read(note) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    let noted: Option<(PathBuf, Vec<Unmounted>)> = serde_json::from_slice(&text).ok();
    if let Some((workspace, names)) = noted
        && let Ok(root) = open(&workspace)
    {
        let aside = put_aside(&root, &names);
        if let Some(path) = aside.stays.first() {
            let path = workspace.join(path);
            let why = format!("move {} away, which a command made", path.display());
            return Err(io::Error::other(why));
        }
    }
    fs::remove_file(note)
}

fn open(workspace: &Path) -> io::Result<OwnedFd> {
    let flags = sys::STAND | rustix::fs::OFlags::CLOEXEC;
    Ok(rustix::fs::open(workspace, flags, Mode::empty())?)
}

fn put_aside(root: &OwnedFd, names: &[Unmounted]) -> PutAside {
    let mut all = PutAside::default();
    for name in names {
        let mut tries = (0..ATTEMPTS).map(|_| name.put_aside(root));
        match tries.find(Result::is_ok) {
            Some(Ok(Some(aside))) => {
                tracing::warn!(path = ?name.path, ?aside, "a command made what is trusted by its name; it was renamed");
                all.moved.push(aside);
            }
            Some(Ok(None) | Err(_)) => {}
            None => {
                tracing::error!(path = ?name.path, "a command made what is trusted by its name, and it cannot be renamed");
                all.stays.push(name.path.clone());
            }
        }
    }
    all
}

/// What is at a path: its first part that is no folder, its last, or the first that is missing.
struct Place {
    dir: OwnedFd,
    path: PathBuf,
    is_there: bool,
    /// Where it leads.
    link: Option<PathBuf>,
}

impl Place {
    fn of(root: &OwnedFd, path: &Path) -> rustix::io::Result<Self> {
        let mut place = Self {
            dir: sys::open_beneath(root, ".", sys::STAND)?,
            path: PathBuf::new(),
            is_there: false,
            link: None,
        };
        let mut parts = path.components().peekable();
        while let Some(part) = parts.next() {
            place.path.push(part);
            let dir = &place.dir;
            let kind = match reach(dir, || sys::stat_in(dir, part)) {
                Err(Errno::NOENT) => return Ok(place),
                stat => sys::file_type(&stat?),
            };
            if kind == FileType::Symlink {
                let link = rustix::fs::readlinkat(dir, part.as_os_str(), Vec::new())?;
                place.link = Some(OsString::from_vec(link.into_bytes()).into());
            }
            if kind != FileType::Directory || parts.peek().is_none() {
                place.is_there = true;
                return Ok(place);
            }
            place.dir = reach(dir, || sys::open_beneath(dir, part, sys::STAND))?;
        }
        Ok(place)
    }

    /// Renames what is there; its new place. A file that cannot be renamed is removed.
    fn move_aside(&self) -> rustix::io::Result<Option<PathBuf>> {
        let mut new = self.path.clone().into_os_string();
        new.push(format!(".{ASIDE}-{}", random_hex()?));
        let new = PathBuf::from(new);
        let (dir, name, to) = (&self.dir, self.path.file_name(), new.file_name());
        let (Some(name), Some(to)) = (name, to) else {
            return Err(Errno::INVAL);
        };
        match reach(dir, || rustix::fs::renameat(dir, name, dir, to)) {
            Ok(()) => Ok(Some(new)),
            Err(error) => {
                let removed = rustix::fs::unlinkat(dir, name, AtFlags::empty());
                removed.map(|()| None).map_err(|_| error)
            }
        }
    }
}

/// Does what needs the rights of a folder, which a command may have taken from it.
fn reach<T>(dir: &OwnedFd, act: impl Fn() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    match act() {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(rustix::fs::fstat(dir)?.st_mode) | Mode::RWXU;
            rustix::fs::chmod(format!("/proc/self/fd/{}", dir.as_raw_fd()), mode)?;
            act()
        }
        done => done,
    }
}

impl Unmounted {
    /// `None` for what can be mounted on.
    fn of(root: &OwnedFd, path: &Path) -> Option<Self> {
        let place = Place::of(root, path).ok()?;
        match (place.is_there, place.link) {
            (false, _) => Some(Self {
                path: path.to_owned(),
                link: None,
            }),
            (true, Some(link)) => Some(Self {
                path: place.path,
                link: Some(link),
            }),
            (true, None) => None,
        }
    }

    /// Gives the name back what it was; the place of what was there, if that was something else.
    fn put_aside(&self, root: &OwnedFd) -> rustix::io::Result<Option<PathBuf>> {
        let place = Place::of(root, &self.path)?;
        let is_itself = place.path == self.path;
        if is_itself && place.is_there && place.link.is_some() && place.link == self.link {
            return Ok(None);
        }
        let aside = if place.is_there {
            place.move_aside()?
        } else {
            None
        };
        if let (Some(target), true, Some(name)) = (&self.link, is_itself, self.path.file_name()) {
            // A name that cannot be given back is missing, and trusted by no one.
            let _missing = rustix::fs::symlinkat(target, &place.dir, name);
        }
        Ok(aside)
    }
}
