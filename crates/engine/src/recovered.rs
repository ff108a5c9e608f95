//! What became of the turns that a former run of the server left.

use std::collections::BTreeMap;

use samovar_core::journal::LogEntry;
use samovar_core::{Broken, Journal, Seq, SessionId, TurnId};
use tokio::sync::watch;

/// Bytes of events that are read to learn which turn is not over.
const FIRST_BYTES: usize = 4096;

/// What became of the turns that a former run of the server left, so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Turns that went on.
    pub continued: u64,
    /// Turns that ended, because they may not continue or could not.
    pub ended: u64,
    /// Calls closed as unknown.
    pub unknown_calls: u64,
    /// Turns that wait for a command to continue, one of each session.
    pub waiting: BTreeMap<SessionId, TurnId>,
}

/// The turns that are not over, of an engine that runs none.
///
/// # Errors
/// [`Broken`].
pub(crate) fn left(
    journal: &dyn Journal,
    unsettled: &[(SessionId, LogEntry)],
) -> Result<Vec<(SessionId, TurnId)>, Broken> {
    let mut left = Vec::new();
    for (session, entry) in unsettled.iter().filter(|(_, entry)| !entry.deleted) {
        let Some(first) = entry.open_from else {
            continue;
        };
        let events = journal.read(entry.log, Seq(first.0.saturating_sub(1)), FIRST_BYTES)?;
        let turn = events.into_iter().find_map(|event| event.turn);
        left.extend(turn.map(|turn| (session.clone(), turn)));
    }
    Ok(left)
}

/// Where that is counted.
pub(crate) struct Ledger(watch::Sender<Books>);

#[derive(Default)]
struct Books {
    recovered: Recovered,
    /// Sessions that are not looked at yet, and turns that nothing is decided about.
    undecided: usize,
}

/// A decision that is still open; dropping this closes it.
pub(crate) struct OpenDecision(watch::Sender<Books>);

impl Ledger {
    pub(crate) fn new() -> Self {
        Self(watch::channel(Books::default()).0)
    }

    /// The counts so far.
    pub(crate) fn read(&self) -> Recovered {
        self.0.borrow().recovered.clone()
    }

    /// Opens a decision.
    pub(crate) fn undecided(&self) -> OpenDecision {
        self.0.send_modify(|books| books.undecided += 1);
        OpenDecision(self.0.clone())
    }

    /// The counts when every decision is made.
    pub(crate) async fn settled(&self) -> Recovered {
        let mut books = self.0.subscribe();
        let settled = books.wait_for(|books| books.undecided == 0).await;
        // The sender lives as long as `self`.
        settled.map_or_else(|_| self.read(), |books| books.recovered.clone())
    }

    pub(crate) fn waits(&self, session: &SessionId, turn: &TurnId) {
        self.note(|recovered| {
            let first = recovered.waiting.entry(session.clone());
            first.or_insert_with(|| turn.clone());
        });
    }

    /// Notes that none of a session's turns waits any more.
    pub(crate) fn none_waits(&self, session: &SessionId) {
        self.note(|recovered| {
            recovered.waiting.remove(session);
        });
    }

    /// Notes that a turn waits no more, and another of its session that still does.
    pub(crate) fn waits_no_more(&self, session: &SessionId, turn: &TurnId, other: Option<&TurnId>) {
        self.note(|recovered| {
            if recovered.waiting.get(session) == Some(turn) {
                recovered.waiting.remove(session);
                let other = other.map(|other| (session.clone(), other.clone()));
                recovered.waiting.extend(other);
            }
        });
    }

    pub(crate) fn continued(&self) {
        self.note(|recovered| recovered.continued += 1);
    }

    pub(crate) fn ended(&self) {
        self.note(|recovered| recovered.ended += 1);
    }

    pub(crate) fn unknown_calls(&self, count: usize) {
        self.note(|recovered| recovered.unknown_calls += count as u64);
    }

    fn note(&self, change: impl FnOnce(&mut Recovered)) {
        self.0.send_modify(|books| change(&mut books.recovered));
    }
}

impl Drop for OpenDecision {
    fn drop(&mut self) {
        self.0.send_modify(|books| books.undecided -= 1);
    }
}
