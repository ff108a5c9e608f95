//! A text file as it was last seen: it is read again only after it has changed.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use samovar_sandbox::{Jail, JailError, Protected};

use crate::folder::whole_text;

/// A file, and what was last read in it. While it cannot be used, that still counts.
#[derive(Debug)]
pub(super) struct Watched<T> {
    /// The state that was read last; `None` also after a read that may go well the next time.
    stamp: Option<Stamp>,
    is_there: bool,
    content: Option<Arc<T>>,
    fault: Option<Fault>,
    /// How often it was read.
    pub(super) reads: u64,
}

/// What a file says.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) text: String,
    /// How many bytes at its end are left out.
    pub(super) left_out: u64,
}

/// Why the present text of a file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// What the system said, or the jail.
    Unreadable(String),
    /// It is not UTF-8.
    NotText,
    /// It means nothing, in one sentence.
    Meaningless(String),
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    identity: (u64, u64),
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(about: &Metadata) -> Self {
        Self {
            identity: (about.dev(), about.ino()),
            length: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
            changed: (about.ctime(), about.ctime_nsec()),
        }
    }

    /// That of a path now, a link's own; `None` if nothing is there.
    ///
    /// # Errors
    /// The system does not say.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        Self::if_there(fs::symlink_metadata(path))
    }

    /// The same of what a link leads to.
    ///
    /// # Errors
    /// The system does not say.
    pub(super) fn behind(path: &Path) -> io::Result<Option<Self>> {
        Self::if_there(fs::metadata(path))
    }

    fn if_there(about: io::Result<Metadata>) -> io::Result<Option<Self>> {
        match about {
            Ok(about) => Ok(Some(Self::of(&about))),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl<T> Default for Watched<T> {
    fn default() -> Self {
        Self {
            stamp: None,
            is_there: false,
            content: None,
            fault: None,
            reads: 0,
        }
    }
}

impl<T> Watched<T> {
    /// Looks at the file `name` in a folder. If it has changed, reads at most `max` bytes of it and
    /// makes sense of them. A link is not followed. Returns whether something new is wrong with it.
    pub(super) fn look(
        &mut self,
        folder: &Path,
        name: &str,
        max: usize,
        parse: impl FnOnce(Content) -> Result<T, String>,
    ) -> bool {
        let stamp = match Stamp::at(&folder.join(name)) {
            Ok(Some(stamp)) => stamp,
            Ok(None) => {
                let reads = self.reads;
                *self = Self {
                    reads,
                    ..Self::default()
                };
                return false;
            }
            Err(error) => {
                (self.stamp, self.is_there) = (None, true);
                return self.is_faulty(Fault::Unreadable(error.to_string()));
            }
        };
        self.is_there = true;
        if self.stamp.as_ref() == Some(&stamp) {
            return false;
        }
        self.reads += 1;
        let read = read_bytes(folder, name, max);
        let is_settled = read
            .as_ref()
            .map_or_else(|error| lasts(error, name), |_| true);
        self.stamp = is_settled.then_some(stamp);
        let unreadable = |error: JailError| Fault::Unreadable(error.to_string());
        let text = read.map_err(unreadable).and_then(as_text);
        match text.and_then(|content| parse(content).map_err(Fault::Meaningless)) {
            Ok(content) => {
                (self.content, self.fault) = (Some(Arc::new(content)), None);
                false
            }
            Err(fault) => self.is_faulty(fault),
        }
    }

    fn is_faulty(&mut self, fault: Fault) -> bool {
        let is_new = self.fault.as_ref() != Some(&fault);
        self.fault = Some(fault);
        is_new
    }

    /// What it says, or said last.
    pub(super) fn content(&self) -> Option<&Arc<T>> {
        self.content.as_ref()
    }

    /// Why its present text cannot be used.
    pub(super) fn fault(&self) -> Option<&Fault> {
        self.fault.as_ref()
    }

    /// Whether there is something of this name.
    pub(super) fn is_there(&self) -> bool {
        self.is_there
    }
}

/// Whether a file cannot be read before it has changed itself. Else the next look tries again.
fn lasts(error: &JailError, name: &str) -> bool {
    matches!(
        error,
        JailError::NotRegular { .. } | JailError::IsADirectory { .. }
    ) || matches!(error, JailError::Symlink { path } if path == name)
}

/// Reads the beginning of a file in a folder, in which no link is followed.
///
/// # Errors
/// Why it cannot be used.
pub(super) fn read(folder: &Path, name: &str, max: usize) -> Result<Content, Fault> {
    let bytes = read_bytes(folder, name, max);
    as_text(bytes.map_err(|error| Fault::Unreadable(error.to_string()))?)
}

/// The beginning of a file, and how many more bytes it has.
fn read_bytes(folder: &Path, name: &str, max: usize) -> Result<(Vec<u8>, u64), JailError> {
    let jail = Jail::open(folder, &Protected::default())?;
    let file = jail.open_file(&jail.place(name)?)?;
    let bytes = file.read_at(0, max)?;
    let left_out = file.len().saturating_sub(bytes.len() as u64);
    Ok((bytes, left_out))
}

fn as_text((bytes, left_out): (Vec<u8>, u64)) -> Result<Content, Fault> {
    let text = whole_text(bytes, left_out > 0).ok_or(Fault::NotText)?;
    Ok(Content { text, left_out })
}
