//! What a former run could keep in the journal and not bring into the history: it goes in first, so
//! that reads see it whether its session is ever used again or not (DU-2).

use std::collections::VecDeque;
use std::sync::Arc;

use samovar_core::history::Projection;
use samovar_core::journal::LogEntry;
use samovar_core::{Broken, Event, Kind, Seq, SessionId};

use super::reading::{read_first, read_kept};
use super::recording::Earlier;
use super::{Projector, Waiting};
use crate::projection;

#[cfg(test)]
mod tests;

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
