//! Choices that the configuration, the engine and the stores have in common.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What an accepted message survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// A power cut: every commit is synced.
    #[default]
    Power,
    /// A killed process: nothing is synced, and a power cut loses running turns.
    Process,
}

/// What happens to an interrupted turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resume {
    /// It continues by itself.
    #[default]
    Auto,
    /// It waits until a client resumes it.
    Ask,
    /// It ends.
    Off,
}
