//! Consecutive fragments of one part in one allocation each for their text and for their bounds,
//! instead of an event each.

use std::sync::Arc;

use samovar_core::event::Fragment;
use samovar_core::{AgentPath, Author, Epoch, Event, Kind, MessageId, Millis, Seq, TurnId};

use super::weight::HEAP_BLOCK;

/// Bytes of text after which another run begins: memory lets go of whole runs.
const MAX_TEXT_BYTES: usize = 16 * 1024;

/// Fragments with consecutive positions and one turn, agent, author, epoch, message and part.
pub(super) struct Run {
    first: Seq,
    epoch: Epoch,
    turn: Option<TurnId>,
    agent: AgentPath,
    author: Author,
    message: MessageId,
    part: u16,
    manner: Manner,
    /// When the first was made.
    at: Millis,
    text: String,
    pieces: Vec<Piece>,
}

/// What kind of text the fragments have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Text,
    Reasoning,
    Args,
}

/// One fragment of a run.
struct Piece {
    /// Where its text ends.
    end: u32,
    /// When it was made, in milliseconds after the first.
    later: i32,
}

impl Manner {
    fn fragment(self, text: String) -> Fragment {
        match self {
            Self::Text => Fragment::Text(text),
            Self::Reasoning => Fragment::Reasoning(text),
            Self::Args => Fragment::Args(text),
        }
    }
}

/// What a fragment of text says, and where; `None` if the event is something else.
fn said(event: &Event) -> Option<(&MessageId, u16, Manner, &str)> {
    let Kind::Delta {
        message,
        part,
        fragment,
    } = &event.kind
    else {
        return None;
    };
    let (manner, text) = match fragment {
        Fragment::Text(text) => (Manner::Text, text),
        Fragment::Reasoning(text) => (Manner::Reasoning, text),
        Fragment::Args(text) => (Manner::Args, text),
        Fragment::Call { .. } => return None,
    };
    Some((message, *part, manner, text))
}

impl Run {
    /// A run of this event; `None` if it is no fragment of text.
    pub(super) fn of(event: &Event) -> Option<Self> {
        let (message, part, manner, _) = said(event)?;
        let mut run = Self {
            first: event.seq,
            epoch: event.epoch,
            turn: event.turn.clone(),
            agent: event.agent.clone(),
            author: event.author,
            message: message.clone(),
            part,
            manner,
            at: event.at,
            text: String::new(),
            pieces: Vec::new(),
        };
        run.take(event).then_some(run)
    }

    /// Takes in the event after its last one; false when that needs another run.
    pub(super) fn take(&mut self, event: &Event) -> bool {
        let Some((message, part, manner, text)) = said(event) else {
            return false;
        };
        let fits = event.seq == self.last().next()
            && (event.epoch, event.author) == (self.epoch, self.author)
            && (part, manner) == (self.part, self.manner)
            && *message == self.message
            && event.turn == self.turn
            && event.agent == self.agent;
        let length = self.text.len() + text.len();
        let is_full = !self.pieces.is_empty() && length > MAX_TEXT_BYTES;
        let (Ok(end), Ok(later)) = (
            u32::try_from(length),
            i32::try_from(event.at.0.wrapping_sub(self.at.0)),
        ) else {
            return false;
        };
        if !fits || is_full {
            return false;
        }
        self.text.push_str(text);
        self.pieces.push(Piece { end, later });
        true
    }

    pub(super) fn first(&self) -> Seq {
        self.first
    }

    pub(super) fn last(&self) -> Seq {
        Seq(self.first.0 + self.pieces.len() as u64 - 1)
    }

    /// Its events after a position, made again.
    pub(super) fn after(&self, seq: Seq) -> impl Iterator<Item = Arc<Event>> {
        let passed = (seq.0 + 1).saturating_sub(self.first.0);
        let passed = usize::try_from(passed).unwrap_or(usize::MAX);
        (passed..self.pieces.len()).map(|place| Arc::new(self.event(place)))
    }

    fn event(&self, place: usize) -> Event {
        let start = place
            .checked_sub(1)
            .map_or(0, |before| self.pieces[before].end);
        let Piece { end, later } = self.pieces[place];
        let text = self.text[start as usize..end as usize].to_owned();
        Event {
            seq: Seq(self.first.0 + place as u64),
            epoch: self.epoch,
            at: Millis(self.at.0.wrapping_add(i64::from(later))),
            turn: self.turn.clone(),
            agent: self.agent.clone(),
            author: self.author,
            kind: Kind::Delta {
                message: self.message.clone(),
                part: self.part,
                fragment: self.manner.fragment(text),
            },
        }
    }

    /// How much memory it takes besides itself, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let pieces = self.pieces.capacity() * size_of::<Piece>();
        self.text.capacity() + pieces + 2 * HEAP_BLOCK
    }
}
