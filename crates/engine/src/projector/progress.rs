//! How far the projector is, and who waits for it.

use std::time::Duration;

use samovar_core::SessionId;

use super::Projector;

/// How many marks were made, how many of them are done, and which of them a reader waits for.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    pub(super) marked: u64,
    pub(super) done: u64,
    pub(super) wanted: u64,
}

impl Projector {
    /// Counts a mark. Only a projector that has nothing to do is woken for it.
    pub(super) fn is_marked(&self) {
        self.progress.send_if_modified(|progress| {
            let is_idle = progress.done >= progress.marked;
            progress.marked += 1;
            is_idle
        });
    }

    /// Notes that a reader waits for all that was marked, and answers how much that is.
    pub(super) fn wants_all(&self) -> u64 {
        let mut all = 0;
        self.progress.send_if_modified(|progress| {
            all = progress.marked;
            let is_new = progress.wanted < all && progress.done < all;
            progress.wanted = all;
            is_new
        });
        all
    }

    /// Waits until everything that was marked before is in the history; false when that takes too
    /// long (DU-2).
    pub(crate) async fn caught_up(&self, within: Duration) -> bool {
        let wanted = self.wants_all();
        let mut progress = self.progress.subscribe();
        let done = progress.wait_for(|progress| progress.done >= wanted);
        tokio::time::timeout(within, done).await.is_ok()
    }

    /// Waits until all that was marked of a session before is in the history; false when that takes too
    /// long (DU-2).
    pub(crate) async fn has_all_of(&self, session: &SessionId, within: Duration) -> bool {
        let wanted = self.state().wanted(session);
        if !self.state().has(session, &wanted) {
            self.wants_all();
        }
        let mut progress = self.progress.subscribe();
        let done = progress.wait_for(|_| self.state().has(session, &wanted));
        tokio::time::timeout(within, done).await.is_ok()
    }
}
