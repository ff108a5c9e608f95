//! The server itself.

use samovar_core::{Approval, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The server's version, workspace, approval level, store and memory.
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
    /// Whether it stays, as `samovar serve` does; a command that opened the data directory leaves with
    /// its own turn.
    #[serde(default)]
    pub stays: bool,
    /// Whether it serves the web page.
    #[serde(default)]
    pub page: bool,
    /// The state of the disk and the store.
    pub store: StoreInfo,
    /// How much memory its sessions take.
    pub memory: MemoryInfo,
}

/// What all sessions take in memory: live events, conversations, and messages that wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemoryInfo {
    /// Bytes that they take, about.
    pub used_bytes: u64,
    /// The most bytes that they may take; beyond it new messages are refused with `busy`.
    pub budget_bytes: u64,
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
    /// Sessions with events that the history lacks. The journal has them, and reads of one session
    /// show them; the list of sessions does not.
    pub history_lag_sessions: u64,
    /// Since when the history cannot be written, in milliseconds since 1970; absent while it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history_failed_since: Option<Millis>,
}
