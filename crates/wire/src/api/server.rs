//! The server itself.

use samovar_core::Approval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a server is, where it works, and how much it asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// The version of the program.
    pub version: String,
    /// The folder that tools work in.
    pub workspace: String,
    /// How much is asked before a tool runs, unless a message asks for less.
    #[schemars(with = "String")]
    pub approval: Approval,
}
