//! What happened last in each turn that is not over, as far as the history is (SA-11).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::history::{LastEvent, TurnRow};
use samovar_core::{Event, Kind, SessionId, TurnId};

use super::{Projector, read_open};

/// [`Kind::name`] of [`Kind::TurnFinished`].
const FINISHED: &str = "turn_finished";

#[derive(Default)]
pub(super) struct LastEvents(HashMap<TurnId, (SessionId, LastEvent)>);

impl LastEvents {
    /// Takes in durable events of a session, in order.
    pub(super) fn note(&mut self, session: &SessionId, events: &[Arc<Event>]) {
        for event in events {
            let (name, at) = (event.kind.name(), event.at);
            match (&event.kind, &event.turn) {
                (Kind::SessionClosed, _) => self.0.retain(|_, (other, _)| other != session),
                (Kind::TurnFinished { .. }, Some(turn)) => drop(self.0.remove(turn)),
                (Kind::TurnUndone { .. }, _) | (_, None) => {}
                (_, Some(turn)) => {
                    let last = (session.clone(), LastEvent { name, at });
                    self.0.insert(turn.clone(), last);
                }
            }
        }
    }

    fn of(&self, turn: &TurnRow) -> Option<LastEvent> {
        if let Some((_, at)) = turn.end {
            return Some(LastEvent { name: FINISHED, at });
        }
        self.0.get(&turn.turn).map(|(_, last)| *last)
    }
}

impl Projector {
    /// Notes what happened last in turns. What no event of this run tells is in the journal.
    pub(crate) async fn note_last(&self, turns: &mut [TurnRow]) {
        {
            let state = self.state();
            for turn in &mut *turns {
                turn.last = state.last.of(turn);
            }
        }
        let unknown = turns.iter().filter(|turn| turn.last.is_none());
        let unknown: HashSet<_> = unknown.map(|turn| turn.session.clone()).collect();
        if unknown.is_empty() {
            return;
        }
        let journal = self.journal.clone();
        let read = move || {
            let mut kept = LastEvents::default();
            for session in unknown {
                match read_open(journal.as_ref(), &session) {
                    Ok(events) => kept.note(&session, &events),
                    Err(broken) => {
                        tracing::warn!(%session, %broken, "its turns' last events cannot be read");
                    }
                }
            }
            kept
        };
        let kept = tokio::task::spawn_blocking(read).await.unwrap_or_default();
        for turn in turns.iter_mut().filter(|turn| turn.last.is_none()) {
            turn.last = kept.of(turn);
        }
    }
}
