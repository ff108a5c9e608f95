//! The places of a session's children: counted while they live.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::TurnId;

/// The children of a session that live, each as the turn that called it: those in the background too,
/// but for what ran before the server started, of which only the awaited have that.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots(Arc<Mutex<Vec<Option<TurnId>>>>);

/// A child's place among those that live, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Slot(Slots, Option<TurnId>);

/// How many places were taken before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taken {
    /// By children of the same turn.
    pub(crate) of_turn: usize,
    /// By all of the session.
    pub(crate) in_tree: usize,
}

impl Slots {
    /// Takes a place for a child of a turn.
    pub(crate) fn take(&self, caller: Option<TurnId>) -> (Slot, Taken) {
        let mut all = self.lock();
        let of_turn = all.iter().filter(|of| caller.is_some() && **of == caller);
        let taken = Taken {
            of_turn: of_turn.count(),
            in_tree: all.len(),
        };
        all.push(caller.clone());
        drop(all);
        (Slot(self.clone(), caller), taken)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Option<TurnId>>> {
        // Every change is one statement on a collection.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut all = self.0.lock();
        if let Some(at) = all.iter().position(|of| *of == self.1) {
            all.swap_remove(at);
        }
    }
}
