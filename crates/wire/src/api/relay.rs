//! The relay's rooms and its study logs as people see them (spec 08).

use std::collections::BTreeMap;

use samovar_core::relay::{Payload, RelayRole};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Within;

/// A room of the relay that somebody is in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RelayRoomInfo {
    /// Its name.
    pub room: String,
    /// Where its host is; missing when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<RelayHost>,
    /// How many agents are in it.
    pub agents: u64,
    /// The study session that is open in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
}

/// Where the host of a room is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RelayHost {
    /// At the other end of a socket.
    Socket,
    /// In the server itself.
    BuiltIn,
}

/// A host of the server's own, for a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachHostParams {
    /// Which one.
    pub kind: BuiltInHost,
}

/// A host of the server's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuiltInHost {
    /// The booking of a movie.
    Movie,
    /// The server's own tools, for an external agent.
    Tools,
}

/// What the person at a host of the server's own says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonSaysParams {
    /// The words: at least one visible character.
    pub text: String,
}

/// What the person at a host of the server's own does, such as a click on an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonDoesParams {
    /// The tool that an agent would call for it.
    pub tool_name: String,
    /// What it is done with; nothing when absent.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub params: Payload,
}

/// Which study logs are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudiesParams {
    /// Only those behind this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How many; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Within<1, 200>>,
}

/// A study log, in short.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StudyInfo {
    /// The study session's id.
    pub id: String,
    /// The room in which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<String>,
    /// What the agent called the study.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study_id: Option<String>,
    /// Who took part in it, as the agent had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub participant_id: Option<String>,
    /// When its first row was written: RFC 3339 in UTC, with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
    /// When its last row was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// From the one to the other, in milliseconds.
    pub length_ms: u64,
    /// How many rows it has.
    pub rows: u64,
    /// How many lines cannot be read; 0 unless somebody damaged the file.
    pub unreadable: u64,
    /// The size of its file, in bytes.
    pub bytes: u64,
    /// How often an agent called which tool.
    pub tools: BTreeMap<String, u64>,
    /// Whether it is over.
    pub is_ended: bool,
}

/// Which rows of a study log are asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRowsParams {
    /// The study session's id.
    pub id: String,
    /// Only rows behind this `eventIndex`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// How many; 1,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Within<1, 5000>>,
}

/// A row of a study log, as it stands in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StudyRow {
    /// The study session.
    pub session_id: String,
    /// The row's number in its file: 0, 1, 2 and so on.
    pub event_index: u64,
    /// RFC 3339 in UTC, with milliseconds.
    pub timestamp: String,
    /// `in` is what the relay received, `out` what it delivered, `internal` what it notes by itself.
    #[schemars(extend("enum" = ["in", "out", "internal"]))]
    pub direction: String,
    /// The message's type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What it brought.
    #[schemars(with = "Map<String, Value>")]
    pub payload: Payload,
    /// The room.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relay_session_id: Option<String>,
    /// Who sent or got it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>", extend("enum" = ["host", "agent"]))]
    pub role: Option<RelayRole>,
    /// Which of the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u64>,
    /// The message's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// The check of this row and all before it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub check: String,
}
