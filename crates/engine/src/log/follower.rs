//! The readers of a log, each at its own pace.

use std::sync::Arc;

use samovar_core::{Broken, Damages, Event, Kind, Seq, planted};
use samovar_locale as locale;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Log;

/// Bytes of events that one pull brings, about.
const PULL_BYTES: usize = 64 * 1024;

/// A reader that pulls a session's events by position, without gap or repeat. It holds no queue: a
/// reader that stalls costs nothing to the turn.
pub struct Follower {
    pub(super) log: Log,
    pub(super) at: Seq,
    published: watch::Receiver<Seq>,
    stop: CancellationToken,
    damages: Option<Arc<dyn Damages>>,
}

/// Why a follower cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// The events after its position are no longer kept.
    #[error("{}", locale::session::events_gone(.0.0))]
    Gone(Seq),
    /// The server stops. The rest comes after its position.
    #[error("{}", locale::server::stops())]
    Stopping,
    /// The store failed.
    #[error(transparent)]
    Broken(#[from] Broken),
}

impl Follower {
    pub(super) fn new(log: Log, at: Seq, published: watch::Receiver<Seq>) -> Self {
        Self {
            log,
            at,
            published,
            stop: CancellationToken::new(),
            damages: None,
        }
    }

    /// Ends the reader once this is cancelled and it has all that was shown before.
    pub(crate) fn until(mut self, stop: CancellationToken) -> Self {
        self.stop = stop;
        self
    }

    /// Tells of what it finds damaged.
    pub(crate) fn telling(mut self, damages: Arc<dyn Damages>) -> Self {
        self.damages = Some(damages);
        self
    }

    /// The next events, at least one; waits until there is one.
    ///
    /// Dropping the future halfway loses nothing.
    ///
    /// # Errors
    /// [`FollowError`] when the position is too old or the store fails.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, FollowError> {
        loop {
            if *self.published.borrow_and_update() > self.at {
                let events = self.pull().await.map_err(|lost| match lost {
                    // The stores are closed last: some readers have not read all by then.
                    FollowError::Broken(_) if self.stop.is_cancelled() => FollowError::Stopping,
                    lost => self.told(lost),
                })?;
                let last = events.last().ok_or(FollowError::Gone(self.at))?;
                self.at = last.seq;
                planted!("double-publish", {
                    return Ok(events.iter().chain([last]).cloned().collect());
                });
                return Ok(events);
            }
            tokio::select! {
                // Events that were published before the stop come before the news of it.
                biased;
                changed = self.published.changed() => {
                    // The sender lives in the log, which this follower holds.
                    changed.map_err(|_| FollowError::Stopping)?;
                }
                () = self.stop.cancelled() => return Err(FollowError::Stopping),
            }
        }
    }

    fn told(&self, lost: FollowError) -> FollowError {
        if let (FollowError::Broken(Broken::Damaged(why)), Some(damages)) = (&lost, &self.damages) {
            damages.session(self.log.session(), why);
        }
        lost
    }

    async fn pull(&self) -> Result<Vec<Arc<Event>>, FollowError> {
        let (after, shared) = (self.at, self.log.shared.clone());
        let in_memory = {
            let mut state = shared.state();
            state.tail.is_read(Some(after));
            state.tail.read(after, PULL_BYTES)
        };
        if let Some(events) = in_memory {
            return Ok(events);
        }
        let read = move || shared.journal.read(shared.log, after, PULL_BYTES);
        let read = tokio::task::spawn_blocking(read).await;
        let events = read.map_err(|panic| Broken::Io(panic.to_string()))??;
        // Events in the journal that are not published yet wait, and so do those after live events
        // that are still in memory alone.
        let published = self.log.published();
        let mut at = after;
        let gapless = events.into_iter().take_while(|event| {
            let is_gapless = is_next(at, event) && event.seq <= published;
            at = event.seq;
            is_gapless
        });
        Ok(gapless.map(Arc::new).collect())
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut state = self.log.shared.state();
        state.readers -= 1;
        if state.readers == 0 {
            state.tail.is_read(None);
        }
        state.release();
    }
}

/// Whether an event comes right after a position: it is the next one, or the notice that the next
/// ones are lost. A reader in the middle of lost events has to be told of the rest.
fn is_next(at: Seq, event: &Event) -> bool {
    let first = match event.kind {
        Kind::EventsLost { first } => first,
        _ => event.seq,
    };
    first <= at.next() && at < event.seq
}
