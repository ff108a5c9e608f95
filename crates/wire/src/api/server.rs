//! The server itself.

use samovar_core::Approval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's version, workspace, approval level and store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServerInfo {
    /// The version of the program.
    pub version: String,
    /// The folder that tools work in.
    pub workspace: String,
    /// Which tool calls need approval, unless a message sets a stricter level.
    #[schemars(with = "String")]
    pub approval: Approval,
    /// The state of the disk and the store.
    pub store: StoreInfo,
}

/// How full the store is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreInfo {
    /// Whether the disk is full: new requests are refused, and running turns wait for space.
    pub is_full: bool,
    /// Free bytes on the disk; absent if the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Used bytes of the journal.
    pub journal_used_bytes: u64,
    /// The most bytes that the journal can use.
    pub journal_map_bytes: u64,
    /// Commits of the journal since the start.
    pub journal_commits: u64,
}
