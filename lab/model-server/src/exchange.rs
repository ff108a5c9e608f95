//! How far the answer to one request has got.

use std::{
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// How the answer to a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeEnd {
    /// All of it was given to the kernel.
    Complete,
    /// It was broken off because the script says so.
    Cut,
    /// The client went away, or the server was stopped, before all of it was out.
    ClientLeft,
}

/// The progress of one answer, shared by its sender and its readers.
#[derive(Debug)]
pub(crate) struct Exchange {
    progress: Mutex<Progress>,
    /// Wakes the sender that waits for the kernel to take what was handed over.
    settled: Notify,
    /// Wakes all callers that wait for something to happen on the server.
    changed: Arc<Notify>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    handed: u64,
    handed_deltas: usize,
    all_handed: bool,
    settled: u64,
    written_deltas: usize,
    ended: Option<ExchangeEnd>,
}

impl Exchange {
    pub(crate) fn new(changed: Arc<Notify>) -> Exchange {
        Exchange {
            progress: Mutex::default(),
            settled: Notify::new(),
            changed,
        }
    }

    /// Counts a piece that HTTP has taken but the kernel not yet.
    pub(crate) fn hand(&self, deltas: usize) {
        let mut progress = self.progress();
        progress.handed += 1;
        progress.handed_deltas += deltas;
    }

    /// Says that nothing more will be handed over.
    pub(crate) fn hand_nothing_more(&self) {
        self.progress().all_handed = true;
    }

    /// Says that the kernel has taken everything that was handed over.
    pub(crate) fn settle(&self) {
        let mut progress = self.progress();
        let ends = progress.all_handed && progress.ended.is_none();
        if progress.settled == progress.handed && !ends {
            return;
        }
        progress.settled = progress.handed;
        progress.written_deltas = progress.handed_deltas;
        if ends {
            progress.ended = Some(ExchangeEnd::Complete);
        }
        drop(progress);
        self.settled.notify_one();
        self.changed.notify_waiters();
    }

    /// Waits until the kernel has taken everything that was handed over.
    pub(crate) async fn settled(&self) {
        loop {
            {
                let progress = self.progress();
                if progress.settled == progress.handed {
                    return;
                }
            }
            self.settled.notified().await;
        }
    }

    /// Ends the exchange; the first end counts.
    pub(crate) fn end(&self, ended: ExchangeEnd) {
        let mut progress = self.progress();
        if progress.ended.is_none() {
            progress.ended = Some(ended);
            drop(progress);
            self.changed.notify_waiters();
        }
    }

    pub(crate) fn written_deltas(&self) -> usize {
        self.progress().written_deltas
    }

    pub(crate) fn ended(&self) -> Option<ExchangeEnd> {
        self.progress().ended
    }

    /// Waits until `check` finds something after a change anywhere on the server.
    pub(crate) async fn until<T>(&self, check: impl FnMut() -> Option<T>) -> T {
        until(&self.changed, check).await
    }

    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waits until `check` finds something, looking again after each change.
pub(crate) async fn until<T>(changed: &Notify, mut check: impl FnMut() -> Option<T>) -> T {
    loop {
        let mut notified = pin!(changed.notified());
        // Listening starts before looking, or a change in between would be missed.
        notified.as_mut().enable();
        if let Some(found) = check() {
            return found;
        }
        notified.await;
    }
}
