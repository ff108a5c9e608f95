//! The workspace as the server sees it: what tools may not touch there, and what it tells agents.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_config::FolderTrust;
use samovar_descriptors::{PATIENCE, repeat_within};
use samovar_engine::{Folder, FolderFile, args_hash};
use samovar_locale as locale;
use samovar_sandbox::cage::repository_folders;
use samovar_sandbox::{Facts, Jail, JailError, Protected, SmallFiles, Survival};

use crate::config::{Config, FileAccess};

/// What lies in a workspace and is trusted: by the server, which reads it, or by the person's own
/// git, which runs what stands there. No tool may write it (TL-18).
const TRUSTED_NAMES: [&str; 10] = [
    ".git",
    "samovar.toml",
    "SOUL.md",
    "USER.md",
    "AGENTS.md",
    "CLAUDE.md",
    "MEMORY.md",
    "skills",
    "agents",
    "memory",
];

/// What is trusted in every folder: git also runs what a repository below the workspace says, and a
/// server that starts below it reads settings there.
const TRUSTED_EVERYWHERE: [&str; 2] = [".git", "samovar.toml"];

/// The files that tell agents how to work in a folder; the first that can be read counts (MD-27).
const INSTRUCTIONS: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// Names the workspace that a data directory was first used with.
const FIRST: &str = "workspace";
/// What belongs to other workspaces.
const OTHERS: &str = "workspaces";
/// Bytes of a path, at most.
const MAX_PATH_BYTES: u64 = 4096;

/// Bytes of such a file that agents are told, at most.
const MAX_INSTRUCTION_BYTES: usize = 32 * 1024;

/// What no tool may change, in any mode (TL-8, TL-18): all that the server trusts, in one place.
pub(crate) fn protected(config: &Config) -> Protected {
    // Before the first start there is no data directory: only `doctor` asks then.
    let private = config.private.iter().chain([&config.data_dir]);
    let private = private.filter(|folder| folder.is_dir() || !folder.exists());
    let texts = [&config.guide.bootstrap, &config.guide.skills];
    let guarded = config.guarded.iter().chain(&config.private);
    let memory = [&config.memory.long_term, &config.memory.daily];
    let guarded = guarded
        .chain(texts.into_iter().chain(memory).flatten())
        .cloned();
    let names = TRUSTED_NAMES.map(PathBuf::from).into_iter();
    Protected {
        hidden: private.cloned().collect(),
        read_only: names.chain(guarded).collect(),
        read_only_names: TRUSTED_EVERYWHERE.map(str::to_owned).to_vec(),
    }
}

/// Where a data directory keeps what belongs to a workspace: in itself for the first one that it is
/// used with, in a folder of its own for each other, whose files have the same names.
///
/// # Errors
/// What the system said.
pub(crate) fn kept_in(config: &Config, data_dir: &SmallFiles) -> io::Result<PathBuf> {
    let path = config.workspace.canonicalize()?;
    // Two names that differ only in what is no text are one.
    let path = &*path.to_string_lossy();
    match data_dir.read(FIRST, MAX_PATH_BYTES)? {
        None => data_dir.write(FIRST, path.as_bytes(), Survival::Content)?,
        Some(first) if first != path => {
            let digest = args_hash(&path.into());
            let name = &digest[..16];
            data_dir.folder(OTHERS)?.folder(name)?;
            return Ok(config.data_dir.join(OTHERS).join(name));
        }
        Some(_) => {}
    }
    Ok(config.data_dir.clone())
}

/// The workspace, held open.
///
/// # Errors
/// It cannot be used.
pub(crate) fn jail(config: &Config) -> Result<Arc<Jail>, JailError> {
    let (workspace, mut protected) = (&config.workspace, protected(config));
    // A `.git` that is a file does not lead to the folder by itself.
    if let Ok(workspace) = workspace.canonicalize() {
        protected.read_only.extend(repository_folders(&workspace));
    }
    let jail = match config.reach {
        FileAccess::Workspace => Jail::open(workspace, &protected)?,
        FileAccess::System => Jail::open_to_system(workspace, &protected)?,
    };
    Ok(Arc::new(jail))
}

/// What the workspace tells agents: read when it has changed, never through a link.
pub(crate) fn instructions(jail: Arc<Jail>, trust: FolderTrust) -> Folder {
    let (looks, seen) = (Looks::default(), Mutex::new(INSTRUCTIONS.map(Seen::new)));
    Folder::new(move || {
        let file = looks.look(|| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.iter_mut().find_map(|seen| seen.look(&jail))
        })?;
        let is_foreign = trust.is_foreign_text(&file.name, &file.text);
        Some(FolderFile { is_foreign, ..file })
    })
}

/// How long a look at known files waits for a descriptor.
const MOMENT: Duration = Duration::from_millis(300);

/// Looks at the files that tell agents how to work. A turn waits for them before it is accepted, so while
/// the process has no free descriptor, what was seen last soon counts. What was never seen is waited for.
#[derive(Debug, Default)]
pub(crate) struct Looks {
    /// Whether a look saw everything.
    is_known: AtomicBool,
}

impl Looks {
    /// Looks at them; also more than once.
    pub(crate) fn look<T>(&self, look: impl FnMut() -> T) -> T {
        let is_known = self.is_known.load(Ordering::Relaxed);
        let patience = if is_known { MOMENT } else { PATIENCE };
        let (seen, lacked) = repeat_within(patience, look);
        if lacked {
            tracing::warn!("no free file descriptor: agents are told what was read last");
        } else {
            self.is_known.store(true, Ordering::Relaxed);
        }
        seen
    }
}

/// Such a file, as it was last seen.
struct Seen {
    name: &'static str,
    /// Its state when it was read; `None` if it could not be.
    facts: Option<Facts>,
    /// What it says, if it says something.
    said: Option<FolderFile>,
    #[cfg(test)]
    reads: u64,
}

impl Seen {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            facts: None,
            said: None,
            #[cfg(test)]
            reads: 0,
        }
    }

    /// What it says now, if it says something; what it said last, if there is no descriptor to look with.
    fn look(&mut self, jail: &Jail) -> Option<FolderFile> {
        let facts = jail.place(self.name).and_then(|place| jail.facts(&place));
        if matches!(facts, Err(JailError::NoDescriptor { .. })) {
            return self.said.clone();
        }
        if matches!(facts, Ok(None)) {
            (self.facts, self.said) = (None, None);
            return None;
        }
        let facts = facts.ok().flatten();
        if facts.is_none() || facts != self.facts {
            #[cfg(test)]
            {
                self.reads += 1;
            }
            let bytes = bytes(jail, self.name);
            if matches!(bytes, Err(JailError::NoDescriptor { .. })) {
                return self.said.clone();
            }
            let read = as_file(self.name, bytes);
            self.facts = facts.filter(|_| read.is_ok());
            self.said = saying(read);
        }
        self.said.clone()
    }
}

/// The file of a configuration's workspace, as agents are told of it.
///
/// # Errors
/// The workspace cannot be used.
pub fn folder_guide(config: &Config) -> Result<Folder, JailError> {
    Ok(instructions(jail(config)?, config.trust.clone()))
}

/// What the workspace tells agents now: the name of the file and what of it they are told. `None` of
/// a workspace that cannot be opened.
pub fn told_instructions(config: &Config) -> Option<(&'static str, String)> {
    let jail = jail(config).ok()?;
    let told = |name: &&'static str| Some((*name, said(&jail, name)?.text));
    INSTRUCTIONS.iter().find_map(told)
}

/// What a file says, if it says something.
fn said(jail: &Jail, name: &'static str) -> Option<FolderFile> {
    saying(read(jail, name))
}

/// The same of a file that was read.
fn saying(read: Result<Option<FolderFile>, UnreadInstructions>) -> Option<FolderFile> {
    match read {
        // An empty one says nothing, so the next one may.
        Ok(file) => file.filter(says_something),
        Err(unread) => {
            tracing::info!(%unread, "the folder's instructions are not read");
            None
        }
    }
}

/// A file for agents that they are not told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnreadInstructions {
    /// The name of the file.
    pub file: &'static str,
    /// Why not.
    pub reason: UnreadReason,
}

/// Why agents are not told of a file for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnreadReason {
    /// It is empty, and agents are told of this one instead.
    Empty(&'static str),
    /// It is not UTF-8.
    NotText,
    /// It cannot be read, or is a link; with the cause.
    Unreadable(String),
}

impl fmt::Display for UnreadInstructions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file;
        f.write_str(&match &self.reason {
            UnreadReason::Empty(other) => locale::instructions::empty(file, other),
            UnreadReason::NotText => locale::instructions::not_text(file),
            UnreadReason::Unreadable(cause) => locale::instructions::unreadable(file, cause),
        })
    }
}

/// The files in the workspace that are for agents, and that agents are not told of. Says nothing of
/// a workspace that cannot be opened.
pub fn unread_instructions(config: &Config) -> Vec<UnreadInstructions> {
    let Ok(jail) = jail(config) else {
        return Vec::new();
    };
    let (mut unread, mut empty) = (Vec::new(), None);
    for file in INSTRUCTIONS {
        match read(&jail, file) {
            Ok(Some(found)) if says_something(&found) => {
                unread.extend(empty.map(|empty| UnreadInstructions {
                    file: empty,
                    reason: UnreadReason::Empty(file),
                }));
                break;
            }
            Ok(Some(_)) => empty = Some(file),
            Ok(None) => {}
            Err(found) => unread.push(found),
        }
    }
    unread
}

fn says_something(file: &FolderFile) -> bool {
    !file.text.trim().is_empty()
}

fn read(jail: &Jail, name: &'static str) -> Result<Option<FolderFile>, UnreadInstructions> {
    as_file(name, bytes(jail, name))
}

/// The beginning of a file, and its length.
fn bytes(jail: &Jail, name: &'static str) -> Result<(Vec<u8>, u64), JailError> {
    let file = jail.open_file(&jail.place(name)?)?;
    let bytes = file.read_at(0, MAX_INSTRUCTION_BYTES)?;
    Ok((bytes, file.len()))
}

fn as_file(
    name: &'static str,
    read: Result<(Vec<u8>, u64), JailError>,
) -> Result<Option<FolderFile>, UnreadInstructions> {
    let unread = |reason| UnreadInstructions { file: name, reason };
    let (bytes, length) = match read {
        Ok(read) => read,
        Err(JailError::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(unread(UnreadReason::Unreadable(error.to_string()))),
    };
    let left_out = length.saturating_sub(bytes.len() as u64);
    let text = whole_text(bytes, left_out > 0).ok_or_else(|| unread(UnreadReason::NotText))?;
    Ok(Some(FolderFile {
        name: name.to_owned(),
        text,
        left_out,
        is_foreign: false,
    }))
}

/// The bytes as text; of a file that was cut, without the character that the cut divides.
pub(crate) fn whole_text(bytes: Vec<u8>, is_cut: bool) -> Option<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let end = error.utf8_error().valid_up_to();
            let is_tail = is_cut && error.utf8_error().error_len().is_none();
            let mut bytes = error.into_bytes();
            bytes.truncate(end);
            String::from_utf8(bytes).ok().filter(|_| is_tail)
        }
    }
}
