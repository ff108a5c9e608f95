//! The long bodies that are worked on: few at once, so that nothing else waits for a thread.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Long bodies that are worked on at once, at most: each step of that takes milliseconds of a thread
/// which new connections and running streams wait for, too.
pub(crate) const AT_WORK: usize = 2;

/// The place of a long body among those that are worked on.
pub(crate) struct Place {
    all: Arc<Semaphore>,
    taken: Mutex<Option<OwnedSemaphorePermit>>,
    is_message: bool,
}

impl Place {
    pub(crate) fn new(all: Arc<Semaphore>, is_message: bool) -> Self {
        let taken = Mutex::default();
        Self {
            all,
            taken,
            is_message,
        }
    }

    /// Waits until it is free.
    pub(crate) async fn take(&self) {
        // It is never closed.
        let permit = self.all.clone().acquire_owned().await;
        self.set(permit.ok());
    }

    /// The body was parsed. A message keeps its place until the log has it; what else is done with a
    /// body may take as long as a tool does.
    pub(crate) fn is_parsed(&self) {
        if !self.is_message {
            self.leave();
        }
    }

    pub(crate) fn leave(&self) {
        self.set(None);
    }

    fn set(&self, permit: Option<OwnedSemaphorePermit>) {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner) = permit;
    }
}
