//! The one way of facts into a session's log, and everything that follows from them.

use std::sync::Arc;

use samovar_core::{AgentPath, Broken, Entry, Event, Kind, Seq, SessionChange, TurnId, failpoint};

use crate::context::Transcript;
use crate::log::{Draft, Keeping, Log};
use crate::parts::Parts;
use crate::projection;
use crate::queue::Queue;
use crate::slots::Slots;
use crate::taint::Taint;
use crate::turn::Turn;

/// What a session's mailbox and its turns share.
#[derive(Clone)]
pub(crate) struct Session {
    pub(crate) parts: Arc<Parts>,
    pub(crate) log: Log,
    /// The messages that wait, and the results of children in the background.
    pub(crate) queue: Queue,
    /// What was read from outside.
    pub(crate) taint: Arc<Taint>,
    /// How many children of turns live.
    pub(crate) slots: Slots,
}

/// The turn that facts are about.
pub(crate) struct About<'a> {
    pub(crate) turn_id: &'a TurnId,
    pub(crate) agent: &'a AgentPath,
    /// The turn as it is with these facts; none where it does not run and nothing waits for it.
    pub(crate) turn: Option<&'a Turn>,
    /// What its model is shown.
    pub(crate) transcript: Option<&'a mut Transcript>,
}

impl Session {
    pub(crate) fn new(parts: Arc<Parts>, log: Log) -> Self {
        let queue = Queue::counted(parts.counts.waiting());
        Self {
            parts,
            log,
            queue,
            taint: Arc::default(),
            slots: Slots::default(),
        }
    }

    /// Keeps facts with one commit; then everything that follows, in this order: open calls, what
    /// readers see, accounts, taint, messages that joined, the history, the feed, the conversation. Nothing else appends to a log
    /// (DU-3). What the mailbox alone has follows in [`crate::session`].
    ///
    /// # Errors
    /// [`Broken`]; nothing was kept or shown, and nothing followed.
    pub(crate) async fn keep(
        &self,
        drafts: Vec<Draft>,
        mut about: Option<About<'_>>,
    ) -> Result<Vec<Arc<Event>>, Broken> {
        let parts = &self.parts;
        // Before a reader can see them, so that each can be closed at once.
        if let Some((turn_id, turn)) = about.as_ref().and_then(About::folded) {
            parts.open_calls.expect(turn_id, turn);
        }
        if parts.keeping == Keeping::Memory {
            // Before a reader can see it, as what the journal has.
            let used = projection::spent_in(drafts.iter().map(|draft| &draft.kind));
            let patience = parts.settings.read_wait;
            parts.projector.count(used, patience).await;
        }
        let first = about.as_ref().and_then(|it| self.log.first_of(it.turn_id));
        let note = |events: &[Arc<Event>]| {
            if let Some(about) = &about {
                self.note_calls(about, events);
            }
        };
        let events = self.log.append_noting(drafts, note).await?;
        failpoint!("keep.kept");
        parts.purses.note(&events);
        for event in &events {
            parts.counts.note_kept(event);
        }
        self.taint.keep(events.iter().any(taints));
        if let Some(about) = &about {
            self.note_joined(about.turn_id, first, &events);
        }
        let seen = self.log.published();
        parts.projector.mark(&self.log);
        self.log.settle(seen);
        if events.iter().any(|event| removes_messages(&event.kind)) {
            parts.blobs.is_due();
        }
        if let Some(about) = &mut about {
            about.take(&events);
        }
        failpoint!("keep.followed");
        Ok(events)
    }

    fn note_joined(&self, turn: &TurnId, first: Option<Seq>, events: &[Arc<Event>]) {
        let joins = |event: &Arc<Event>| {
            let entry = match &event.kind {
                Kind::MessageFinished { entry, .. } => Some(*entry),
                _ => None,
            };
            entry == Some(Entry::Joined)
        };
        if events.iter().any(joins) {
            let after = first.map_or(Seq::default(), |first| Seq(first.0.saturating_sub(1)));
            self.queue.have_joined(turn, after);
        }
    }

    fn note_calls(&self, about: &About<'_>, events: &[Arc<Event>]) {
        let (calls, session) = (&self.parts.open_calls, self.log.session());
        if let Some((turn_id, turn)) = about.folded() {
            calls.note(session, turn_id, about.agent, turn);
        } else if events
            .iter()
            .any(|event| matches!(event.kind, Kind::TurnFinished { .. }))
        {
            calls.forget(session, about.turn_id);
        }
    }
}

impl About<'_> {
    fn folded(&self) -> Option<(&TurnId, &Turn)> {
        Some((self.turn_id, self.turn?))
    }

    fn take(&mut self, events: &[Arc<Event>]) {
        let Some(transcript) = &mut self.transcript else {
            return;
        };
        for event in events {
            if event.turn.as_ref() == Some(self.turn_id) {
                transcript.take(event);
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
