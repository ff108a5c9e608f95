//! The unfinished turns of a session, made of its log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::event::Group;
use samovar_core::{
    AgentPath, Bounds, CallId, Entry, Event, Kind, Message, Outcome, Seq, Situation, TurnId,
};

use crate::context::Transcript;
use crate::delegation;
use crate::log::{master, note_turn};
use crate::queue::Queued;
use crate::turn::Turn;

#[cfg(test)]
mod tests;

/// The unfinished turns of a session, oldest first.
pub(super) struct Fold {
    pub(super) open: Vec<(Seq, TurnId)>,
    pub(super) turns: Vec<(TurnId, AgentPath, Turn)>,
    pub(super) started: HashSet<TurnId>,
    pub(super) said: HashMap<TurnId, FirstMessage>,
    /// What joined a turn, and which.
    pub(super) joined: Vec<(TurnId, Arc<Message>)>,
}

/// What began a turn, or is to begin it.
pub(super) struct FirstMessage {
    pub(super) at: Seq,
    pub(super) message: Arc<Message>,
    pub(super) bounds: Bounds,
    pub(super) entry: Entry,
    pub(super) situation: Option<Arc<Situation>>,
}

impl FirstMessage {
    /// The same as what waits for its turn.
    pub(super) fn queued(&self, turn: TurnId) -> Queued {
        Queued {
            turn,
            message: self.message.clone(),
            bounds: self.bounds,
            entry: self.entry,
            situation: self.situation.clone(),
        }
    }
}

impl Fold {
    pub(super) fn of(events: &[Arc<Event>]) -> Self {
        let mut open = Vec::new();
        for event in events {
            note_turn(&mut open, event);
        }
        let mut turns: Vec<_> = open
            .iter()
            .map(|(_, turn_id)| (turn_id.clone(), master(), Turn::new()))
            .collect();
        let (mut started, mut said) = (HashSet::new(), HashMap::new());
        let mut joined = Vec::new();
        for event in events {
            let Some(turn_id) = &event.turn else { continue };
            if let Some((_, agent, turn)) = turns.iter_mut().find(|(other, ..)| other == turn_id) {
                turn.apply(&event.kind);
                agent.clone_from(&event.agent);
            }
            match &event.kind {
                Kind::TurnStarted { .. } => {
                    started.insert(turn_id.clone());
                }
                Kind::MessageFinished {
                    message,
                    bounds,
                    entry,
                    situation,
                } if message.is_input() => {
                    let first = FirstMessage {
                        at: event.seq,
                        message: Arc::new(message.clone()),
                        bounds: *bounds,
                        entry: *entry,
                        situation: situation.clone(),
                    };
                    match entry {
                        Entry::Own | Entry::Steers | Entry::Interrupts => {
                            said.insert(turn_id.clone(), first);
                        }
                        Entry::Joined => joined.push((turn_id.clone(), first.message)),
                    }
                }
                Kind::TurnUndone { .. } => {
                    said.remove(turn_id);
                }
                other => match other.group() {
                    Group::Session
                    | Group::Turn
                    | Group::Live(_)
                    | Group::Message
                    | Group::Call => {}
                },
            }
        }
        Self {
            open,
            turns,
            started,
            said,
            joined,
        }
    }
}

impl Fold {
    /// The unfinished turns that unfinished turns wait for, each with that one.
    pub(super) fn parents(&self) -> HashMap<TurnId, TurnId> {
        let of_call = self.waiting();
        let children = self.turns.iter().filter_map(|(child, _, turn)| {
            let call = turn.place().parent_call.as_ref()?;
            let parent = of_call.get(call).filter(|_| !turn.place().is_background)?;
            Some((child.clone(), (*parent).clone()))
        });
        children.collect()
    }

    /// Which unfinished turn waits for the child that a call began.
    fn waiting(&self) -> HashMap<&CallId, &TurnId> {
        let turns = self.turns.iter();
        let calls =
            turns.flat_map(|(id, _, turn)| turn.delegated_calls().map(move |call| (call, id)));
        calls.map(|(call, id)| (&call.id, id)).collect()
    }

    /// The unfinished turns whose child is over, with what it left: the server stopped before that
    /// was kept. Of a child that the stores have lost, as after a restore, its caller hears so.
    pub(super) fn ended_children(
        &self,
        events: &[Arc<Event>],
        max: usize,
    ) -> Vec<(TurnId, CallId, Outcome)> {
        let of_call = self.waiting();
        let is_open = |child: &TurnId| self.turns.iter().any(|(open, ..)| open == child);
        let ended = events.iter().filter_map(|event| {
            let Kind::TurnStarted {
                parent_call: Some(call),
                background: false,
                ..
            } = &event.kind
            else {
                return None;
            };
            let child = event.turn.as_ref().filter(|child| !is_open(child))?;
            let parent = of_call.get(call)?;
            let of_child = || {
                events
                    .iter()
                    .filter(|event| event.turn.as_ref() == Some(child))
            };
            let mut turn = Turn::new();
            of_child().for_each(|event| turn.apply(&event.kind));
            let transcript = Transcript::of_turn(of_child(), max);
            let last = delegation::last_said(transcript.messages());
            let outcome = delegation::outcome(turn.outcome()?, last);
            Some(((*parent).clone(), call.clone(), outcome))
        });
        let mut ended: Vec<_> = ended.collect();
        let is_known = |call: &CallId| {
            let mut calls = self.turns.iter().map(|(_, _, turn)| turn.place());
            calls.any(|place| place.parent_call.as_ref() == Some(call))
                || ended.iter().any(|(_, other, _)| other == call)
        };
        let lost = of_call.iter().filter(|(call, _)| !is_known(call));
        let lost = lost.map(|(call, parent)| {
            let (parent, call) = ((*parent).clone(), (*call).clone());
            (parent, call, delegation::lost())
        });
        let lost: Vec<_> = lost.collect();
        ended.extend(lost);
        ended
    }
}
