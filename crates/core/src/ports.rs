//! Small ports: the time, and new ids. Tests own both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// Milliseconds since 1970 in UTC.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Millis(pub i64);

/// A source of the time.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Millis;
}

/// Records damage, for a report to people.
pub trait Damages: Send + Sync {
    /// Records that data of a session cannot be read; called each time.
    fn session(&self, session: &SessionId, why: &str);

    /// Whether damage of a session was recorded.
    fn is_damaged(&self, session: &SessionId) -> bool;

    /// Records that a session was removed, with its damage.
    fn removed(&self, session: &SessionId);

    /// Records that the history cannot be read.
    fn history(&self, why: &str);
}

/// Ignores all reports.
impl Damages for () {
    fn session(&self, _session: &SessionId, _why: &str) {}

    fn is_damaged(&self, _session: &SessionId) -> bool {
        false
    }

    fn removed(&self, _session: &SessionId) {}

    fn history(&self, _why: &str) {}
}

/// A source of ids.
pub trait Ids: Send + Sync {
    /// Returns a new UUID v7 in its usual spelling.
    fn uuid(&self) -> String;
}
