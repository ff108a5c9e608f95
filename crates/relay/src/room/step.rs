//! What a room does at once: rows, then changes, then messages to its members.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::Millis;
use samovar_core::relay::{
    Envelope, HostKind, MessageGroup, MessageKind, Payload, RelayCode, RelayRole,
};
use serde_json::json;

use super::Starting;
use super::pending::Request;
use crate::queue::Disconnected;
use crate::row::{CheckedPayload, Direction, NewRow};

/// A member of any room, by the number of its connection.
pub(crate) type Key = u64;

/// Bytes that a message costs beside its payload, about.
const COST: usize = 128;

/// When something happens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RoomTime {
    /// By the clock.
    pub(crate) wall: Millis,
    /// Since the relay began; it does not go back.
    pub(crate) since: Duration,
}

/// A message for a member.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) to: Key,
    pub(crate) envelope: Arc<Envelope>,
    pub(crate) bytes: usize,
    /// Its row in the step; none when that stands elsewhere.
    pub(crate) row: Option<usize>,
}

/// What becomes of the room itself.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    Enter(Key, RelayRole, HostKind),
    Leave(Key),
    /// A host's place is for another.
    Oust(Key),
    /// A request goes to the host under this id; the number is of the last id that was made.
    Remember(String, Request, u64),
    /// It is given up.
    Forget(String),
    /// It is answered.
    Answered(String),
    /// A study session begins when this is answered.
    Starting(Starting),
    /// A study session ends when this request is answered.
    Ending(String),
    /// Nothing of the study session can be kept any more.
    Stop(String),
}

impl Change {
    /// Whether it is so, whatever can be kept of it.
    fn is_fact(&self) -> bool {
        match self {
            Self::Leave(_) | Self::Forget(_) | Self::Answered(_) | Self::Stop(_) => true,
            Self::Enter(..)
            | Self::Oust(_)
            | Self::Remember(..)
            | Self::Starting(_)
            | Self::Ending(_) => false,
        }
    }
}

/// What becomes of the study log.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Move {
    /// The rows go to the file that is open.
    Stays,
    /// They begin a new file, for the session that the host calls so.
    Begins(Option<String>),
    /// They are the last of its file.
    Ends,
}

/// Who began the step, and the id by which it will know an answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) key: Key,
    pub(crate) id: Option<String>,
}

/// What a room does at once.
pub(crate) struct Step {
    pub(crate) at: Millis,
    pub(crate) source: Option<Source>,
    pub(crate) rows: Vec<NewRow>,
    pub(crate) log: Move,
    pub(crate) changes: Vec<Change>,
    pub(crate) deliveries: Vec<Delivery>,
    /// To whom nothing comes after that.
    pub(crate) closes: Vec<(Key, Disconnected)>,
}

/// Who a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subject {
    pub(crate) key: Key,
    pub(crate) role: RelayRole,
    /// The number of an agent.
    pub(crate) member: Option<u64>,
}

impl Step {
    pub(crate) fn new(at: Millis, source: Option<Source>) -> Self {
        Self {
            at,
            source,
            rows: Vec::new(),
            log: Move::Stays,
            changes: Vec::new(),
            deliveries: Vec::new(),
            closes: Vec::new(),
        }
    }

    /// Whether it does nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.changes.is_empty() && self.deliveries.is_empty()
    }

    /// A row of a message.
    pub(crate) fn row(
        &self,
        direction: Direction,
        who: Subject,
        envelope: &Envelope,
        told: &Arc<CheckedPayload>,
    ) -> NewRow {
        NewRow {
            at: self.at,
            direction,
            kind: envelope.kind.as_str(),
            payload: told.clone(),
            role: Some(who.role),
            member: who.member,
            id: envelope.id.clone(),
            reply_to: envelope.reply_to.clone(),
        }
    }

    /// Notes what was received.
    pub(crate) fn received(
        &mut self,
        who: Subject,
        envelope: &Envelope,
        told: &Arc<CheckedPayload>,
    ) {
        let row = self.row(Direction::In, who, envelope, told);
        self.rows.push(row);
    }

    /// Notes something of the relay's own.
    pub(crate) fn note(&mut self, kind: &'static str, who: Option<Subject>, payload: &Payload) {
        self.rows.push(NewRow {
            at: self.at,
            direction: Direction::Internal,
            kind,
            payload: Arc::new(CheckedPayload::of(payload)),
            role: who.map(|who| who.role),
            member: who.and_then(|who| who.member),
            id: None,
            reply_to: None,
        });
    }

    /// Delivers a message, and notes that.
    pub(crate) fn deliver(
        &mut self,
        to: Subject,
        envelope: Arc<Envelope>,
        told: &Arc<CheckedPayload>,
    ) {
        let row = self.row(Direction::Out, to, &envelope, told);
        self.rows.push(row);
        self.deliveries.push(Delivery {
            to: to.key,
            bytes: cost(&envelope, told.bytes()),
            envelope,
            row: Some(self.rows.len() - 1),
        });
    }

    /// The same of a message of which no more is noted than what it was.
    pub(crate) fn refuse_unread(
        &mut self,
        to: Subject,
        refusal: &Refusal,
        (given, bytes): (&Envelope, usize),
    ) {
        let Refusal { code, why } = refusal;
        let noted = payload([
            ("code", code.as_str().into()),
            ("message", json!(why)),
            ("type", given.kind.as_str().into()),
            ("bytes", json!(bytes)),
        ]);
        self.note(crate::row::note::REFUSED, Some(to), &noted);
        self.error(to, refusal, given.id.clone());
    }

    /// Delivers a refusal, and notes that it is one of the relay's own.
    pub(crate) fn refuse(&mut self, to: Subject, refusal: &Refusal, reply_to: Option<String>) {
        let Refusal { code, why } = refusal;
        let noted = payload([("code", code.as_str().into()), ("message", json!(why))]);
        self.note(crate::row::note::REFUSED, Some(to), &noted);
        self.error(to, refusal, reply_to);
    }

    /// Delivers an error.
    pub(crate) fn error(&mut self, to: Subject, refusal: &Refusal, reply_to: Option<String>) {
        let envelope = refusal.envelope(reply_to);
        let told = Arc::new(CheckedPayload::of(&envelope.payload));
        self.deliver(to, Arc::new(envelope), &told);
    }

    /// Delivers an error of which no row can be kept.
    pub(crate) fn error_unkept(&mut self, to: Key, refusal: &Refusal, reply_to: Option<String>) {
        let envelope = refusal.envelope(reply_to);
        self.deliveries.push(Delivery {
            to,
            bytes: cost(&envelope, refusal.why.len()),
            envelope: Arc::new(envelope),
            row: None,
        });
    }

    /// What of it is so although nothing of it could be kept.
    pub(crate) fn facts(&self) -> impl Iterator<Item = Change> {
        self.changes
            .iter()
            .filter(|change| change.is_fact())
            .cloned()
    }
}

/// What a message takes in a queue, in bytes.
pub(crate) fn cost(envelope: &Envelope, payload_bytes: usize) -> usize {
    let ids = [&envelope.id, &envelope.reply_to];
    let ids = ids.into_iter().flatten().map(String::len).sum::<usize>();
    payload_bytes + ids + COST
}

/// Why the relay refuses something.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Refusal {
    pub(crate) code: RelayCode,
    pub(crate) why: String,
}

impl Refusal {
    pub(crate) fn new(code: RelayCode, why: impl Into<String>) -> Self {
        Self {
            code,
            why: why.into(),
        }
    }

    pub(crate) fn message(why: impl Into<String>) -> Self {
        Self::new(RelayCode::InvalidMessage, why)
    }

    pub(crate) fn inactive(why: impl Into<String>) -> Self {
        Self::new(RelayCode::SessionNotActive, why)
    }

    pub(crate) fn envelope(&self, reply_to: Option<String>) -> Envelope {
        Envelope::error(self.code, self.why.as_str()).replying_to(reply_to)
    }
}

/// A payload of these fields.
pub(crate) fn payload<const N: usize>(fields: [(&str, serde_json::Value); N]) -> Payload {
    let fields = fields.into_iter();
    fields.map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Whether this kind of message answers that one (RL-25).
pub(crate) fn answers(reply: MessageKind, request: MessageKind) -> bool {
    reply == MessageKind::Error
        || match request {
            MessageKind::SessionStart => reply == MessageKind::SessionStarted,
            MessageKind::SnapshotGet => reply == MessageKind::SnapshotState,
            MessageKind::ToolCall => reply == MessageKind::ToolResult,
            MessageKind::SessionEnd => reply == MessageKind::SessionEnded,
            other => match other.group() {
                MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => false,
            },
        }
}
