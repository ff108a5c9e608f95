//! Requests without a valid token, counted, so that the audit gets one record for many (TL-15).

use std::sync::{Mutex, PoisonError};

use samovar_core::Millis;

/// Between two records, at least.
const PAUSE_MS: i64 = 60_000;

/// How many there were since the last record.
#[derive(Default)]
pub(crate) struct Failures(Mutex<Counted>);

#[derive(Default)]
struct Counted {
    count: u64,
    recorded_at: Option<Millis>,
}

impl Failures {
    /// Counts one.
    pub(crate) fn add(&self) {
        self.give_back(1);
    }

    /// How many are to be recorded now: the first at once, later ones a minute after the last
    /// record, or at any time if somebody wants to know.
    pub(crate) fn due(&self, now: Millis, at_once: bool) -> Option<u64> {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_early = |at: Millis| (at.0..at.0.saturating_add(PAUSE_MS)).contains(&now.0);
        if counted.count == 0 || !at_once && counted.recorded_at.is_some_and(is_early) {
            return None;
        }
        counted.recorded_at = Some(now);
        Some(std::mem::take(&mut counted.count))
    }

    /// Counts those again that could not be recorded.
    pub(crate) fn give_back(&self, count: u64) {
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.count = counted.count.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-15
    #[test]
    fn failures_are_due_at_once_then_a_minute_later_as_one_sum() {
        let failures = Failures::default();
        let due = |at: i64| failures.due(Millis(at), false);
        assert_eq!(due(0), None);
        failures.add();
        assert_eq!(due(1000), Some(1));
        for at in 0..5000 {
            failures.add();
            assert_eq!(due(1000 + at), None);
        }
        assert_eq!(due(61_000), Some(5000));
        assert_eq!(due(200_000), None);
        failures.add();
        assert_eq!(failures.due(Millis(61_001), true), Some(1), "asked for");
        failures.add();
        assert_eq!(due(10), Some(1), "the clock was set back");
    }
}
