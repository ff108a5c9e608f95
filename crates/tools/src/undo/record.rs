//! What is kept of a change of a file: for a file tool a line of JSON, then what the file held; for a
//! command a line about its call, then one for each file.

use samovar_core::{CallId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

/// Bytes of the first line, at most: a path of 4 KiB and three ids, escaped.
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
    pub(crate) after: State,
    /// How many folders were made for it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) made: usize,
    #[serde(skip)]
    pub(crate) by: By,
}

/// Who made a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum By {
    /// A file tool, which told before it began.
    #[default]
    Tool,
    /// A command.
    Command,
    /// A command, and perhaps others at the same time.
    Many,
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
    /// It was recorded; the object has its content, or where it leads.
    Recorded(Shape, Option<String>),
    /// It had a content that is not kept: it is too large, or could not be read.
    Unkept,
}

/// What a file is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum State {
    Absent,
    /// It has the content of this SHA-256, and any permissions.
    Holds(String),
    Is(Shape),
}

/// What a file, a link or a folder is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Shape {
    File {
        sha256: String,
        mode: u32,
    },
    /// A file whose content is not looked at.
    Large {
        bytes: u64,
        modified: i64,
        inode: u64,
        mode: u32,
    },
    Link {
        target: String,
    },
    Folder {
        mode: u32,
    },
}

impl Before {
    /// The same as a state; `None` if that is not known.
    pub(crate) fn state(&self) -> Option<State> {
        match self {
            Self::Absent => Some(State::Absent),
            Self::Kept(hash) | Self::Follows(hash) => Some(State::Holds(hash.clone())),
            Self::Recorded(shape, _) => Some(State::Is(shape.clone())),
            Self::Unkept => None,
        }
    }

    /// The permissions, if they are known.
    pub(crate) fn mode(&self) -> Option<u32> {
        match self {
            Self::Recorded(Shape::File { mode, .. }, _) => Some(*mode),
            Self::Recorded(..) | Self::Absent | Self::Kept(_) | Self::Follows(_) | Self::Unkept => {
                None
            }
        }
    }
}

impl State {
    /// Whether both can be the same file.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Holds(hash), Self::Is(Shape::File { sha256, .. }))
            | (Self::Is(Shape::File { sha256, .. }), Self::Holds(hash)) => hash == sha256,
            (one, other) => one == other,
        }
    }
}

impl Record {
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

/// A command whose changes are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CommandCall {
    pub(crate) session: SessionId,
    pub(crate) turn: TurnId,
    pub(crate) call: CallId,
    /// Whether all that it did was done to files that were recorded.
    pub(crate) is_whole: bool,
}

#[derive(Serialize, Deserialize)]
struct Header {
    command: CommandCall,
}

/// One of its changes.
#[derive(Serialize, Deserialize)]
struct Line {
    path: String,
    before: Before,
    after: State,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    by_many: bool,
}

impl CommandCall {
    pub(super) fn to_bytes(&self, changes: &[Record]) -> Result<Vec<u8>, serde_json::Error> {
        let command = self.clone();
        let mut bytes = serde_json::to_vec(&Header { command })?;
        bytes.push(b'\n');
        for change in changes {
            let line = Line {
                path: change.path.clone(),
                before: change.before.clone(),
                after: change.after.clone(),
                by_many: change.by == By::Many,
            };
            serde_json::to_writer(&mut bytes, &line)?;
            bytes.push(b'\n');
        }
        Ok(bytes)
    }

    /// Whether the first bytes of a file are those of a command.
    pub(super) fn begins(bytes: &[u8]) -> bool {
        bytes.starts_with(b"{\"command\":")
    }

    /// The call and its changes; `None` if the bytes are damaged.
    pub(super) fn parse(bytes: &[u8]) -> Option<(Self, Vec<Record>)> {
        // The last line has its end as well.
        let lines = bytes.strip_suffix(b"\n")?;
        let mut lines = lines.split(|byte| *byte == b'\n');
        let Header { command } = serde_json::from_slice(lines.next()?).ok()?;
        let changes = lines.map(|line| {
            let line: Line = serde_json::from_slice(line).ok()?;
            Some(Record {
                session: command.session.clone(),
                turn: command.turn.clone(),
                call: command.call.clone(),
                path: line.path,
                before: line.before,
                after: line.after,
                made: 0,
                by: if line.by_many { By::Many } else { By::Command },
            })
        });
        let changes = changes.collect::<Option<Vec<_>>>()?;
        Some((command, changes))
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde calls"
)]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
