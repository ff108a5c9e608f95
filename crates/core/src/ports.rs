//! Small ports: what time it is, what the next id is. Tests own both.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;

/// Milliseconds since 1970 in UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Millis(pub i64);

/// What time it is.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> Millis;
}

/// Who is told what is damaged, for a report that a person can read.
pub trait Damages: Send + Sync {
    /// Something of a session cannot be read; told again as often as it is met.
    fn session(&self, session: &SessionId, why: &str);

    /// Whether something of a session was told to be damaged.
    fn is_damaged(&self, session: &SessionId) -> bool;

    /// A session is no more, whatever of it was damaged.
    fn removed(&self, session: &SessionId);

    /// The history cannot be read.
    fn history(&self, why: &str);
}

/// Nobody is told.
impl Damages for () {
    fn session(&self, _session: &SessionId, _why: &str) {}

    fn is_damaged(&self, _session: &SessionId) -> bool {
        false
    }

    fn removed(&self, _session: &SessionId) {}

    fn history(&self, _why: &str) {}
}

/// Where ids come from.
pub trait Ids: Send + Sync {
    /// A UUID v7 that was never given before, in its usual spelling.
    fn uuid(&self) -> String;
}
