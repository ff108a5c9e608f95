//! A message that waits for its turn.

use std::sync::Arc;

use samovar_core::{Bounds, Entry, Kind, Message, Situation, TurnId};

/// A message that waits for its turn, or to join the one that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Queued {
    pub(crate) turn: TurnId,
    pub(crate) message: Arc<Message>,
    pub(crate) bounds: Bounds,
    pub(crate) entry: Entry,
    /// The situation of its own turn.
    pub(crate) situation: Option<Arc<Situation>>,
}

impl Queued {
    /// The message that a fact says; `None` for any other fact.
    pub(super) fn of(turn: &TurnId, kind: &Kind) -> Option<Self> {
        let Kind::MessageFinished {
            message,
            bounds,
            entry,
            situation,
        } = kind
        else {
            return None;
        };
        Some(Self {
            turn: turn.clone(),
            message: Arc::new(message.clone()),
            bounds: *bounds,
            entry: *entry,
            situation: situation.clone(),
        })
    }
}
