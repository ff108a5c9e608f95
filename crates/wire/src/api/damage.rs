//! Damage, and backups.

use samovar_core::{Backup, Damage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All damage that was found, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamageList {
    /// The reports.
    pub items: Vec<Damage>,
}

/// The folder of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupParams {
    /// The absolute path on the server's machine.
    pub path: String,
}

/// The last backup, and the current run of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupState {
    /// The last backup of this data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Backup>,
    /// The current run of the server.
    pub epoch: u64,
}
