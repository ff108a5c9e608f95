//! The folder of definitions: its files as they are now.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use samovar_core::agent::{MAX_AGENT_NAME_BYTES, SubAgents, ToolKeys};
use samovar_core::{Agent, AgentName, Millis};
use samovar_locale::agent as text;

use crate::markdown;

/// The folder's name in a data directory: what a model can write must not define agents.
pub const FOLDER: &str = "agents";

/// Maximum length of a file, in bytes.
const MAX_FILE_BYTES: u64 = 256 * 1024;

/// Maximum number of files.
const MAX_FILES: usize = 200;

/// Maximum number of entries of the folder that are looked at.
const MAX_ENTRIES: usize = 4096;

/// The name of a file that has no letter or digit in its own.
const NAMELESS: &str = "nameless";

/// How long the files count as they were last seen, in milliseconds.
const FRESH_MS: i64 = 1000;

/// A definition that a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct FileDefinition {
    /// The definition; an empty one if the file is invalid.
    pub agent: Agent,
    /// Whether it is switched on.
    pub enabled: bool,
    /// Why the file is invalid; `None` if it is valid.
    pub invalid: Option<String>,
}

/// Reads all definitions of a folder, by name. A folder that does not exist has none.
pub fn read_folder(folder: &Path) -> Vec<FileDefinition> {
    let mut files = Files::new(folder.to_owned());
    files.look();
    files.definitions().cloned().collect()
}

/// The files of a folder as they were last seen.
pub(crate) struct Files {
    folder: PathBuf,
    looked_at: Option<Millis>,
    seen: BTreeMap<AgentName, (Stamp, FileDefinition)>,
}

/// What tells one state of a file from another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Files {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            looked_at: None,
            seen: BTreeMap::new(),
        }
    }

    /// Looks at the folder, unless that was done less than a second ago.
    pub(crate) fn refresh(&mut self, now: Millis) {
        let is_fresh = self
            .looked_at
            .is_some_and(|at| (at.0..at.0.saturating_add(FRESH_MS)).contains(&now.0));
        if !is_fresh {
            self.looked_at = Some(now);
            self.look();
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<&FileDefinition> {
        let name = AgentName::new(name).ok()?;
        self.seen.get(&name).map(|(_, found)| found)
    }

    pub(crate) fn definitions(&self) -> impl Iterator<Item = &FileDefinition> {
        self.seen.values().map(|(_, found)| found)
    }

    /// Reads the files that are new or changed.
    fn look(&mut self) {
        let mut before = std::mem::take(&mut self.seen);
        for path in paths(&self.folder) {
            // Its state before it is read: a change in between is seen the next time.
            let (Some(name), Ok(stamp)) = (listed_name(&path), Stamp::of(&path)) else {
                continue;
            };
            if self.seen.contains_key(&name) {
                tracing::warn!(path = %path.display(), "another file defines an agent of this name");
                continue;
            }
            let found = match before.remove(&name) {
                Some((same, found)) if same == stamp => found,
                Some(_) | None => read(&path, name.clone()),
            };
            self.seen.insert(name, (stamp, found));
        }
    }
}

impl Stamp {
    fn of(path: &Path) -> std::io::Result<Self> {
        let meta = fs::metadata(path)?;
        Ok(Self {
            path: path.to_owned(),
            inode: meta.ino(),
            length: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        })
    }
}

/// The Markdown files of the folder, in the order of their names.
fn paths(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let entries = entries.take(MAX_ENTRIES).filter_map(Result::ok);
    let is_markdown = |path: &PathBuf| path.extension().is_some_and(|end| end == "md");
    let paths = entries.map(|entry| entry.path()).filter(is_markdown);
    let mut paths: Vec<_> = paths.collect();
    paths.sort();
    if paths.len() > MAX_FILES {
        tracing::warn!(
            folder = %folder.display(), files = paths.len(), most = MAX_FILES,
            "there are too many definitions of agents; the rest is not read"
        );
        paths.truncate(MAX_FILES);
    }
    paths
}

fn read(path: &Path, name: AgentName) -> FileDefinition {
    let read = content(path).and_then(|content| {
        let (draft, enabled) = markdown::parse(stem(path).as_str(), &content)?;
        // The file's own name, which need not be one that an agent can have.
        let name = AgentName::new(&stem(path)).map_err(|error| error.message.into_owned())?;
        Ok((draft.define(name)?, enabled))
    });
    match read {
        Ok((agent, enabled)) => FileDefinition {
            agent,
            enabled,
            invalid: None,
        },
        Err(why) => FileDefinition {
            agent: Agent {
                display_name: name.to_string(),
                name,
                tools: ToolKeys::none(),
                sub_agents: SubAgents::none(),
                ..Agent::master()
            },
            enabled: true,
            invalid: Some(text::in_file(path.display(), why)),
        },
    }
}

fn content(path: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| text::file_unreadable(error);
    // A pipe would be waited for.
    if !fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(text::no_file().to_owned());
    }
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut limited = file.take(MAX_FILE_BYTES + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(text::file_too_large(MAX_FILE_BYTES));
    }
    String::from_utf8(bytes).map_err(|_| text::not_text().to_owned())
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// The name under which a file is listed: its own, with `-` for what an agent's name cannot have.
fn listed_name(path: &Path) -> Option<AgentName> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let name = stem(path).replace(|c| !fits(c), "-");
    let name = name.trim_start_matches(['-', '_']);
    let name = &name[..name.len().min(MAX_AGENT_NAME_BYTES)];
    let name = AgentName::new(name).or_else(|_| AgentName::new(NAMELESS));
    name.ok()
}

#[cfg(test)]
mod tests;
