//! Logs for the tests, and their streams as a client reads them.

use samovar_core::event::Fragment;
use samovar_core::{
    AgentPath, Author, Bounds, CallId, Epoch, Event, FinishReason, Kind, Limits, Message,
    MessageId, Millis, Outcome, Part, Role, Seq, ToolCall, TurnId, Usage,
};
use samovar_wire::agent::{Encoder, Profile};
use serde_json::{Map, Value, json};

/// The turn whose stream the tests read.
pub(crate) const TURN: &str = "t1";

pub(crate) fn turn(id: &str) -> TurnId {
    TurnId::new(id).expect("a short id")
}

pub(crate) fn message_id(id: &str) -> MessageId {
    MessageId::new(id).expect("a short id")
}

pub(crate) fn call_id(id: &str) -> CallId {
    CallId::new(id).expect("a short id")
}

/// An event of epoch 7, of the turn that the tests read.
pub(crate) fn event(seq: u64, kind: Kind) -> Event {
    event_of(TURN, seq, kind)
}

pub(crate) fn event_of(turn_id: &str, seq: u64, kind: Kind) -> Event {
    Event {
        seq: Seq(seq),
        epoch: Epoch(7),
        at: Millis(1_000),
        turn: Some(turn(turn_id)),
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind,
    }
}

/// The log of a turn, from 7.1 on.
pub(crate) fn log(kinds: Vec<Kind>) -> Vec<Event> {
    (1..)
        .zip(kinds)
        .map(|(seq, kind)| event(seq, kind))
        .collect()
}

pub(crate) fn started() -> Kind {
    started_for(None)
}

pub(crate) fn started_for(parent_call: Option<CallId>) -> Kind {
    Kind::TurnStarted {
        model: "m".to_owned(),
        route: None,
        limits: Limits {
            max_iterations: 5,
            ..Limits::default()
        },
        approval: samovar_core::Approval::Auto,
        bounds: Bounds::default(),
        parent_call,
        background: false,
        definition: None,
    }
}

pub(crate) fn step(iteration: u32, attempt: u32) -> Kind {
    Kind::StepStarted {
        iteration,
        attempt,
        reserved_tokens: 100,
        model: None,
        route: None,
        quote: None,
        told: None,
    }
}

pub(crate) fn reset(iteration: u32, cost: Usage) -> Kind {
    Kind::StepReset {
        iteration,
        usage: cost,
        reason: "cut".to_owned(),
        code: None,
        context: None,
    }
}

pub(crate) fn speaks(message: &str) -> Kind {
    Kind::MessageStarted {
        message: message_id(message),
        role: Role::Assistant,
    }
}

pub(crate) fn delta(message: &str, part: u16, fragment: Fragment) -> Kind {
    Kind::Delta {
        message: message_id(message),
        part,
        fragment,
    }
}

/// More text of part 0 of message `m1`.
pub(crate) fn text(text: &str) -> Kind {
    delta("m1", 0, Fragment::Text(text.to_owned()))
}

pub(crate) fn added(message: &str, index: u16, part: Part) -> Kind {
    Kind::PartAdded {
        message: message_id(message),
        index,
        part,
    }
}

pub(crate) fn text_part(text: &str) -> Part {
    Part::text(text)
}

/// A call of the tool `look`.
pub(crate) fn call_part(id: &str) -> Part {
    Part::Call(ToolCall::new(call_id(id), "look", json!({ "at": id })))
}

pub(crate) fn usage(input: u64, output: u64) -> Usage {
    Usage {
        input,
        output,
        ..Usage::default()
    }
}

/// A whole message of the model, which cost 10 + 5 tokens.
pub(crate) fn message(id: &str, parts: Vec<Part>) -> Message {
    Message {
        id: message_id(id),
        role: Role::Assistant,
        parts,
        parent: None,
        usage: Some(usage(10, 5)),
        model: Some("m".to_owned()),
        finish_reason: Some("stop".to_owned()),
        metadata: Map::new(),
        created_at: Millis(2_000),
    }
}

pub(crate) fn said(id: &str, parts: Vec<Part>) -> Kind {
    Kind::finished(message(id, parts))
}

pub(crate) fn closed(call: &str, outcome: &str) -> Kind {
    Kind::CallClosed {
        call: call_id(call),
        name: "look".to_owned(),
        outcome: Outcome::done(outcome),
    }
}

pub(crate) fn finished(reason: FinishReason, iterations: u32, cost: Usage) -> Kind {
    Kind::TurnFinished {
        reason,
        iterations,
        usage: cost,
        fault: None,
        bill: samovar_core::Bill::default(),
    }
}

/// The end of a turn of one pass, which cost 10 + 5 tokens.
pub(crate) fn stopped() -> Kind {
    finished(FinishReason::Model("stop".to_owned()), 1, usage(10, 5))
}

/// All bytes of the stream.
pub(crate) fn encode(profile: Profile, events: &[Event]) -> String {
    let mut encoder = Encoder::new(turn(TURN), profile);
    encode_with(&mut encoder, events)
}

pub(crate) fn encode_with(encoder: &mut Encoder, events: &[Event]) -> String {
    let mut out = Vec::new();
    for event in events {
        encoder.encode(event, &mut out);
    }
    String::from_utf8(out).expect("JSON is UTF-8")
}

/// A frame as a client reads it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Frame {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.data).expect("the data is JSON")
    }
}

/// Reads a stream as strictly as AS-4 writes it.
pub(crate) fn frames(stream: &str) -> Vec<Frame> {
    let blocks = stream.split_inclusive("\n\n");
    blocks
        .map(|block| {
            let block = block
                .strip_suffix("\n\n")
                .expect("a blank line ends every frame");
            let (data, id) = match block.split_once('\n') {
                Some((data, id)) => (data, Some(id.strip_prefix("id: ").expect("an id").into())),
                None => (block, None),
            };
            let data = data.strip_prefix("data: ").expect("data").to_owned();
            assert!(!data.contains('\n'), "one line: {data}");
            Frame { id, data }
        })
        .collect()
}
