//! One folder, held open, and nothing beyond it.

mod guard;
mod held;
mod list;
mod read;
mod remove;
mod replace;
mod restore;
mod walk;
mod write;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{self, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use samovar_descriptors::retry;

use crate::error::JailError;
use crate::path::{self, JailPath};
use crate::sys::{self, Id};

use guard::Guard;
pub use guard::Protected;
pub use held::{Entries, Facts, HeldFolder};
pub use list::{Entry, Kind, Listing};
pub use read::OpenFile;
pub use walk::{Visit, WalkLimits, WalkOmissions};
pub use write::WriteResult;
use write::make;

/// A folder in which tools read and write, and which no path leads out of, unless the operator opens
/// the rest of the system beside it.
///
/// Every path is walked name by name from one held directory, each step by `openat2` without
/// symbolic links, and the last name is used relative to the folder that was reached: nothing is
/// resolved first and opened later.
#[derive(Debug)]
pub struct Jail {
    root: OwnedFd,
    /// The root of the whole system, where the jail is open to it.
    system: Option<OwnedFd>,
    /// How the root may be written in an absolute path: as the system spells it, as it was given.
    spellings: [PathBuf; 2],
    guard: Guard,
}

impl Jail {
    /// Opens the folder `root`, which the operator chose; links in this one path are followed.
    ///
    /// # Errors
    /// [`JailError::Unsupported`] without `openat2`, [`JailError::InsideHidden`] when the folder
    /// lies in a hidden one, [`JailError::NotADirectory`], [`JailError::Io`], and what a bad path
    /// in `protected` is refused with.
    pub fn open(root: &Path, protected: &Protected) -> Result<Jail, JailError> {
        Jail::open_in(root, None, protected)
    }

    /// Opens the folder `root`, in which relative paths begin, and beside it all that this user of
    /// the system can reach. What is protected stays so; links are still not followed.
    ///
    /// # Errors
    /// As [`Jail::open`].
    pub fn open_to_system(root: &Path, protected: &Protected) -> Result<Jail, JailError> {
        let system = retry(|| fs::open("/", sys::STAND | OFlags::CLOEXEC, Mode::empty()));
        let system = system.map_err(|errno| JailError::from_errno(errno, Path::new("/")))?;
        Jail::open_in(root, Some(system), protected)
    }

    fn open_in(
        root: &Path,
        system: Option<OwnedFd>,
        protected: &Protected,
    ) -> Result<Jail, JailError> {
        let failed = |source| JailError::io(root, source);
        let canonical = root.canonicalize().map_err(failed)?;
        let given = std::path::absolute(root).map_err(failed)?;
        let held = retry(|| fs::open(&canonical, sys::STAND | OFlags::CLOEXEC, Mode::empty()))
            .map_err(|errno| JailError::from_errno(errno, root))?;
        retry(|| sys::open_beneath(&held, ".", sys::STAND)).map_err(|errno| match errno {
            errno if sys::lacks_openat2(errno) => JailError::Unsupported {
                path: path::shown(root),
                source: errno.into(),
            },
            errno => JailError::from_errno(errno, root),
        })?;
        let spellings = [canonical, given];
        let guard = Guard::open(protected, &held, &spellings)?;
        if guard
            .encloses(&held)
            .map_err(|errno| JailError::io(root, errno))?
        {
            return Err(JailError::InsideHidden {
                path: path::shown(root),
            });
        }
        Ok(Jail {
            root: held,
            system,
            spellings,
            guard,
        })
    }

    /// The root as the system spells it, to be shown; nothing is ever opened by it again.
    pub fn root_path(&self) -> &Path {
        &self.spellings[0]
    }

    /// The path that `raw`, as a model wrote it, names.
    ///
    /// Absolute paths count from the root when they begin with its own path.
    /// `..` is resolved by the text alone, which is exact where no link is followed.
    ///
    /// # Errors
    /// [`JailError::Outside`], [`JailError::NameTooLong`] above 4,096 bytes or 255 for one name,
    /// [`JailError::Nul`].
    pub fn place(&self, raw: &str) -> Result<JailPath, JailError> {
        let written = Path::new(raw);
        let beneath = JailPath::parse(raw, from_root(&self.spellings, written).unwrap_or(written));
        match beneath {
            Err(JailError::Outside { .. }) if self.system.is_some() => {
                let anywhere = JailPath::of_system(raw, &self.spellings[0].join(written))?;
                // It may have come back in on the way.
                match from_root(&self.spellings, anywhere.as_path()) {
                    Some(relative) => JailPath::parse(raw, relative),
                    None => Ok(anywhere),
                }
            }
            beneath => beneath,
        }
    }

    /// Walks to `folder`, for a reader.
    fn descend(&self, folder: &Path) -> Result<OwnedFd, JailError> {
        let (mut dir, mut reached, names) = self.start(folder)?;
        for name in names {
            reached.push(name);
            let (next, id) = step(&dir, name).map_err(|e| JailError::from_errno(e, &reached))?;
            if self.guard.hides(id) {
                return Err(JailError::not_found(&reached));
            }
            dir = next;
        }
        Ok(dir)
    }

    /// Where the walk to `folder` starts: there, its path, and the names that follow.
    fn start<'p>(&self, folder: &'p Path) -> Result<(OwnedFd, PathBuf, &'p Path), JailError> {
        let (top, reached, names) = match (folder.strip_prefix("/"), &self.system) {
            (Ok(names), Some(system)) => (system, PathBuf::from("/"), names),
            (Ok(_), None) => {
                let path = path::shown(folder);
                return Err(JailError::Outside { path });
            }
            (Err(_), _) => (&self.root, PathBuf::new(), folder),
        };
        let dir = retry(|| rustix::io::fcntl_dupfd_cloexec(top, 0));
        let dir = dir.map_err(|errno| JailError::io(&reached, errno))?;
        Ok((dir, reached, names))
    }
}

/// The path from the root, of one that is spelled with it.
fn from_root<'p>(spellings: &[PathBuf; 2], written: &'p Path) -> Option<&'p Path> {
    let mut stripped = spellings.iter().map(|root| written.strip_prefix(root));
    stripped.find_map(Result::ok)
}

/// Opens the directory `name` in `dir` to stand in.
fn step(dir: &OwnedFd, name: impl AsRef<Path>) -> Result<(OwnedFd, Id), Errno> {
    let name = name.as_ref();
    let next = retry(|| sys::open_beneath(dir, name, sys::STAND))?;
    let id = Id::of(&fs::fstat(&next)?);
    Ok((next, id))
}

/// Refuses everything but a regular file at `place`.
fn require_regular(stat: &Stat, place: &JailPath) -> Result<(), JailError> {
    let path = place.to_string();
    let kind = match sys::file_type(stat) {
        FileType::RegularFile if place.names_folder() => {
            return Err(JailError::NotADirectory { path });
        }
        FileType::RegularFile => return Ok(()),
        FileType::Directory => return Err(JailError::IsADirectory { path }),
        FileType::Symlink => return Err(JailError::Symlink { path }),
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        FileType::Unknown => "of a kind unknown here",
    };
    Err(JailError::NotRegular { path, kind })
}

/// Refuses a file whose content the kernel makes up.
fn require_stored(file: BorrowedFd<'_>, place: &JailPath) -> Result<(), JailError> {
    match sys::is_kernel_door(file.as_fd()) {
        Ok(false) => Ok(()),
        Ok(true) => Err(JailError::NotRegular {
            path: place.to_string(),
            kind: "a part of the kernel",
        }),
        Err(errno) => Err(JailError::io(place.as_path(), errno)),
    }
}
