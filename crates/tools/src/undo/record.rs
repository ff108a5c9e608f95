//! What is kept of one change of a file: a line of JSON, then what the file held.

use samovar_core::{CallId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

/// Bytes of the line, at most: a path of 4 KiB and three ids, escaped.
pub(super) const MAX_LINE_BYTES: u64 = 16 * 1024;

/// A change of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    /// The file, as tools show it.
    pub(crate) path: String,
    pub(crate) before: Before,
    /// SHA-256 of what it holds after the change.
    pub(crate) after: String,
    /// How many folders were made for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) made: usize,
}

/// What a file was before a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Before {
    /// It was not there.
    Absent,
    /// It had the content of this SHA-256, which is kept with the change.
    Kept(String),
    /// It had the content that an earlier change of the same turn gave it.
    Follows(String),
    /// It had a content that is not kept: it is too large, or could not be read.
    Unkept,
}

/// What a file is at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Absent,
    /// It has the content of this SHA-256.
    Holds(String),
}

impl Before {
    /// The same as a state; `None` if that is not known.
    pub(crate) fn state(&self) -> Option<State> {
        match self {
            Self::Absent => Some(State::Absent),
            Self::Kept(hash) | Self::Follows(hash) => Some(State::Holds(hash.clone())),
            Self::Unkept => None,
        }
    }
}

impl Record {
    /// What the file was after the change.
    pub(crate) fn result(&self) -> State {
        State::Holds(self.after.clone())
    }

    pub(super) fn to_bytes(&self, content: &[u8]) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec(self)?;
        bytes.push(b'\n');
        bytes.extend_from_slice(content);
        Ok(bytes)
    }

    /// The change, and what follows its line; `None` if the bytes are damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (line, content) = bytes.split_at(end);
        let record = serde_json::from_slice(line).ok()?;
        Some((record, &content[1..]))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
