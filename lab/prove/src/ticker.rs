//! The order of all that is seen in one arena, whoever sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::observed::Tick;

/// Counts moments; a clone counts on with it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ticker(Arc<AtomicU64>);

impl Ticker {
    /// A moment behind all that were given before.
    pub(crate) fn next(&self) -> Tick {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}
