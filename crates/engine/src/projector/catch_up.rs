//! What a former run could keep in the journal and not bring into the history: it goes in first, so
//! that reads see it whether its session is ever used again or not (DU-2).

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_core::history::Projection;
use samovar_core::journal::{LogEntry, LogNo};
use samovar_core::{Broken, Event, Journal, Kind, Seq, SessionId, TurnId};

use super::Projector;
use super::recording::Earlier;
use crate::projection;

#[cfg(test)]
mod tests;

/// Bytes of events that are read from the journal at once, about.
const READ_BYTES: usize = 1024 * 1024;

/// Logs that a former run left, the deleted ones first: what was created again under the same id
/// comes after.
pub(super) type Unprojected = VecDeque<(SessionId, LogEntry)>;

impl Projector {
    /// Notes what a former run left. From here on reads wait for it.
    pub(crate) fn take_over(&self, left: impl IntoIterator<Item = (SessionId, LogEntry)>) {
        let (deleted, alive): (Vec<_>, Vec<_>) = left
            .into_iter()
            .filter(|(_, entry)| entry.unprojected)
            .partition(|(_, entry)| entry.deleted);
        let left = deleted.into_iter().chain(alive).collect();
        self.state().left = left;
        self.marks.mark();
    }

    /// Brings in what a former run left. What fails stays, and is tried again.
    pub(super) async fn bring_in(&self) -> Result<(), Broken> {
        let mut earlier = None;
        loop {
            let next = self.state().left.front().cloned();
            let Some((session, entry)) = next else {
                return Ok(());
            };
            match self.bring_in_one(&session, &entry, &mut earlier).await {
                Err(broken @ Broken::Damaged(_)) => {
                    tracing::error!(%session, %broken, "a log cannot be brought into the history");
                    self.damages.session(&session, &broken.to_string());
                }
                Err(broken) => return Err(broken),
                Ok(()) => {}
            }
            self.state().left.pop_front();
        }
    }

    async fn bring_in_one(
        &self,
        session: &SessionId,
        entry: &LogEntry,
        earlier: &mut Earlier,
    ) -> Result<(), Broken> {
        let (log, head) = (entry.log, entry.head);
        let mut is_unknown = false;
        let after = if entry.deleted {
            // The deletion is the log's last event, and all that is left to do.
            Seq(head.0.saturating_sub(1))
        } else {
            let row = self.history.session(session).await?;
            is_unknown = row.is_none();
            let row = row.filter(|_| !self.audit.is_short());
            row.map_or(Seq::default(), |row| row.projected)
        };
        let journal = self.journal.clone();
        let read = move || read_kept(journal.as_ref(), log, after, (head, usize::MAX));
        let read = tokio::task::spawn_blocking(read).await;
        let events = read.map_err(|panic| Broken::Io(panic.to_string()))??;
        self.record_left(session, log, &events, earlier).await?;
        if let Some(mut projection) = projection::project(session, &events) {
            if is_unknown && !projection::is_opened(&events) {
                projection.changes.insert(0, projection::reopening(&events));
            }
            // Live events behind the last durable one change no row.
            let up_to = head;
            let projection = Projection {
                up_to,
                ..projection
            };
            if !self.write(vec![projection]).await?.is_empty() {
                return Ok(());
            }
        }
        let mut state = self.state();
        state.note(session, log, head, true);
        state.tidy(log);
        Ok(())
    }
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
