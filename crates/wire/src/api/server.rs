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
    /// What is known of the disk that everything is kept on.
    pub store: StoreInfo,
}

/// How much of the store is taken, and what it keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreInfo {
    /// Whether the disk is full: nothing new is accepted, and what runs waits for room.
    pub is_full: bool,
    /// Bytes of the disk that are free; left out where the system does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub free_bytes: Option<u64>,
    /// Bytes of the journal that are taken.
    pub journal_used_bytes: u64,
    /// Bytes that the journal can ever take.
    pub journal_map_bytes: u64,
    /// Commits of the journal since the start.
    pub journal_commits: u64,
}
