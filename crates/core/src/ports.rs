//! Small ports: what time it is, what the next id is. Tests own both.

use serde::{Deserialize, Serialize};

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

/// Where ids come from.
pub trait Ids: Send + Sync {
    /// A UUID v7 that was never given before, in its usual spelling.
    fn uuid(&self) -> String;
}
