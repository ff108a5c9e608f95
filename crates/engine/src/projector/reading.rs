//! What a log has, read for the history and for those who need all of it.

use std::sync::Arc;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Event, Journal, Kind, Seq, SessionId, TurnId};

use crate::log::{FollowError, Log};

/// Bytes of events that are read from the journal at once, about.
const READ_BYTES: usize = 1024 * 1024;

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

/// The durable events of a log after a position, up to its head, and at most so many.
///
/// # Errors
/// [`Broken`] when the journal cannot be read.
pub(crate) fn read_kept(
    journal: &dyn Journal,
    log: LogNo,
    after: Seq,
    (head, most): (Seq, usize),
) -> Result<Vec<Arc<Event>>, Broken> {
    let mut events = Vec::new();
    let mut at = after;
    while at < head && events.len() < most {
        let (more, seen) = journal.read_durable(log, at, READ_BYTES)?;
        if seen <= at {
            break;
        }
        at = seen;
        // A session that continues meanwhile has more; its own run brings that in.
        events.extend(more.into_iter().filter(|event| event.seq <= head));
    }
    Ok(events.into_iter().take(most).map(Arc::new).collect())
}

/// The durable events of a turn, whose first one is at a position; none if the journal has forgotten it.
/// Nothing before the turn or after its end is read.
///
/// # Errors
/// [`Broken`] when the journal cannot be read.
pub(crate) fn read_turn(
    journal: &dyn Journal,
    (log, head): (LogNo, Seq),
    (turn, first): (&TurnId, Seq),
) -> Result<Vec<Arc<Event>>, Broken> {
    let mut events = Vec::new();
    let mut at = Seq(first.0.saturating_sub(1));
    while at < head {
        let (more, seen) = journal.read_durable(log, at, READ_BYTES)?;
        if seen <= at {
            break;
        }
        at = seen;
        let is_there = !events.is_empty() || more.first().is_none_or(|event| event.seq == first);
        let is_its = |event: &Event| event.turn.as_ref() == Some(turn) && event.seq <= head;
        let is_end = |event: &Event| matches!(event.kind, Kind::TurnFinished { .. });
        let is_over = more.iter().any(|event| is_its(event) && is_end(event));
        events.extend(more.into_iter().filter(is_its).map(Arc::new));
        if !is_there || is_over {
            break;
        }
    }
    Ok(events)
}

/// The durable events of a session from the first of an open turn on; nothing of it comes into
/// memory.
///
/// # Errors
/// [`Broken`] when the journal cannot be read.
pub(crate) fn read_open(
    journal: &dyn Journal,
    session: &SessionId,
) -> Result<Vec<Arc<Event>>, Broken> {
    let entry = journal.entry(session)?.filter(|entry| !entry.deleted);
    let Some((first, entry)) = entry.and_then(|entry| Some((entry.open_from?, entry))) else {
        return Ok(Vec::new());
    };
    let after = Seq(first.0.saturating_sub(1));
    read_kept(journal, entry.log, after, (entry.head, usize::MAX))
}
