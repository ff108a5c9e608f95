//! One budget for what all sessions hold in memory: their logs' tails, their conversations, the
//! messages that wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::Notify;

/// What a session in memory takes besides its events and messages, in bytes: 6,000 idle ones of two
/// messages took 40 MB.
pub(crate) const SESSION: usize = 7 * 1024;

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

    /// Waits until three quarters are used. For one waiter.
    pub(crate) async fn comes_near(&self) {
        self.near.notified().await;
    }
}

/// What one owner uses of the budget, given back when it is dropped.
pub(crate) struct Held {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Held {
    /// Notes how many bytes the owner has now.
    pub(crate) fn set(&mut self, bytes: usize) {
        let before = std::mem::replace(&mut self.bytes, bytes);
        if bytes > before {
            let grown = bytes - before;
            let held = self.memory.held.fetch_add(grown, Ordering::Relaxed);
            let near = self.memory.budget / 4 * 3;
            if (held..held + grown).contains(&near.saturating_sub(1)) {
                self.memory.near.notify_one();
            }
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
}
