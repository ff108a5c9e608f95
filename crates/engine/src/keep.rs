//! The one way of facts into a session's log, and everything that follows from them.

use std::sync::Arc;

use samovar_core::{Broken, Event, Kind, SessionChange, failpoint};

use crate::log::{Draft, Keeping, Log};
use crate::parts::Parts;
use crate::projection;
use crate::slots::Slots;
use crate::state::{SharedState, State};
use crate::taint::Taint;

/// What a session's mailbox and its turns share.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) parts: Arc<Parts>,
    pub(crate) log: Log,
    /// The session as its log has it.
    pub(crate) state: SharedState,
    /// What was read from outside.
    pub(crate) taint: Arc<Taint>,
    /// How many children of turns live.
    pub(crate) slots: Slots,
}

impl Session {
    pub(crate) fn new(parts: Arc<Parts>, log: Log, state: State) -> Self {
        let state = SharedState::new(state, parts.counts.waiting());
        Self {
            parts,
            log,
            state,
            taint: Arc::default(),
            slots: Slots::default(),
        }
    }

    /// Keeps facts with one commit; then everything that follows, in this order: the state, open calls,
    /// what readers see, taint, the history, the feed. Nothing else appends to a log (DU-3).
    ///
    /// # Errors
    /// [`Broken`]; nothing was kept or shown, and nothing followed.
    pub(crate) async fn keep(&self, drafts: Vec<Draft>) -> Result<Vec<Arc<Event>>, Broken> {
        let parts = &self.parts;
        if parts.keeping == Keeping::Memory {
            // Before a reader can see it, as what the journal has.
            let used = projection::spent_in(drafts.iter().map(|draft| &draft.kind));
            let patience = parts.settings.read_wait;
            parts.projector.count(used, patience).await;
        }
        let note = |events: &[Arc<Event>]| {
            self.state.apply(events);
            self.note_calls(events);
        };
        let events = self.log.append_noting(drafts, note).await?;
        failpoint!("keep.kept");
        for event in &events {
            parts.counts.note_kept(event);
        }
        self.taint.keep(events.iter().any(taints));
        let seen = self.log.published();
        parts.projector.mark(&self.log);
        self.log.settle(seen);
        if events.iter().any(|event| removes_messages(&event.kind)) {
            parts.blobs.is_due();
        }
        self.weigh();
        failpoint!("keep.followed");
        Ok(events)
    }

    /// Notes what it takes of the budget for memory.
    pub(crate) fn weigh(&self) {
        let (conversations, waiting) = self.state.lock().bytes();
        self.log.has(conversations, waiting);
    }

    fn note_calls(&self, events: &[Arc<Event>]) {
        let (calls, session) = (&self.parts.open_calls, self.log.session());
        let state = self.state.lock();
        let mut last = None;
        for turn in events.iter().filter_map(|event| event.turn.as_ref()) {
            if last.replace(turn) == Some(turn) {
                continue;
            }
            match state.turn(turn) {
                Some(open) => calls.note(session, turn, &open.agent, &open.turn),
                None => calls.forget(session, turn),
            }
        }
    }
}

/// Whether messages leave the history.
fn removes_messages(kind: &Kind) -> bool {
    matches!(kind, Kind::SessionClosed | Kind::TurnUndone { .. })
}

/// Whether an event says that text from outside may be in its session.
fn taints(event: &Arc<Event>) -> bool {
    is_taint(&event.kind)
}

/// The fact that text from outside may be in a session from now on.
pub(crate) fn tainted() -> Kind {
    Kind::SessionChanged(SessionChange {
        tainted: true,
        ..SessionChange::default()
    })
}

/// Whether a fact says that text from outside may be in its session.
pub(crate) fn is_taint(kind: &Kind) -> bool {
    matches!(kind, Kind::SessionChanged(change) if change.tainted)
}
