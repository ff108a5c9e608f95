//! The relay's rooms and its study logs as people see them (spec 08).

use samovar_core::relay::{Payload, StudyView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Within;

/// A built-in host for a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AttachHostParams {
    /// Which host.
    pub kind: BuiltInHost,
}

/// A built-in host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BuiltInHost {
    /// The movie booking.
    Movie,
    /// The server's own tools, for an external agent.
    Tools,
}

/// A message of the person at a built-in host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PersonSaysParams {
    /// The text: at least one visible character.
    pub text: String,
}

/// An action of the person at a built-in host, such as a click on an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonDoesParams {
    /// The tool that an agent would call for it.
    pub tool_name: String,
    /// The parameters; none by default.
    #[serde(default)]
    #[schemars(with = "Map<String, Value>")]
    pub params: Payload,
}

/// Parameters for reading the newest rows of a room's own log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoomRowsParams {
    /// Only rows after this `eventIndex`.
    pub after: Option<u64>,
    /// The most rows to return; by default 1,000.
    pub limit: Option<Within<1, 5000>>,
}

/// Parameters for listing study logs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudiesParams {
    /// Only logs after this id.
    pub after: Option<String>,
    /// The most logs to return; by default 50.
    pub limit: Option<Within<1, 200>>,
}

/// Parameters for reading rows of a study log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StudyRowsParams {
    /// The study session's id.
    pub id: String,
    /// Which rows; by default `file`.
    #[serde(default)]
    pub view: StudyView,
    /// Only rows after this `eventIndex` of the view.
    pub after: Option<u64>,
    /// The most rows to return; by default 1,000.
    pub limit: Option<Within<1, 5000>>,
}
