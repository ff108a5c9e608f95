//! What the jail refuses, in sentences a model can act on.

use std::io;
use std::path::Path;

use rustix::io::Errno;
use samovar_locale as locale;

use crate::path;

/// Why the jail refused.
///
/// Paths are as the jail understood them, relative to its root; non-UTF-8 bytes are replaced.
#[derive(Debug, thiserror::Error)]
pub enum JailError {
    /// Nothing is there, or it is hidden.
    #[error("{path:?} does not exist; the nearest folder that does is {nearest:?}")]
    NotFound {
        /// The first part of the path that is missing.
        path: String,
        /// The nearest folder above it that is there.
        nearest: String,
    },
    /// The path leaves the jail.
    #[error("{path:?} is outside the workspace; give a path inside it, relative to its root")]
    Outside {
        /// The path as it was given.
        path: String,
    },
    /// A part of the path is a symbolic link.
    #[error("{path:?} is a symbolic link, and links are not followed; give the path it stands for")]
    Symlink {
        /// The path up to the link.
        path: String,
    },
    /// A pipe, a socket, a device, or a file that the kernel makes up.
    #[error("{path:?} is {kind}; only regular files can be opened")]
    NotRegular {
        /// The path that was asked for.
        path: String,
        /// What is there, with its article.
        kind: &'static str,
    },
    /// A file was needed and a directory is there.
    #[error("{path:?} is a directory; give the path of a file in it")]
    IsADirectory {
        /// The path that was asked for.
        path: String,
    },
    /// A directory was needed and something else is there.
    #[error("{path:?} is not a directory; give a folder, or read it as a file")]
    NotADirectory {
        /// The path up to what is not a directory.
        path: String,
    },
    /// The place can be read at most; no tool writes there.
    #[error("{path:?} is protected and no tool can change it; write somewhere else")]
    Protected {
        /// The protected path.
        path: String,
    },
    /// Another program saved or removed the file after it was looked at; nothing was written.
    #[error(
        "{path:?} was changed by another program at this very moment, and nothing was written; read it, then call again"
    )]
    Changed {
        /// The path that was asked for.
        path: String,
    },
    /// The same, and what was saved last stands beside the file.
    #[error(
        "{path:?} was saved twice by another program at this very moment, and nothing was written; what was saved last is in {kept:?}: tell the person, and read both"
    )]
    KeptBeside {
        /// The path that was asked for.
        path: String,
        /// The file beside it.
        kept: String,
    },
    /// The file has more names than the one given, and a write would part them.
    #[error("{path:?} has {links} hard links; write to a new file instead")]
    HardLinked {
        /// The path that was asked for.
        path: String,
        /// How many names the file has.
        links: u64,
    },
    /// More bytes than the caller allows.
    #[error("{path:?} has {size} bytes and the limit is {cap}; work on a part of it")]
    TooLarge {
        /// The path that was asked for.
        path: String,
        /// Bytes there are, at least.
        size: u64,
        /// Bytes allowed.
        cap: u64,
    },
    /// The name was shown with replacement characters, so it cannot be given as text.
    #[error("{path:?} has a name that is not UTF-8 and cannot be given as text; rename it first")]
    NotUtf8 {
        /// The path with the replacement characters.
        path: String,
    },
    /// The path, or one name in it, is longer than the system takes.
    #[error("the path {path:?} is too long: at most {max} bytes; shorten it")]
    NameTooLong {
        /// The beginning of what is too long.
        path: String,
        /// Bytes allowed for it.
        max: usize,
    },
    /// The path has a NUL byte, which no file name has.
    #[error("the path {path:?} has a NUL byte; leave it out")]
    Nul {
        /// The path as it was given.
        path: String,
    },
    /// The file system refused.
    #[error("the file system refused {path:?}: {source}; try another path or tell the person")]
    Io {
        /// The path that was asked for.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server had no free file descriptor for all of [`samovar_descriptors::PATIENCE`].
    #[error(
        "the server has no free file descriptor to open {path:?} with, which says nothing about \
         {path:?} itself; make the same call again later, or tell the person"
    )]
    NoDescriptor {
        /// The path that was asked for.
        path: String,
    },
    /// The kernel cannot keep a path beneath a folder, so there is no jail.
    #[error("{}", locale::workspace::no_openat2(locale::quoted(.path), .source))]
    Unsupported {
        /// The folder that should have become the root.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The folder lies in a directory that nobody may see, so nothing of it could be shown.
    #[error("{}", locale::workspace::hidden(locale::quoted(.path)))]
    InsideHidden {
        /// The folder that should have become the root.
        path: String,
    },
}

impl JailError {
    /// What an error number means for `path`, which is relative to the root.
    pub(crate) fn from_errno(errno: Errno, path: &Path) -> JailError {
        match errno {
            Errno::NOENT => JailError::not_found(path),
            Errno::LOOP => JailError::Symlink {
                path: path::shown(path),
            },
            Errno::NOTDIR => JailError::NotADirectory {
                path: path::shown(path),
            },
            Errno::ISDIR => JailError::IsADirectory {
                path: path::shown(path),
            },
            Errno::ILSEQ => JailError::NotUtf8 {
                path: path::shown(path),
            },
            Errno::XDEV => JailError::Outside {
                path: path::shown(path),
            },
            Errno::NAMETOOLONG => JailError::NameTooLong {
                path: path::shown(path),
                max: path::MAX_NAME_BYTES,
            },
            other => JailError::io(path, other),
        }
    }

    /// Nothing at `path`, whose parent is there.
    pub(crate) fn not_found(path: &Path) -> JailError {
        if path::was_lossy(path.as_os_str()) {
            return JailError::NotUtf8 {
                path: path::shown(path),
            };
        }
        let nearest = path.parent().unwrap_or(Path::new(""));
        JailError::NotFound {
            path: path::shown(path),
            nearest: path::shown(nearest),
        }
    }

    /// A failure with no meaning of its own here.
    pub(crate) fn io(path: &Path, source: impl Into<io::Error>) -> JailError {
        let (path, source) = (path::shown(path), source.into());
        if samovar_descriptors::stems_from_exhaustion(&source) {
            return JailError::NoDescriptor { path };
        }
        JailError::Io { path, source }
    }
}
