//! Damage, and backups.

use samovar_core::{Millis, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A part of the data that was found damaged and set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamageInfo {
    /// The name of its report in the folder `damaged` of the data directory.
    pub id: String,
    /// When it was found, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub at: Millis,
    /// The damaged part.
    pub part: DamagedPart,
    /// The session, if the part is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What was found.
    pub reason: String,
    /// What is lost, for people.
    pub lost: String,
    /// The folder that it was moved to, relative to the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

/// The parts that can be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DamagedPart {
    /// The data of one session.
    Session,
    /// The journal: running turns.
    Journal,
    /// The history: finished messages.
    History,
}

/// All damage that was found, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamageList {
    /// The reports.
    pub items: Vec<DamageInfo>,
}

/// The folder of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupParams {
    /// The absolute path on the server's machine.
    pub path: String,
}

/// A backup that was made or restored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupInfo {
    /// The folder.
    pub path: String,
    /// The creation time, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub created_at: Millis,
    /// The size of its files, in bytes.
    pub bytes: u64,
    /// The run of the server that made it.
    pub epoch: u64,
}

/// The last backup, and the current run of the server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupState {
    /// The last backup of this data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<BackupInfo>,
    /// The current run of the server.
    pub epoch: u64,
}
