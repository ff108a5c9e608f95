//! The time and the ids of a test.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use samovar_core::{Clock, Ids, Millis};

/// A clock that stands at zero until a test sets it, or ticks whenever it is read.
#[derive(Debug, Default)]
pub struct TestClock {
    now: AtomicI64,
    step: i64,
}

impl TestClock {
    /// Moves on by `step` milliseconds each time that it is read.
    pub fn ticking(begin: Millis, step: i64) -> Self {
        Self {
            now: AtomicI64::new(begin.0),
            step,
        }
    }

    /// One millisecond a read, from a time that no sweep has reached.
    pub fn late() -> Self {
        Self::ticking(Millis(4_000_000_000_000), 1)
    }

    /// Sets the time.
    pub fn set(&self, now: Millis) {
        self.now.store(now.0, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now(&self) -> Millis {
        Millis(self.now.fetch_add(self.step, Ordering::SeqCst))
    }
}

/// Ids in the order of time: `id-00000000`, `id-00000001` and so on.
#[derive(Debug, Default)]
pub struct CountedIds(AtomicU64);

impl Ids for CountedIds {
    fn uuid(&self) -> String {
        format!("id-{:08}", self.0.fetch_add(1, Ordering::SeqCst))
    }
}
