//! What is damaged, and what a backup is.

use samovar_core::{Millis, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that was found damaged and set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamageInfo {
    /// The name of its report in the folder `damaged` of the data directory.
    pub id: String,
    /// When it was found, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub at: Millis,
    /// What is damaged.
    pub part: DamagedPart,
    /// The session, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub session_id: Option<SessionId>,
    /// What was found.
    pub reason: String,
    /// What that means for a person.
    pub lost: String,
    /// Where it was moved to, below the data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<String>,
}

/// What can be damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DamagedPart {
    /// What was kept of one session.
    Session,
    /// The journal: what was going on.
    Journal,
    /// The history: what was said.
    History,
}

/// All that was found damaged, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DamageList {
    /// The reports.
    pub items: Vec<DamageInfo>,
}

/// Where a backup is, or is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BackupParams {
    /// The folder, as an absolute path on the server's machine.
    pub path: String,
}

/// A backup that was made, or put back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupInfo {
    /// Its folder.
    pub path: String,
    /// When it was made, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub created_at: Millis,
    /// Bytes of its files.
    pub bytes: u64,
    /// The run of the server that it was made in.
    pub epoch: u64,
}

/// What is known of backups, and which run of the server this is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackupState {
    /// The last backup that was made of this data directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<BackupInfo>,
    /// This run of the server.
    pub epoch: u64,
}
