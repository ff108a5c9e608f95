//! What people see of the relay: its rooms, and its study logs with their rows.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Payload, RelayRole};

use crate::words;

/// A room of the relay with members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RelayRoomInfo")]
pub struct RoomInfo {
    /// Its name.
    pub room: String,
    /// Where its host is; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostKind>,
    /// The number of agents in it.
    pub agents: u64,
    /// The open study session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
}

words! {
    /// Where the host of a room is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(rename = "RelayHost")]
    pub enum HostKind {
        /// At the other end of a socket.
        Socket = "socket",
        /// In the server itself.
        BuiltIn = "built_in",
    }
}

/// The summary of a study log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StudyInfo {
    /// The study session's id.
    pub id: String,
    /// The room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// The agent's name for the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_id: Option<String>,
    /// The agent's name for the participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant_id: Option<String>,
    /// When its first row was written: RFC 3339 in UTC, with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// When its last row was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The time between the two, in milliseconds.
    pub length_ms: u64,
    /// The number of rows.
    pub rows: u64,
    /// The number of unreadable lines; 0 unless the file was damaged.
    pub unreadable: u64,
    /// The size of its file, in bytes.
    pub bytes: u64,
    /// How often an agent called each tool.
    pub tools: BTreeMap<String, u64>,
    /// Whether it is over.
    pub is_ended: bool,
}

/// A view of a study log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StudyView {
    /// All rows, as in the file.
    #[default]
    File,
    /// The log as a host would write it: each message once, `in` when the host got it, numbered from
    /// 0.
    Host,
}

words! {
    /// Which way a message went, seen from the relay.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Direction {
        /// The relay received it.
        In = "in",
        /// The relay delivered it: it was put into its receiver's queue.
        Out = "out",
        /// It is a note of the relay's own.
        Internal = "internal",
    }
}

/// A row of a study log, as in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StudyRow {
    /// The study session.
    pub session_id: String,
    /// The row's number in its file: 0, 1, 2 and so on.
    pub event_index: u64,
    /// RFC 3339 in UTC, with milliseconds.
    pub timestamp: String,
    /// `in` for a message that the relay received, `out` for one that it delivered, `internal` for
    /// its own notes.
    #[schemars(with = "String", extend("enum" = ["in", "out", "internal"]))]
    pub direction: Direction,
    /// The message's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// The message's payload.
    #[schemars(with = "Map<String, Value>")]
    pub payload: Payload,
    /// The room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_session_id: Option<String>,
    /// The role of the member that sent or got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["host", "agent"]))]
    pub role: Option<RelayRole>,
    /// The number of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u64>,
    /// The message's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// A checksum over this row and all earlier ones.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check: String,
}
