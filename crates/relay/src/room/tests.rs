//! The room alone: who may say what in which state, where it goes, and any order of all that.

mod any_order;
mod losses;
mod table;

use serde_json::{Value, json};

use super::*;

/// The host of the scenes, and their agents.
const HOST: Key = 1;
const AGENT: Key = 2;
const OTHER: Key = 3;

pub(super) const RULES: Rules = Rules {
    strictness: Strictness::Permissive,
    reply_timeout: Duration::from_secs(30),
    max_members: 64,
    max_open: 256,
};

pub(super) fn at(seconds: u64) -> RoomTime {
    RoomTime {
        wall: samovar_core::Millis(1_770_978_137_000),
        since: Duration::from_secs(seconds),
    }
}

fn fields(payload: &Value) -> Payload {
    payload.as_object().cloned().unwrap()
}

fn message(kind: MessageKind, payload: &Value) -> Envelope {
    Envelope::new(kind, fields(payload))
}

/// A payload that the kind can have.
fn fitting(kind: MessageKind) -> Value {
    match kind {
        MessageKind::RelayJoin | MessageKind::RelayJoined => json!({"role": "agent"}),
        MessageKind::ToolCall => json!({"toolName": "next", "params": {}, "reason": "so"}),
        MessageKind::AgentMessage | MessageKind::UserMessage => json!({"text": "hello"}),
        MessageKind::Error => json!({"code": "UNKNOWN_TOOL", "message": "no"}),
        MessageKind::SessionStarted | MessageKind::SessionEnded => json!({"sessionId": "s-1"}),
        MessageKind::SessionStart
        | MessageKind::SnapshotGet
        | MessageKind::SnapshotState
        | MessageKind::ToolResult
        | MessageKind::StateUpdated
        | MessageKind::SessionEnd => json!({}),
    }
}

/// A room to which things happen.
struct Scene {
    room: Room,
    now: RoomTime,
}

impl Scene {
    /// A room with nobody in it.
    fn empty(rules: Rules) -> Self {
        Self {
            room: Room::new("r".to_owned(), rules),
            now: at(0),
        }
    }

    /// A host and two agents.
    fn full() -> Self {
        Self::empty(RULES).with_all()
    }

    fn with_all(mut self) -> Self {
        self.enters(HOST, RelayRole::Host);
        self.enters(AGENT, RelayRole::Agent);
        self.enters(OTHER, RelayRole::Agent);
        self
    }

    fn enters(&mut self, key: Key, role: RelayRole) -> Step {
        let asked = message(MessageKind::RelayJoin, &json!({"role": role.as_str()}));
        let step = self
            .room
            .joined(key, role, &asked.with_id("join"), self.now);
        self.happens(step)
    }

    /// What a member says, as its step; the room is as it is behind that.
    fn says(&mut self, key: Key, envelope: Envelope) -> Step {
        let step = self.room.said(key, envelope, self.now);
        self.happens(step)
    }

    fn asks(&mut self, key: Key, kind: MessageKind, id: &str) -> Step {
        self.says(key, message(kind, &fitting(kind)).with_id(id))
    }

    fn answers(&mut self, kind: MessageKind, id: &str) -> Step {
        let reply = message(kind, &fitting(kind));
        self.says(HOST, reply.replying_to(Some(id.to_owned())))
    }

    fn leaves(&mut self, key: Key) -> Step {
        let step = self.room.left(key, 0, self.now);
        self.happens(step)
    }

    fn passes(&mut self, seconds: u64) -> Step {
        self.now.since += Duration::from_secs(seconds);
        let step = self.room.tick(self.now);
        self.happens(step)
    }

    /// Does what a step says, as the log does it that takes everything.
    fn happens(&mut self, mut step: Step) -> Step {
        self.room.apply(step.changes.clone());
        match &step.log {
            Move::Stays => {}
            Move::Begins(_) => self.room.begun("s-1".to_owned()),
            Move::Ends => self.room.ended(),
        }
        step.changes.clear();
        step
    }

    /// A study session is open.
    fn studies(mut self) -> Self {
        self.asks(AGENT, MessageKind::SessionStart, "start");
        self.answers(MessageKind::SessionStarted, "start");
        assert_eq!(*self.room.study(), Study::Open("s-1".to_owned()));
        self
    }
}

/// Where a step's messages go: `2 tool.result >a` each.
fn sent(step: &Step) -> Vec<String> {
    let short = |delivery: &Delivery| {
        let Delivery { to, envelope, .. } = delivery;
        let id = envelope.id.as_deref().unwrap_or_default();
        let reply_to = envelope.reply_to.as_deref().unwrap_or_default();
        let code = envelope.payload.get("code").and_then(Value::as_str);
        let kind = code.unwrap_or(envelope.kind.as_str());
        format!("{to} {kind} {id}>{reply_to}")
    };
    step.deliveries.iter().map(short).collect()
}

/// The rows of a step: `in tool.call 1`, with the number of an agent.
fn noted(step: &Step) -> Vec<String> {
    let short = |row: &NewRow| {
        let who = match (row.role, row.member) {
            (Some(RelayRole::Host), _) => "host".to_owned(),
            (_, Some(number)) => number.to_string(),
            (_, None) => "-".to_owned(),
        };
        format!("{} {} {who}", row.direction.as_str(), row.kind)
    };
    step.rows.iter().map(short).collect()
}
