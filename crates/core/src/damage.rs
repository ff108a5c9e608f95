//! Damage, as its reports keep it and people see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::ports::Millis;
use crate::words;

/// A part of the data that was found damaged and set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "DamageInfo")]
pub struct Damage {
    /// The name of its report in the folder `damaged` of the data directory.
    pub id: String,
    /// When it was found, in milliseconds since 1970.
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

words! {
    /// The parts that can be damaged.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum DamagedPart {
        /// The data of one session.
        Session = "session",
        /// The journal: running turns.
        Journal = "journal",
        /// The history: finished messages.
        History = "history",
    }
}
