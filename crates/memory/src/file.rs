//! A file with memories: read again when it has changed, and changed only as it was last read.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use samovar_locale::memory as locale;
use samovar_sandbox::SmallFiles;

/// Bytes of a file that are read, at most. A longer one is not written.
pub(crate) const MAX_FILE_BYTES: u64 = 1 << 20;
/// The byte order mark with which some editors begin a file.
const MARK: &str = "\u{feff}";
/// How often the lock of a folder is tried, and how long between.
const LOCK_TRIES: u32 = 100;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
/// How often a change is tried again because the file was saved meanwhile.
const ATTEMPTS: usize = 5;

/// What tells one state of a file from another: its last change, and its length.
type Stamp = Option<(i64, u64)>;

/// A file as it was last seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// `None` before it was looked at.
    stamp: Option<Stamp>,
    /// Its text; empty for a missing file and one that cannot be used.
    pub(crate) text: Arc<str>,
    /// Whether a byte order mark stands before it.
    has_mark: bool,
    /// Why it cannot be changed, in one sentence.
    pub(crate) problem: Option<String>,
    /// Whether it has more than `text`, that cannot be read.
    pub(crate) is_cut: bool,
}

/// Where a file is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    name: String,
}

impl Place {
    pub(crate) fn new(folder: &Path, name: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            name: name.to_owned(),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.name)
    }

    /// Makes its folder, for its owner alone, if that is missing.
    pub(crate) fn make_folder(&self) -> Result<(), String> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder);
        made.map_err(|error| format!("{}: {error}", self.folder.display()))
    }

    /// Locks its folder, until the file is dropped. A program that holds it for longer than two seconds
    /// is not waited for.
    fn lock(&self) -> io::Result<File> {
        let folder = File::open(&self.folder)?;
        for _ in 0..LOCK_TRIES {
            match folder.try_lock() {
                Ok(()) => return Ok(folder),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other(locale::folder_held()))
    }

    fn said(&self, error: &io::Error) -> String {
        format!("{}: {error}", self.path().display())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let looked = SmallFiles::of(&self.folder).and_then(|files| {
            let length = files.length(&self.name)?;
            let changed = length.map(|_| files.changed(&self.name)).transpose()?;
            Ok(changed.zip(length))
        });
        match looked {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            looked => looked,
        }
    }

    /// Looks at the file; true if it has changed.
    pub(crate) fn look(&self, seen: &mut Seen) -> bool {
        let stamp = self.stamp();
        if let Ok(stamp) = &stamp
            && seen.stamp == Some(*stamp)
        {
            return false;
        }
        let read = match &stamp {
            Ok(None) => Ok((Vec::new(), None)),
            Ok(Some(_)) => self.read(),
            Err(error) => Err(error.to_string()),
        };
        let read = read.and_then(|(bytes, why)| {
            let text = String::from_utf8(bytes).map_err(|_| locale::not_text().to_owned())?;
            Ok((text, why))
        });
        let is_cut = !matches!(&read, Ok((_, None)));
        let (text, why) = read.unwrap_or_else(|why| (String::new(), Some(why)));
        let read_only = why.is_none() && self.is_read_only();
        let why = why.or_else(|| read_only.then(|| locale::read_only().to_owned()));
        let path = self.path();
        let problem = why.map(|why| {
            if is_cut && text.is_empty() {
                locale::unreadable(path.display(), &why)
            } else {
                locale::unchangeable(path.display(), &why)
            }
        });
        if problem != seen.problem
            && let Some(why) = &problem
        {
            tracing::warn!(%why, "a file with memories cannot be used as it is");
        }
        let (has_mark, text) = match text.strip_prefix(MARK) {
            Some(text) => (true, text),
            None => (false, &*text),
        };
        let is_other = *text != *seen.text;
        *seen = Seen {
            stamp: stamp.ok(),
            text: text.into(),
            has_mark,
            problem,
            is_cut,
        };
        is_other
    }

    fn is_read_only(&self) -> bool {
        let looked = SmallFiles::of(&self.folder).and_then(|files| files.is_read_only(&self.name));
        looked.unwrap_or_default()
    }

    /// The beginning of it, and why that is not all.
    fn read(&self) -> Result<(Vec<u8>, Option<String>), String> {
        let read = SmallFiles::of(&self.folder)
            .and_then(|files| files.read_bytes(&self.name, MAX_FILE_BYTES + 1));
        let mut bytes = read.map_err(|error| error.to_string())?.unwrap_or_default();
        if bytes.len() as u64 <= MAX_FILE_BYTES {
            return Ok((bytes, None));
        }
        // Whole lines of it.
        let end = bytes.iter().rposition(|byte| *byte == b'\n');
        bytes.truncate(end.map_or(0, |end| end + 1));
        Ok((bytes, Some(locale::file_too_long(MAX_FILE_BYTES))))
    }

    /// Gives the file the text that `change` makes of the present one, durably; nothing is written if
    /// that is the same. What others save meanwhile is changed, not lost.
    ///
    /// # Errors
    /// Why it cannot be changed, in one sentence.
    pub(crate) fn change(
        &self,
        seen: &mut Seen,
        change: impl Fn(&str) -> String,
    ) -> Result<(), String> {
        // Other servers that write there wait; an editor does not.
        let _lock = self.lock().map_err(|error| self.said(&error))?;
        for _ in 0..ATTEMPTS {
            self.look(seen);
            if let Some(why) = &seen.problem {
                return Err(why.clone());
            }
            let text = change(&seen.text);
            if text == *seen.text {
                return Ok(());
            }
            if text.len() as u64 > MAX_FILE_BYTES {
                return Err(locale::file_full(self.path().display(), MAX_FILE_BYTES));
            }
            let mark = if seen.has_mark { MARK } else { "" };
            let bytes = [mark.as_bytes(), text.as_bytes()].concat();
            let written = SmallFiles::of(&self.folder).and_then(|files| {
                files.replace_if(&self.name, &bytes, || Ok(Some(self.stamp()?) == seen.stamp))
            });
            match written {
                Ok(false) => {}
                Ok(true) => {
                    self.look(seen);
                    return Ok(());
                }
                Err(error) => return Err(self.said(&error)),
            }
        }
        Err(locale::file_busy(self.path().display()))
    }
}
