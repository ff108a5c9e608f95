//! Live events packed: what they share once, then only what each adds.
//!
//! A run has consecutive positions and one turn, agent, author and epoch; what differs in one of
//! them begins another run. Inside, times are differences to the event before, and the message and
//! the part are said only where they change.

use std::borrow::Cow;
use std::sync::Arc;

use samovar_core::event::{Fragment, Group, Kind};
use samovar_core::journal::LogNo;
use samovar_core::tool::Progress;
use samovar_core::{
    AgentPath, Author, Broken, CallId, Epoch, Event, MessageId, Millis, Part, Role, Seq, TurnId,
};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};

use super::row::{self, RowKey};

/// Bounds of one row, so that a reader with a small window never has to unpack a whole answer.
const MAX_EVENTS: usize = 256;
const MAX_TEXT_BYTES: usize = 32 * 1024;

/// The rows for live events that are in order. A durable event among them gets a row of its own.
///
/// # Errors
/// [`Broken::Io`] when one cannot be written as JSON.
pub(super) fn pack(log: LogNo, events: &[Arc<Event>]) -> Result<Vec<(Seq, Vec<u8>)>, Broken> {
    let mut rows = Vec::new();
    let mut rest = events;
    while let Some((first, behind)) = rest.split_first() {
        let mut packer = Packer::new(first);
        let taken = rest.iter().take_while(|event| packer.take(event)).count();
        if taken == 0 {
            rows.push((first.seq, row::event(log, first)?));
            rest = behind;
        } else {
            let place = RowKey::new(log, first.seq);
            let row = row::packed(place, taken as u64, &packer.run)?;
            rows.push((first.seq, row));
            rest = &rest[taken..];
        }
    }
    Ok(rows)
}

/// The events of a run's body.
pub(super) fn unpack(first: Seq, body: &[u8]) -> Result<Vec<Event>, serde_json::Error> {
    let run: Run = serde_json::from_slice(body)?;
    let mut unpacker = Unpacker {
        shared: run.shared,
        seq: first,
        at: run.at,
        message: None,
        part: None,
        events: Vec::new(),
    };
    for piece in run.pieces {
        unpacker.read(piece).map_err(serde_json::Error::custom)?;
    }
    Ok(unpacker.events)
}

/// The body of a row.
#[derive(Serialize, Deserialize)]
struct Run<'a> {
    shared: Shared,
    at: Millis,
    pieces: Vec<Piece<'a>>,
}

/// What all events of a run have in common.
#[derive(Serialize, Deserialize)]
struct Shared {
    epoch: Epoch,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    turn: Option<TurnId>,
    agent: AgentPath,
    author: Author,
}

impl Shared {
    fn of(event: &Event) -> Self {
        Self {
            epoch: event.epoch,
            turn: event.turn.clone(),
            agent: event.agent.clone(),
            author: event.author,
        }
    }

    fn fits(&self, event: &Event) -> bool {
        event.epoch == self.epoch
            && event.turn == self.turn
            && event.agent == self.agent
            && event.author == self.author
    }
}

/// Milliseconds since the event before.
type ElapsedMillis = i64;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Piece<'a> {
    /// What follows belongs to this message.
    Message(Cow<'a, MessageId>),
    /// The fragments that follow belong to this part.
    Part(u16),
    /// The message begins.
    Started(ElapsedMillis, Role),
    /// Fragments of text, one event each.
    Text(FragmentKind, Vec<(ElapsedMillis, Cow<'a, str>)>),
    /// A fragment that begins a call.
    Call(ElapsedMillis, Cow<'a, CallId>, Cow<'a, str>),
    /// A part that came whole, with its place.
    Added(ElapsedMillis, u16, Cow<'a, Part>),
    /// How far a model's server is with the prompt.
    Prompt(ElapsedMillis, u64, u64),
    /// How far a call is.
    Progress(ElapsedMillis, Cow<'a, CallId>, Cow<'a, Progress>),
}

/// Which kind of fragment a text is.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FragmentKind {
    Text,
    Reasoning,
    Args,
}

struct Packer<'a> {
    run: Run<'a>,
    next: Seq,
    at: Millis,
    message: Option<&'a MessageId>,
    part: Option<u16>,
    events: usize,
    text_bytes: usize,
}

impl<'a> Packer<'a> {
    fn new(first: &Event) -> Self {
        Self {
            run: Run {
                shared: Shared::of(first),
                at: first.at,
                pieces: Vec::new(),
            },
            next: first.seq,
            at: first.at,
            message: None,
            part: None,
            events: 0,
            text_bytes: 0,
        }
    }

    /// Takes an event in, unless it needs another row.
    fn take(&mut self, event: &'a Event) -> bool {
        let is_full = self.events == MAX_EVENTS || self.text_bytes >= MAX_TEXT_BYTES;
        if is_full || event.seq != self.next || !self.run.shared.fits(event) {
            return false;
        }
        let since = event.at.0.wrapping_sub(self.at.0);
        if !self.take_kind(since, &event.kind) {
            return false;
        }
        self.events += 1;
        self.at = event.at;
        self.next = event.seq.next();
        true
    }

    fn take_kind(&mut self, since: ElapsedMillis, kind: &'a Kind) -> bool {
        match kind {
            Kind::MessageStarted { message, role } => {
                self.turn_to(message);
                self.run.pieces.push(Piece::Started(since, *role));
            }
            Kind::Delta {
                message,
                part,
                fragment,
            } => {
                self.turn_to(message);
                self.turn_to_part(*part);
                self.add(since, fragment);
            }
            Kind::PartAdded {
                message,
                index,
                part,
            } => {
                self.turn_to(message);
                let piece = Piece::Added(since, *index, Cow::Borrowed(part));
                self.run.pieces.push(piece);
            }
            Kind::CallProgress {
                message,
                call,
                progress,
            } => {
                self.turn_to(message);
                self.text_bytes += progress.last.len();
                let (call, progress) = (Cow::Borrowed(call), Cow::Borrowed(progress));
                self.run.pieces.push(Piece::Progress(since, call, progress));
            }
            Kind::PromptProgress {
                message,
                read,
                total,
            } => {
                self.turn_to(message);
                self.run.pieces.push(Piece::Prompt(since, *read, *total));
            }
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {
                    return false;
                }
            },
        }
        true
    }

    fn turn_to(&mut self, message: &'a MessageId) {
        if self.message != Some(message) {
            self.message = Some(message);
            self.part = None;
            self.run.pieces.push(Piece::Message(Cow::Borrowed(message)));
        }
    }

    fn turn_to_part(&mut self, part: u16) {
        if self.part != Some(part) {
            self.part = Some(part);
            self.run.pieces.push(Piece::Part(part));
        }
    }

    fn add(&mut self, since: ElapsedMillis, fragment: &'a Fragment) {
        let (manner, text) = match fragment {
            Fragment::Text(text) => (FragmentKind::Text, text),
            Fragment::Reasoning(text) => (FragmentKind::Reasoning, text),
            Fragment::Args(text) => (FragmentKind::Args, text),
            Fragment::Call { id, name } => {
                let piece = Piece::Call(since, Cow::Borrowed(id), name.into());
                self.run.pieces.push(piece);
                return;
            }
        };
        self.text_bytes += text.len();
        let said = (since, text.into());
        if let Some(Piece::Text(last, more)) = self.run.pieces.last_mut()
            && *last == manner
        {
            more.push(said);
        } else {
            self.run.pieces.push(Piece::Text(manner, vec![said]));
        }
    }
}

struct Unpacker {
    shared: Shared,
    seq: Seq,
    at: Millis,
    message: Option<MessageId>,
    part: Option<u16>,
    events: Vec<Event>,
}

impl Unpacker {
    fn read(&mut self, piece: Piece<'_>) -> Result<(), &'static str> {
        match piece {
            Piece::Message(message) => {
                self.message = Some(message.into_owned());
                self.part = None;
            }
            Piece::Part(part) => self.part = Some(part),
            Piece::Started(since, role) => {
                let message = self.message()?;
                self.push(since, Kind::MessageStarted { message, role });
            }
            Piece::Text(manner, said) => {
                for (since, text) in said {
                    self.push_text(since, manner, text.into_owned())?;
                }
            }
            Piece::Call(since, id, name) => {
                let (id, name) = (id.into_owned(), name.into_owned());
                self.push_delta(since, Fragment::Call { id, name })?;
            }
            Piece::Added(since, index, part) => {
                let (message, part) = (self.message()?, part.into_owned());
                let kind = Kind::PartAdded {
                    message,
                    index,
                    part,
                };
                self.push(since, kind);
            }
            Piece::Prompt(since, read, total) => {
                let kind = Kind::PromptProgress {
                    message: self.message()?,
                    read,
                    total,
                };
                self.push(since, kind);
            }
            Piece::Progress(since, call, progress) => {
                let kind = Kind::CallProgress {
                    message: self.message()?,
                    call: call.into_owned(),
                    progress: progress.into_owned(),
                };
                self.push(since, kind);
            }
        }
        Ok(())
    }

    fn message(&self) -> Result<MessageId, &'static str> {
        self.message.clone().ok_or("a piece without a message")
    }

    fn push_text(
        &mut self,
        since: ElapsedMillis,
        manner: FragmentKind,
        text: String,
    ) -> Result<(), &'static str> {
        let fragment = match manner {
            FragmentKind::Text => Fragment::Text(text),
            FragmentKind::Reasoning => Fragment::Reasoning(text),
            FragmentKind::Args => Fragment::Args(text),
        };
        self.push_delta(since, fragment)
    }

    fn push_delta(&mut self, since: ElapsedMillis, fragment: Fragment) -> Result<(), &'static str> {
        let kind = Kind::Delta {
            message: self.message()?,
            part: self.part.ok_or("a fragment without a part")?,
            fragment,
        };
        self.push(since, kind);
        Ok(())
    }

    fn push(&mut self, since: ElapsedMillis, kind: Kind) {
        self.at = Millis(self.at.0.wrapping_add(since));
        self.events.push(Event {
            seq: self.seq,
            epoch: self.shared.epoch,
            at: self.at,
            turn: self.shared.turn.clone(),
            agent: self.shared.agent.clone(),
            author: self.shared.author,
            kind,
        });
        self.seq = self.seq.next();
    }
}

#[cfg(test)]
mod tests;
