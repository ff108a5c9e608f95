//! What became of the turns that a former run of the server left.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::{SessionId, TurnId};

/// What became of the turns that a former run of the server left, so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Turns that went on.
    pub continued: u64,
    /// Turns that ended, because they may not go on or came no further.
    pub ended: u64,
    /// Calls whose outcome nobody knows.
    pub unknown_calls: u64,
    /// Turns that wait for somebody to say that they shall go on.
    pub waiting: BTreeMap<SessionId, TurnId>,
}

/// Where that is counted.
#[derive(Default)]
pub(crate) struct Ledger(Mutex<Recovered>);

impl Ledger {
    /// What is counted so far.
    pub(crate) fn read(&self) -> Recovered {
        self.state().clone()
    }

    pub(crate) fn waits(&self, session: &SessionId, turn: &TurnId) {
        self.state().waiting.insert(session.clone(), turn.clone());
    }

    pub(crate) fn waits_no_more(&self, session: &SessionId) {
        self.state().waiting.remove(session);
    }

    pub(crate) fn continued(&self) {
        self.state().continued += 1;
    }

    pub(crate) fn ended(&self) {
        self.state().ended += 1;
    }

    pub(crate) fn unknown_calls(&self, count: usize) {
        self.state().unknown_calls += count as u64;
    }

    fn state(&self) -> MutexGuard<'_, Recovered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
