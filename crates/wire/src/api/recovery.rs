//! What happened to the turns that the last run of the server left.

use samovar_core::{SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What has happened so far to the turns that the last run of the server left (DU-6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryInfo {
    /// Turns that continued.
    pub continued: u64,
    /// Turns that ended, because they may not continue or made no progress.
    pub ended: u64,
    /// Calls with an unknown outcome: they may have happened.
    pub unknown_calls: u64,
    /// Turns that wait to be resumed.
    pub waiting: Vec<WaitingTurn>,
}

impl RecoveryInfo {
    /// The waiting turn of a session.
    pub fn of(&self, session: &SessionId) -> Option<&WaitingTurn> {
        self.waiting.iter().find(|cut| cut.session_id == *session)
    }
}

/// An interrupted turn that waits to be resumed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingTurn {
    /// The session.
    pub session_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
}
