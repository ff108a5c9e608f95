//! What each conversation has seen of the files that it read or wrote, so that no write of a whole
//! file removes what its writer has not seen (TL-2).
//!
//! It is kept in the data directory, one file a session, and survives a restart. What a power cut
//! takes of it only makes a write ask for a new look.

use std::io;
use std::sync::{Mutex, PoisonError};

use samovar_core::{SessionId, TurnId};
use samovar_sandbox::{JailPath, SmallFiles, Survival};
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::text::sha256;

/// The folder of the data directory.
const FOLDER: &str = "seen";
/// Files that a session remembers; the one that was seen longest ago goes first.
const MAX_FILES: usize = 1_000;
/// Sessions in memory; the others are read again when they need it.
const MAX_SESSIONS: usize = 64;
/// The largest file that can be seen whole, in bytes.
pub(crate) const MAX_SEEN_BYTES: u64 = 16 * 1024 * 1024;
/// Parts of one file that are remembered.
const MAX_PARTS: usize = 64;
/// Bytes of a session's file, at most.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// What was seen of files.
#[derive(Default)]
pub struct SeenFiles {
    folder: Option<SmallFiles>,
    /// The one that was used last comes last.
    sessions: Mutex<Vec<(SessionId, Vec<Seen>)>>,
}

/// What a conversation has seen of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Seen {
    /// The turn of a called agent, whose conversation is its own; `None` for the session's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<TurnId>,
    path: String,
    sha256: String,
    sight: Sight,
}

/// How much of one content was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Sight {
    Whole,
    /// These lines, each from the first to the last, in order and apart.
    Lines(Vec<(u64, u64)>),
}

/// What a conversation knows of the content that a file has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Knowledge {
    /// All of it.
    Whole,
    /// Some of its lines.
    Part,
    /// An earlier content.
    Earlier,
    Nothing,
}

impl Sight {
    /// These lines of a text that has so many, each run from its first to its last.
    pub(crate) fn of_lines(runs: Vec<(u64, u64)>, lines: u64) -> Self {
        let sight = Self::Lines(runs);
        if lines == 0 || sight.covers(lines) {
            return Self::Whole;
        }
        sight
    }

    fn with(self, other: Self) -> Self {
        let (Self::Lines(mut parts), Self::Lines(more)) = (self, other) else {
            return Self::Whole;
        };
        parts.extend(more);
        parts.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (from, to) in parts {
            match joined.last_mut() {
                Some(last) if from <= last.1 + 1 => last.1 = last.1.max(to),
                _ => joined.push((from, to)),
            }
        }
        joined.truncate(MAX_PARTS);
        Self::Lines(joined)
    }

    fn covers(&self, lines: u64) -> bool {
        match self {
            Self::Whole => true,
            Self::Lines(parts) => {
                matches!(parts[..], [(from, to)] if from <= 1 && to >= lines)
            }
        }
    }
}

impl SeenFiles {
    /// Kept in a folder of the data directory.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(data_dir: &SmallFiles) -> io::Result<Self> {
        Ok(Self {
            folder: Some(data_dir.folder_that(FOLDER, Survival::Writer)?),
            sessions: Mutex::default(),
        })
    }

    /// Notes that a call saw this much of a file with this content.
    pub(crate) fn see(&self, caller: &Caller, place: &JailPath, sha256: String, sight: Sight) {
        let path = place.to_string();
        self.change(&caller.session, |files| {
            let is_it = |seen: &Seen| seen.by == caller.child && seen.path == path;
            let before = files.iter().position(is_it).map(|at| files.remove(at));
            let sight = match &before {
                Some(before) if before.sha256 == sha256 => before.sight.clone().with(sight),
                Some(_) | None => sight,
            };
            let by = caller.child.clone();
            let seen = Seen {
                by,
                path,
                sha256,
                sight,
            };
            let is_new = before.as_ref() != Some(&seen);
            files.push(seen);
            let surplus = files.len().saturating_sub(MAX_FILES);
            files.drain(..surplus);
            is_new
        });
    }

    /// What the caller knows of a file that holds these bytes.
    pub(crate) fn knows(&self, caller: &Caller, place: &JailPath, bytes: &[u8]) -> Knowledge {
        let path = place.to_string();
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.loaded(&mut sessions, &caller.session);
        let is_it = |seen: &&Seen| seen.by == caller.child && seen.path == path;
        let Some(seen) = files.iter().find(is_it) else {
            return Knowledge::Nothing;
        };
        let feeds = bytes.split(|byte| *byte == b'\n').count() as u64 - 1;
        let lines = feeds + u64::from(!bytes.ends_with(b"\n"));
        match seen.sha256 == sha256(bytes) {
            false => Knowledge::Earlier,
            true if seen.sight.covers(lines) => Knowledge::Whole,
            true => Knowledge::Part,
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&self, session: &SessionId) -> io::Result<()> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        sessions.retain(|(other, _)| other != session);
        let folder = self.folder.as_ref();
        folder.map_or(Ok(()), |folder| folder.remove(&name(session)))
    }

    /// Makes a change, and keeps it if it is one.
    fn change(&self, session: &SessionId, change: impl FnOnce(&mut Vec<Seen>) -> bool) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        let files = self.loaded(&mut sessions, session);
        let is_new = change(files);
        let Some(folder) = self.folder.as_ref().filter(|_| is_new) else {
            return;
        };
        let written = serde_json::to_vec(files).map_err(io::Error::from);
        let written =
            written.and_then(|bytes| folder.write(&name(session), &bytes, Survival::Writer));
        if let Err(error) = written {
            tracing::warn!(%error, "what a session saw of its files is forgotten with the server");
        }
    }

    fn loaded<'a>(
        &self,
        sessions: &'a mut Vec<(SessionId, Vec<Seen>)>,
        session: &SessionId,
    ) -> &'a mut Vec<Seen> {
        let known = sessions.iter().position(|(other, _)| other == session);
        let files = match known {
            Some(at) => sessions.remove(at).1,
            None => self.read(session),
        };
        if sessions.len() >= MAX_SESSIONS {
            sessions.remove(0);
        }
        sessions.push((session.clone(), files));
        let last = sessions.len() - 1;
        &mut sessions[last].1
    }

    /// What is kept of a session; nothing if it cannot be read.
    fn read(&self, session: &SessionId) -> Vec<Seen> {
        let Some(folder) = &self.folder else {
            return Vec::new();
        };
        let read = folder.read_bytes(&name(session), MAX_BYTES);
        let bytes = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "what a session saw of its files cannot be read");
            None
        });
        bytes
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default()
    }
}

/// The name of a session's file.
fn name(session: &SessionId) -> String {
    let mut name = sha256(session.as_str().as_bytes());
    name.truncate(32);
    name
}
