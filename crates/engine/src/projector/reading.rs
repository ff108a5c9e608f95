//! What a log has, read for the history and for those who need all of it.

use std::sync::Arc;

use samovar_core::{Broken, Event, Kind, Seq};

use super::{Projector, Waiting, read_kept};
use crate::log::{FollowError, Log};

impl Projector {
    /// What a log has after a position, the first of it: out of memory, or of the journal once it has
    /// left memory.
    pub(super) async fn read(
        &self,
        log: &Waiting,
        from: Seq,
        most: usize,
    ) -> Result<Vec<Arc<Event>>, Broken> {
        if let Some(warm) = log.log.upgrade() {
            return read_first(&warm, from, warm.published(), most).await;
        }
        let (journal, number, head) = (self.journal.clone(), log.number, log.head);
        let read = move || read_kept(journal.as_ref(), number, from, (head, most));
        let read = tokio::task::spawn_blocking(read).await;
        read.map_err(|panic| Broken::Io(panic.to_string()))?
    }

    /// The deletion that a log ends with; what stands before it need not be read any longer.
    pub(super) async fn deletion(&self, log: &Waiting) -> Option<Arc<Event>> {
        let before = Seq(log.head.0.saturating_sub(1));
        let event = self.read(log, before, 1).await.ok()?.pop()?;
        matches!(event.kind, Kind::SessionClosed).then_some(event)
    }
}

/// The published durable events of a log after a position.
pub(crate) async fn read_all(log: &Log, from: Seq, to: Seq) -> Result<Vec<Arc<Event>>, Broken> {
    read_first(log, from, to, usize::MAX).await
}

/// The first of them, at most so many.
pub(super) async fn read_first(
    log: &Log,
    from: Seq,
    to: Seq,
    most: usize,
) -> Result<Vec<Arc<Event>>, Broken> {
    if let Some(events) = log.durable(from, to, most) {
        return Ok(events);
    }
    read_those(log, from, (to, most), |event| event.kind.is_durable()).await
}

/// Those of a log's published events behind a position that are wanted, live ones too: up to a
/// position, and at most so many.
pub(crate) async fn read_those(
    log: &Log,
    from: Seq,
    (to, most): (Seq, usize),
    is_wanted: impl Fn(&Event) -> bool,
) -> Result<Vec<Arc<Event>>, Broken> {
    let mut follower = log.follow(from);
    let mut events = Vec::new();
    let mut at = from;
    while at < to && events.len() < most {
        match follower.next().await {
            Ok(more) => {
                at = more.last().map_or(to, |event| event.seq);
                events.extend(more.into_iter().filter(|event| is_wanted(event)));
            }
            Err(FollowError::Broken(broken)) => return Err(broken),
            Err(FollowError::Stopping) => return Err(Broken::Io("the log is closed".to_owned())),
            Err(FollowError::Gone(seq)) => {
                let lost = format!("{} lacks the events behind {}", log.session(), seq.0);
                return Err(Broken::Damaged(lost));
            }
        }
    }
    events.truncate(most);
    Ok(events)
}
