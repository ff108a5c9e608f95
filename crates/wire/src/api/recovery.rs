//! What became of the turns that a former run of the server left.

use samovar_core::{SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What became of the turns that a former run of the server left, so far (DU-6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecoveryInfo {
    /// Turns that went on.
    pub continued: u64,
    /// Turns that ended, because they may not go on or came no further.
    pub ended: u64,
    /// Calls whose outcome nobody knows: they may have happened.
    pub unknown_calls: u64,
    /// Turns that wait for somebody to say that they shall go on.
    pub waiting: Vec<WaitingTurn>,
}

impl RecoveryInfo {
    /// The turn of a session that waits.
    pub fn of(&self, session: &SessionId) -> Option<&WaitingTurn> {
        self.waiting.iter().find(|cut| cut.session_id == *session)
    }
}

/// A turn that was cut and waits for somebody to say that it shall go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WaitingTurn {
    /// Its session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// The turn.
    #[schemars(with = "String")]
    pub turn_id: TurnId,
}
