//! The head of the chain as the history stores it, in another file than the chain: it shows that the
//! chain's end was cut.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::audit::Head;

/// The heads of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    /// What the file has.
    pub(crate) written: Head,
    /// What of that survives the machine.
    pub(crate) synced: Head,
}

/// The heads, shared by the chain, which moves them, and the history, which stores them.
#[derive(Clone, Default)]
pub(crate) struct Heads(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    now: Pair,
    stored: Pair,
}

impl Heads {
    pub(crate) fn stored(&self) -> Pair {
        self.state().stored.clone()
    }

    pub(crate) fn set(&self, now: Pair) {
        self.state().now = now;
    }

    /// The heads that the history lacks.
    pub(crate) fn due(&self) -> Option<Pair> {
        let state = self.state();
        (state.now != state.stored).then(|| state.now.clone())
    }

    /// Notes what the history has.
    pub(crate) fn are_stored(&self, pair: Pair) {
        self.state().stored = pair;
    }

    /// Notes what the history has at a start; the chain is as long until it is opened.
    pub(crate) fn begin(&self, pair: Pair) {
        let mut state = self.state();
        (state.now, state.stored) = (pair.clone(), pair);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
