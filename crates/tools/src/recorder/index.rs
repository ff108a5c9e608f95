//! The files of a workspace as they were when they were last recorded.

use std::collections::HashMap;
use std::io;

use samovar_sandbox::{Facts, Kind, SmallFiles, Survival};
use serde::{Deserialize, Serialize};

use super::objects::{self, Hash};

/// The file.
const FILE: &str = "index";
/// Bytes of it, at most.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// The form of the file.
const VERSION: u32 = 1;
/// What a file system without finer moments rounds to, at most.
const COARSE: i64 = 2_000_000_000;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sort {
    File,
    Link,
    Folder,
    /// A file that is too large to be kept.
    Large,
}

/// One file, link or folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) sort: Sort,
    pub(crate) facts: Facts,
    /// The object with what it holds, or with where it leads.
    pub(crate) hash: Option<Hash>,
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) header: Header,
    pub(super) entries: HashMap<String, Entry>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) version: u32,
    /// The folder itself: another one has nothing in common with it.
    pub(super) root: (u64, u64),
    /// The moment before which nothing had been looked at.
    pub(super) at: i64,
    /// Bytes of all objects, about.
    pub(super) stored: u64,
    /// Folders that it does not cover.
    pub(super) gaps: Vec<String>,
}

impl Header {
    /// Whether nothing was recorded yet.
    pub(super) fn is_none(&self) -> bool {
        self.at == 0
    }
}

/// A line of the file.
type Line = (String, Sort, Facts, Option<String>);

impl Entry {
    /// Whether a look at the entry tells that it is as it was. One that changed in the moment of the
    /// last look may have changed after it, too.
    pub(super) fn is_still(&self, facts: &Facts, at: i64) -> bool {
        if self.sort == Sort::Folder {
            return facts.kind == Kind::Directory && facts.mode == self.facts.mode;
        }
        self.facts == *facts && latest(facts) < at
    }

    /// Whether both are the same for a reader.
    pub(super) fn is_alike(&self, other: &Self) -> bool {
        let (one, two) = (&self.facts, &other.facts);
        self.sort == other.sort
            && match self.sort {
                Sort::Folder => one.mode == two.mode,
                Sort::File => one.mode == two.mode && self.hash == other.hash,
                Sort::Link => self.hash == other.hash,
                Sort::Large => {
                    let identity =
                        |facts: &Facts| (facts.size, facts.modified, facts.inode, facts.mode);
                    identity(one) == identity(two)
                }
            }
    }
}

/// The moment after which nothing of a file was changed, as far as its facts tell.
pub(super) fn latest(facts: &Facts) -> i64 {
    let margin = if facts.changed % 1_000_000_000 == 0 {
        COARSE
    } else {
        0
    };
    facts.changed.saturating_add(margin)
}

impl Index {
    /// The one in a folder; `None` if there is none that can be read.
    pub(super) fn load(folder: &SmallFiles) -> io::Result<Option<Self>> {
        let Some(text) = folder.read_bytes(FILE, MAX_BYTES)? else {
            return Ok(None);
        };
        let mut lines = text.split(|byte| *byte == b'\n');
        let header: Option<Header> = lines.next().and_then(|it| serde_json::from_slice(it).ok());
        let Some(header) = header.filter(|header| header.version == VERSION) else {
            return Ok(None);
        };
        let mut entries = HashMap::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let Ok((path, sort, facts, hash)) = serde_json::from_slice::<Line>(line) else {
                return Ok(None);
            };
            let hash = hash.as_deref().and_then(objects::parse);
            entries.insert(path, Entry { sort, facts, hash });
        }
        Ok(Some(Self { header, entries }))
    }

    /// Writes it.
    pub(super) fn save(&mut self, folder: &SmallFiles) -> io::Result<()> {
        self.header.version = VERSION;
        let mut bytes = serde_json::to_vec(&self.header)?;
        bytes.push(b'\n');
        for (path, entry) in &self.entries {
            let hash = entry.hash.as_ref().map(objects::digits);
            serde_json::to_writer(&mut bytes, &(path, entry.sort, entry.facts, hash))?;
            bytes.push(b'\n');
        }
        folder.write(FILE, &bytes, Survival::Writer)
    }

    /// Removes the file.
    pub(super) fn remove(folder: &SmallFiles) -> io::Result<()> {
        folder.remove(FILE)
    }
}
