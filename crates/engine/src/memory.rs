//! One budget for what all sessions hold in memory: their logs' tails, their conversations, the
//! messages that wait, the requests that are being read and the prompts on their way to models.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use samovar_core::{Code, Error};
use samovar_locale as locale;
use tokio::sync::Notify;

/// What a session in memory takes besides its events and messages, in bytes: 6,000 idle ones of two
/// messages took 40 MB.
pub(crate) const SESSION: usize = 7 * 1024;

/// How often a request is in memory at the same time, at most: its body, what was parsed of it, the
/// event, and the journal's row.
const COPIES: usize = 4;

/// The budget, and how much of it is used.
pub(crate) struct Memory {
    held: AtomicUsize,
    budget: usize,
    near: Notify,
}

impl Memory {
    pub(crate) fn new(budget: usize) -> Arc<Self> {
        let (held, near) = (AtomicUsize::new(0), Notify::new());
        Arc::new(Self { held, budget, near })
    }

    /// A share of the budget that has nothing yet.
    pub(crate) fn share(self: &Arc<Self>) -> Held {
        let (memory, bytes) = (self.clone(), 0);
        Held { memory, bytes }
    }

    /// A share for a request that is about to be read.
    pub(crate) fn admission(self: &Arc<Self>) -> Admission {
        Admission(Mutex::new(self.share()))
    }

    /// How much is used, in bytes.
    pub(crate) fn held(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// Whether three quarters are used: idle sessions leave at once.
    pub(crate) fn is_near(&self) -> bool {
        self.held() >= self.budget / 4 * 3
    }

    /// Whether all is used: no new message is accepted.
    pub(crate) fn is_full(&self) -> bool {
        self.held() >= self.budget
    }

    fn has_grown(&self, before: usize, grown: usize) {
        let near = self.budget / 4 * 3;
        if (before..before + grown).contains(&near.saturating_sub(1)) {
            self.near.notify_one();
        }
    }

    /// Waits until three quarters are used. For one waiter.
    pub(crate) async fn comes_near(&self) {
        self.near.notified().await;
    }
}

/// What one owner uses of the budget, given back when it is dropped.
pub struct Held {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Held {
    /// Notes how many bytes the owner has now.
    pub fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if bytes > before {
            let grown = bytes - before;
            let held = self.memory.held.fetch_add(grown, Ordering::Relaxed);
            self.memory.has_grown(held, grown);
        } else if bytes < before {
            self.memory
                .held
                .fetch_sub(before - bytes, Ordering::Relaxed);
        }
    }
}

impl Held {
    /// Whether three quarters of the budget are used.
    pub(crate) fn is_near(&self) -> bool {
        self.memory.is_near()
    }

    /// Notes that the owner has more now, if the budget has room for it.
    fn try_set(&mut self, bytes: usize) -> bool {
        let Some(grown) = bytes.checked_sub(self.bytes) else {
            return true;
        };
        let memory = &self.memory;
        let fits = |held: usize| held.checked_add(grown).filter(|sum| *sum <= memory.budget);
        let (set, fetch) = (Ordering::Relaxed, Ordering::Relaxed);
        let Ok(held) = memory.held.fetch_update(set, fetch, fits) else {
            return false;
        };
        memory.has_grown(held, grown);
        self.bytes = bytes;
        true
    }
}

/// What a request takes of the budget: from before its body is read until the log has what it says.
pub struct Admission(Mutex<Held>);

impl Admission {
    /// Asks for a body of so many bytes, with those that were asked for before. One that would need
    /// more than half of the budget gets that half.
    ///
    /// # Errors
    /// [`Code::Busy`] when the budget has no room for it now.
    pub fn grow(&self, bytes: usize) -> Result<(), Error> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = bytes.saturating_mul(COPIES).min(held.memory.budget / 2);
        if held.try_set(wanted) {
            return Ok(());
        }
        Err(Error::new(Code::Busy, locale::server::memory_full()))
    }

    /// Gives all of it back.
    pub fn give_back(&self) {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.set(0);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.set(0);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::poll;

    use super::*;

    // proves PF-1
    #[tokio::test]
    async fn what_owners_take_is_summed_and_the_budget_tells_once_when_it_is_nearly_used() {
        let memory = Memory::new(100);
        let (mut one, mut other) = (memory.share(), memory.share());
        one.set(40);
        other.set(34);
        assert!(!memory.is_near());
        assert!(poll!(std::pin::pin!(memory.comes_near())).is_pending());
        other.set(35);
        assert!(memory.is_near() && !memory.is_full());
        assert!(poll!(std::pin::pin!(memory.comes_near())).is_ready());
        one.set(65);
        assert!(memory.is_full());
        assert!(poll!(std::pin::pin!(memory.comes_near())).is_pending());
        drop(other);
        one.set(1);
        assert_eq!(memory.held(), 1);
        one.set(200);
        assert!(poll!(std::pin::pin!(memory.comes_near())).is_ready());
    }

    // proves PF-1
    #[test]
    fn a_request_is_read_only_if_the_budget_has_room_for_all_its_copies() {
        let memory = Memory::new(100);
        let (one, other) = (memory.admission(), memory.admission());
        one.grow(10).unwrap();
        one.grow(12).unwrap();
        other.grow(10).unwrap();
        assert_eq!(memory.held(), 88);
        let refused = memory.admission().grow(4).unwrap_err();
        assert_eq!((refused.code, memory.held()), (Code::Busy, 88));
        one.give_back();
        assert_eq!(memory.held(), 40);
        other.grow(12).unwrap();
        one.grow(1_000).unwrap();
        assert_eq!(memory.held(), 98, "no more than half of the budget");
        drop((one, other));
        assert_eq!(memory.held(), 0);
    }
}
