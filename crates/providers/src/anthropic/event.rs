//! The JSON of a stream, borrowed from the event that holds it. Events, blocks and deltas that are
//! not known are no error: the provider adds new ones.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::usage::Cost;
use crate::fault::{Fault, ServerError};
use crate::json::{self, Text};

/// What an event says. A block's number may be left out.
pub(super) enum Event<'a> {
    /// A block begins; the blocks of an answer are numbered.
    BlockStart(Option<u64>, Opening<'a>),
    BlockDelta(Option<u64>, Delta<'a>),
    BlockStop(Option<u64>),
    /// What is known of the whole answer, at its beginning or at its end.
    Summary(Summary),
    /// A sign of life, or what is not known.
    Other,
}

/// What is known of a whole answer so far.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) stop_reason: Option<String>,
    pub(super) costs: Vec<Cost>,
    /// The answer that begins, by the server's id for it.
    pub(super) begins: Option<String>,
    /// Whether the answer is complete.
    pub(super) is_last: bool,
}

/// How a block begins. Its text may begin with it.
pub(super) enum Opening<'a> {
    Text(Cow<'a, str>),
    Thinking {
        thinking: Cow<'a, str>,
        signature: Cow<'a, str>,
    },
    Redacted(Cow<'a, str>),
    Call {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Option<Value>,
    },
    Other,
}

/// More of a block.
pub(super) enum Delta<'a> {
    Text(Cow<'a, str>),
    Thinking(Cow<'a, str>),
    Signature(Cow<'a, str>),
    Input(Cow<'a, str>),
    Other,
}

/// What everything begins with.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(borrow)]
    delta: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    /// The event itself, and its name, where a gateway puts something around it.
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "json::lenient")]
    event: Option<String>,
}

impl<'a> Event<'a> {
    /// Reads an event, whose name may stand beside it or follow from its fields.
    ///
    /// # Errors
    /// It is an error of the server's, or none of the known events though it says that it is one.
    pub(super) fn read(name: Option<&str>, json: &'a str) -> Result<Self, Fault> {
        let head: Head<'_> = json::read(json)?;
        if head.error.is_some() {
            return Err(Fault::inside(json));
        }
        let kind = whole(head.kind);
        let by_name = name.filter(|_| kind.is_empty()).unwrap_or(&kind);
        match by_name {
            "content_block_start" => block_start(json),
            "content_block_delta" => block_delta(json),
            "content_block_stop" => block_stop(json),
            "message_start" | "message_delta" => summary(json, false),
            "message_stop" => summary(json, true),
            "error" => Err(Fault::inside(json)),
            "" if head.content_block.is_some() => block_start(json),
            "" if head
                .delta
                .is_some_and(|delta| delta.get().contains("\"stop_reason\"")) =>
            {
                summary(json, false)
            }
            "" if head.delta.is_some() => block_delta(json),
            "" if head
                .message
                .is_some_and(|message| message.get().starts_with('{')) =>
            {
                summary(json, false)
            }
            "" if head.data.is_some_and(|data| data.get().starts_with('{')) => {
                let data = head.data.map_or("{}", RawValue::get);
                Self::read(head.event.as_deref(), data)
            }
            "" => Err(untyped(json)),
            _ => Ok(Self::Other),
        }
    }
}

/// What says neither what it is nor shows it: an error without its name, or nothing that is known.
fn untyped(json: &str) -> Fault {
    match samovar_core::json::read(json.as_bytes()) {
        Ok(value) if ServerError::is_told(&value) => Fault::inside(json),
        Ok(_) | Err(_) => json::no_piece(json),
    }
}

/// A message in one piece, from a server that does not stream: its blocks, and what is known of it.
pub(super) fn message(json: &str) -> Option<(Vec<Opening<'_>>, Summary)> {
    #[derive(Deserialize)]
    struct Message<'a> {
        #[serde(borrow)]
        content: &'a RawValue,
    }
    let message: Message<'_> = serde_json::from_str(json).ok()?;
    let content = message.content.get();
    let openings = if content.starts_with('"') {
        let Text(text) = serde_json::from_str(content).ok()?;
        vec![Opening::Text(text)]
    } else {
        let blocks: Vec<&RawValue> = serde_json::from_str(content).ok()?;
        let openings = blocks.iter().map(|block| opening(block.get()));
        openings.collect::<Result<_, _>>().ok()?
    };
    match summary(json, true) {
        Ok(Event::Summary(summary)) => Some((openings, summary)),
        Ok(_) | Err(_) => None,
    }
}

/// What stands of the answer as a whole in an event, in its message or in its delta.
fn summary(json: &str, is_last: bool) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Whole {
        #[serde(default, deserialize_with = "json::lenient")]
        stop_reason: Option<String>,
        #[serde(default, deserialize_with = "json::lenient")]
        usage: Option<Cost>,
        #[serde(default, deserialize_with = "json::lenient")]
        message: Option<Part>,
        #[serde(default, deserialize_with = "json::lenient")]
        delta: Option<Part>,
    }
    #[derive(Default, Deserialize)]
    struct Part {
        #[serde(default, deserialize_with = "json::lenient")]
        id: Option<String>,
        #[serde(default, deserialize_with = "json::lenient")]
        stop_reason: Option<String>,
        #[serde(default, deserialize_with = "json::lenient")]
        usage: Option<Cost>,
    }
    let whole: Whole = json::read(json)?;
    let (message, delta) = (
        whole.message.unwrap_or_default(),
        whole.delta.unwrap_or_default(),
    );
    let stop_reason = delta
        .stop_reason
        .or(whole.stop_reason)
        .or(message.stop_reason);
    let costs = [message.usage, delta.usage, whole.usage];
    Ok(Event::Summary(Summary {
        stop_reason: stop_reason.filter(|reason| !reason.is_empty()),
        costs: costs.into_iter().flatten().collect(),
        begins: message.id,
        is_last,
    }))
}

fn block_start(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Start<'a> {
        #[serde(default, deserialize_with = "json::tokens")]
        index: Option<u64>,
        #[serde(borrow)]
        content_block: &'a RawValue,
    }
    let start: Start<'_> = json::read(json)?;
    Ok(Event::BlockStart(
        start.index,
        opening(start.content_block.get())?,
    ))
}

/// The fields of the blocks and deltas that are known.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    text: Option<Text<'a>>,
    #[serde(borrow)]
    thinking: Option<Text<'a>>,
    #[serde(borrow)]
    signature: Option<Text<'a>>,
    #[serde(borrow)]
    data: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    /// A piece of JSON in a string, as it should be, or JSON itself.
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "json::plain")]
    input: Option<Value>,
}

fn opening(json: &str) -> Result<Opening<'_>, Fault> {
    let kind = kind(json)?;
    if !["", "text", "thinking", "redacted_thinking", "tool_use"].contains(&kind.as_ref()) {
        return Ok(Opening::Other);
    }
    let block: Fields<'_> = json::read(json)?;
    let kind = match kind.as_ref() {
        "" if block.name.is_some() => "tool_use",
        "" if block.thinking.is_some() => "thinking",
        "" => "text",
        kind => kind,
    };
    Ok(match kind {
        "text" => Opening::Text(whole(block.text)),
        "thinking" => Opening::Thinking {
            thinking: whole(block.thinking),
            signature: whole(block.signature),
        },
        "redacted_thinking" => Opening::Redacted(whole(block.data)),
        _ => Opening::Call {
            id: whole(block.id),
            name: whole(block.name),
            input: block.input,
        },
    })
}

fn block_delta(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct More<'a> {
        #[serde(default, deserialize_with = "json::tokens")]
        index: Option<u64>,
        #[serde(borrow)]
        delta: &'a RawValue,
    }
    let more: More<'_> = json::read(json)?;
    Ok(Event::BlockDelta(more.index, delta(more.delta.get())?))
}

fn delta(json: &str) -> Result<Delta<'_>, Fault> {
    let kind = kind(json)?;
    let fields = || json::read::<Fields<'_>>(json);
    Ok(match kind.as_ref() {
        "text_delta" => Delta::Text(whole(fields()?.text)),
        "thinking_delta" => Delta::Thinking(whole(fields()?.thinking)),
        "signature_delta" => Delta::Signature(whole(fields()?.signature)),
        "input_json_delta" => Delta::Input(piece(fields()?.partial_json)?),
        "" => untyped_delta(fields()?)?,
        _ => Delta::Other,
    })
}

fn untyped_delta(fields: Fields<'_>) -> Result<Delta<'_>, Fault> {
    Ok(match (fields.text, fields.thinking, fields.partial_json) {
        (Some(text), _, _) => Delta::Text(text.0),
        (None, Some(thinking), _) => Delta::Thinking(thinking.0),
        (None, None, Some(input)) => Delta::Input(piece(Some(input))?),
        (None, None, None) => Delta::Other,
    })
}

/// A piece of a call's arguments.
fn piece(input: Option<&RawValue>) -> Result<Cow<'_, str>, Fault> {
    match input.map(RawValue::get) {
        None => Ok(Cow::Borrowed("")),
        Some(text) if text.starts_with('"') => Ok(json::read::<Text<'_>>(text)?.0),
        Some(value) => Ok(Cow::Borrowed(value)),
    }
}

fn block_stop(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Stop {
        #[serde(default, deserialize_with = "json::tokens")]
        index: Option<u64>,
    }
    let stop: Stop = json::read(json)?;
    Ok(Event::BlockStop(stop.index))
}

/// The type of a block or a delta; empty when it has none.
fn kind(json: &str) -> Result<Cow<'_, str>, Fault> {
    let head: Head<'_> = json::read(json)?;
    Ok(whole(head.kind))
}

fn whole(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}
