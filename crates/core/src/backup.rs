//! Backups, as their store keeps them and people see them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::Millis;

/// A backup that was made or restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "BackupInfo")]
pub struct Backup {
    /// The folder.
    pub path: String,
    /// The creation time, in milliseconds since 1970.
    pub created_at: Millis,
    /// The size of its files, in bytes.
    pub bytes: u64,
    /// The run of the server that made it.
    pub epoch: u64,
}
