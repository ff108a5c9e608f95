//! The full profile (AS-8): the log's own events, of one turn and its sub-turns.

use std::borrow::Cow;
use std::collections::HashSet;

use samovar_core::event::Author;
use samovar_core::{AgentPath, CallId, Epoch, Event, Kind, MessageId, Millis, Seq, TurnId};
use serde::{Deserialize, Serialize};

use super::message::metadata;

/// Decides from the log alone which events belong to a turn or one of its sub-turns.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    root: TurnId,
    turns: HashSet<TurnId>,
    messages: HashSet<MessageId>,
    calls: HashSet<CallId>,
    is_over: bool,
}

impl Family {
    pub(crate) fn new(root: TurnId) -> Self {
        Self {
            turns: HashSet::from([root.clone()]),
            root,
            messages: HashSet::new(),
            calls: HashSet::new(),
            is_over: false,
        }
    }

    /// Whether the first turn has ended.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes the next event, and returns whether it belongs to the family. No event may be given
    /// after the first turn is over.
    pub(crate) fn admit(&mut self, event: &Event) -> bool {
        if matches!(event.kind, Kind::SessionClosed) {
            self.is_over = true;
            return true;
        }
        let Some(turn) = &event.turn else {
            return false;
        };
        if self.begets(&event.kind) {
            self.turns.insert(turn.clone());
        }
        let is_ours = self.turns.contains(turn);
        if is_ours {
            self.learn(&event.kind);
            self.is_over = *turn == self.root && matches!(event.kind, Kind::TurnFinished { .. });
        }
        is_ours
    }

    /// Whether the event's turn answers a call of the family. Its input, which comes first, names
    /// the message with the call; its start names the call.
    fn begets(&self, kind: &Kind) -> bool {
        match kind {
            Kind::MessageFinished { message, .. } => message
                .parent
                .as_ref()
                .is_some_and(|parent| self.messages.contains(parent)),
            Kind::TurnStarted {
                parent_call: Some(call),
                ..
            } => self.calls.contains(call),
            _ => false,
        }
    }

    fn learn(&mut self, kind: &Kind) {
        if let Kind::MessageFinished { message, .. } = kind {
            let calls = message.calls().map(|call| call.id.clone());
            self.calls.extend(calls);
            self.messages.insert(message.id.clone());
        }
    }
}

/// An event as a client reads it from a stream of the full profile.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct ShownEvent {
    /// The event itself.
    #[serde(flatten)]
    pub kind: Kind,
    /// The position in the session's log.
    pub seq: Seq,
    /// When it was made.
    pub at: Millis,
    /// The turn, if it belongs to one.
    #[serde(default)]
    pub turn: Option<TurnId>,
    /// The agent whose turn it is.
    pub agent: AgentPath,
    /// Who caused it.
    pub author: Author,
}

impl From<ShownEvent> for Event {
    fn from(shown: ShownEvent) -> Self {
        Self {
            seq: shown.seq,
            // Frames say it in their ids alone.
            epoch: Epoch::default(),
            at: shown.at,
            turn: shown.turn,
            agent: shown.agent,
            author: shown.author,
            kind: shown.kind,
        }
    }
}

/// An event as the full profile shows it: the fields of its kind and those of every event.
#[derive(Serialize)]
pub(crate) struct WholeEvent<'a> {
    #[serde(flatten)]
    kind: Cow<'a, Kind>,
    seq: Seq,
    at: Millis,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<&'a TurnId>,
    agent: &'a AgentPath,
    author: Author,
}

impl<'a> From<&'a Event> for WholeEvent<'a> {
    fn from(event: &'a Event) -> Self {
        Self {
            kind: shown(event),
            seq: event.seq,
            at: event.at,
            turn: event.turn.as_ref(),
            agent: &event.agent,
            author: event.author,
        }
    }
}

/// An event's kind, a whole message with the agent that it belongs to, as the history shows it (SA-8).
fn shown(event: &Event) -> Cow<'_, Kind> {
    let mut kind = Cow::Borrowed(&event.kind);
    if let Kind::MessageFinished { message, .. } = &event.kind {
        let about = metadata(message, &event.agent, event.turn.as_ref());
        if let Kind::MessageFinished { message, .. } = kind.to_mut() {
            message.metadata = about;
        }
    }
    kind
}
