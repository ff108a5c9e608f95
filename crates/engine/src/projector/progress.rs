//! How far the projector is with what was marked, and what a reader waits for.

use tokio::sync::watch;

/// What was marked for the projector.
pub(super) struct Marks(watch::Sender<Progress>);

/// How many marks were made, how many of them are done, and which of them a reader waits for.
#[derive(Clone, Copy, Default)]
pub(super) struct Progress {
    marked: u64,
    done: u64,
    wanted: u64,
}

impl Progress {
    pub(super) fn is_idle(self) -> bool {
        self.done >= self.marked
    }

    pub(super) fn is_wanted(self) -> bool {
        self.wanted > self.done
    }
}

impl Marks {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Progress::default()))
    }

    pub(super) fn watch(&self) -> watch::Receiver<Progress> {
        self.0.subscribe()
    }

    /// Counts a mark. Only a projector that has nothing to do is woken for it.
    pub(super) fn mark(&self) {
        self.0.send_if_modified(|progress| {
            let was_idle = progress.is_idle();
            progress.marked += 1;
            was_idle
        });
    }

    /// How many there are.
    pub(super) fn count(&self) -> u64 {
        self.0.borrow().marked
    }

    /// Notes that these are done.
    pub(super) fn are_done(&self, marked: u64) {
        self.0
            .send_modify(|progress| progress.done = progress.done.max(marked));
    }

    /// Has those look again who wait for a part.
    pub(super) fn tell(&self) {
        self.0.send_modify(|_| {});
    }

    /// Notes that a reader waits for all that was marked, and answers how much that is.
    pub(super) fn want_all(&self) -> u64 {
        let mut all = 0;
        self.0.send_if_modified(|progress| {
            all = progress.marked;
            let is_new = progress.wanted < all && !progress.is_idle();
            progress.wanted = all;
            is_new
        });
        all
    }

    /// Waits for all that was marked before.
    pub(super) async fn wait_for_all(&self) {
        let wanted = self.want_all();
        self.wait_for(|progress| progress.done >= wanted).await;
    }

    /// Waits until something is there, which is all that was marked or less.
    pub(super) async fn wait_until(&self, is_there: impl Fn() -> bool) {
        if !is_there() {
            self.want_all();
        }
        self.wait_for(|_| is_there()).await;
    }

    async fn wait_for(&self, is_enough: impl FnMut(&Progress) -> bool) {
        // It fails only when the sender is gone, which is here.
        let _sender_lives = self.watch().wait_for(is_enough).await.is_ok();
    }
}
