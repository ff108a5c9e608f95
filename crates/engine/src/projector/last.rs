//! What happened last in each turn that is not over, as far as the history is (SA-11).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::history::{LastEvent, TurnRow};
use samovar_core::{Event, Journal, Kind, SessionId, TurnId};

use super::reading::read_open;

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

    /// Tells turns what happened last in them, as far as it is known here.
    pub(super) fn tell(&self, turns: &mut [TurnRow]) {
        for turn in turns.iter_mut().filter(|turn| turn.last.is_none()) {
            turn.last = self.of(turn);
        }
    }

    fn of(&self, turn: &TurnRow) -> Option<LastEvent> {
        if let Some((_, at)) = turn.end {
            return Some(LastEvent { name: FINISHED, at });
        }
        self.0.get(&turn.turn).map(|(_, last)| *last)
    }
}

/// Tells turns of which no event of this run says it, as the journal has it.
pub(super) async fn look_up(journal: Arc<dyn Journal>, turns: &mut [TurnRow]) {
    let unknown = turns.iter().filter(|turn| turn.last.is_none());
    let unknown: HashSet<_> = unknown.map(|turn| turn.session.clone()).collect();
    if unknown.is_empty() {
        return;
    }
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
    let kept = tokio::task::spawn_blocking(read).await;
    kept.unwrap_or_default().tell(turns);
}
