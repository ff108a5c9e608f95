//! A text file as it was last seen: it is read again only after it has changed.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use samovar_locale::guide as text;
use samovar_sandbox::{Jail, JailError, Protected};

use crate::folder::whole_text;

/// A file, and what was last read in it. While it cannot be used, that still counts.
#[derive(Debug)]
pub(super) struct Watched<T> {
    stamp: Option<Stamp>,
    content: Option<Arc<T>>,
    problem: Option<String>,
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
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
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
            content: None,
            problem: None,
            reads: 0,
        }
    }
}

impl<T> Watched<T> {
    /// Looks at the file `name` in a folder. If it has changed, reads at most `max` bytes of it and
    /// makes sense of them. A link is not followed.
    pub(super) fn look(
        &mut self,
        folder: &Path,
        name: &str,
        max: usize,
        parse: impl FnOnce(Content) -> Result<T, String>,
    ) {
        let path = folder.join(name);
        let stamp = match Stamp::at(&path) {
            Ok(stamp) => stamp,
            Err(error) => return self.is_broken(&path, text::unreadable(path.display(), error)),
        };
        if stamp == self.stamp && stamp.is_some() {
            return;
        }
        let is_there = stamp.is_some();
        self.stamp = stamp;
        if !is_there {
            (self.content, self.problem) = (None, None);
            return;
        }
        self.reads += 1;
        match read(folder, name, max).and_then(parse) {
            Ok(content) => (self.content, self.problem) = (Some(Arc::new(content)), None),
            Err(why) => self.is_broken(&path, why),
        }
    }

    fn is_broken(&mut self, path: &Path, why: String) {
        if self.problem.as_ref() != Some(&why) {
            tracing::warn!(path = %path.display(), %why, "a file for agents cannot be used");
        }
        self.problem = Some(why);
    }

    /// What it says, or said last.
    pub(super) fn content(&self) -> Option<&Arc<T>> {
        self.content.as_ref()
    }

    /// Why its present text cannot be used.
    pub(super) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Whether there is a file of this name.
    pub(super) fn is_there(&self) -> bool {
        self.stamp.is_some()
    }
}

/// Reads the beginning of a file in a folder, in which no link is followed.
///
/// # Errors
/// Why it cannot be used, in one sentence.
pub(super) fn read(folder: &Path, name: &str, max: usize) -> Result<Content, String> {
    let shown = folder.join(name);
    let unreadable = |error: JailError| text::unreadable(shown.display(), error);
    let jail = Jail::open(folder, &Protected::default()).map_err(unreadable)?;
    let place = jail.place(name).map_err(unreadable)?;
    let file = jail.open_file(&place).map_err(unreadable)?;
    let bytes = file.read_at(0, max).map_err(unreadable)?;
    let left_out = file.len().saturating_sub(bytes.len() as u64);
    let text = whole_text(bytes, left_out > 0);
    let text = text.ok_or_else(|| text::not_text(shown.display()))?;
    Ok(Content { text, left_out })
}
