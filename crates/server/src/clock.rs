//! The real clock and the real ids.

use std::time::{SystemTime, UNIX_EPOCH};

use samovar_core::{Clock, Ids, Millis};

/// The machine's clock.
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the port's one real implementation"
    )]
    fn now(&self) -> Millis {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// UUIDs of version 7, which sort by time.
pub(crate) struct UuidV7;

impl Ids for UuidV7 {
    fn uuid(&self) -> String {
        uuid::Uuid::now_v7().to_string()
    }
}
