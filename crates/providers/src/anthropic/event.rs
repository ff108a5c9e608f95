//! The JSON of a stream, borrowed from the event that holds it. Events, blocks and deltas that are
//! not known are no error: the provider adds new ones.

use std::borrow::Cow;

use samovar_locale as locale;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::usage::Cost;
use crate::fault::Fault;
use crate::json::{self, Text};

/// What an event says.
pub(super) enum Event<'a> {
    /// The answer begins.
    Start(Option<Cost>),
    /// A block begins; the blocks of an answer are numbered.
    BlockStart(u64, Opening<'a>),
    BlockDelta(u64, Delta<'a>),
    BlockStop(u64),
    /// What is known of the whole answer at its end.
    Summary {
        stop_reason: Option<String>,
        cost: Option<Cost>,
    },
    /// The answer is complete.
    Stop,
    /// A sign of life, or what is not known.
    Other,
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
}

impl<'a> Event<'a> {
    /// Reads an event.
    ///
    /// # Errors
    /// It is an error of the server's, or none of the known events though it says that it is one.
    pub(super) fn read(json: &'a str) -> Result<Self, Fault> {
        let head: Head<'_> = json::read(json)?;
        if head.error.is_some() {
            return Err(Fault::inside(json));
        }
        match whole(head.kind).as_ref() {
            "message_start" => start(json),
            "content_block_start" => block_start(json),
            "content_block_delta" => block_delta(json),
            "content_block_stop" => block_stop(json),
            "message_delta" => summary(json),
            "message_stop" => Ok(Self::Stop),
            "error" => Err(Fault::inside(json)),
            "" => Err(Fault::bad(locale::provider::piece_without_type())),
            _ => Ok(Self::Other),
        }
    }
}

fn start(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Start {
        message: Option<Message>,
    }
    #[derive(Deserialize)]
    struct Message {
        #[serde(default, deserialize_with = "json::lenient")]
        usage: Option<Cost>,
    }
    let start: Start = json::read(json)?;
    Ok(Event::Start(
        start.message.and_then(|message| message.usage),
    ))
}

fn block_start(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Start<'a> {
        index: u64,
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
    #[serde(borrow)]
    partial_json: Option<Text<'a>>,
    #[serde(default, deserialize_with = "json::plain")]
    input: Option<Value>,
}

fn opening(json: &str) -> Result<Opening<'_>, Fault> {
    let kind = kind(json)?;
    if !["text", "thinking", "redacted_thinking", "tool_use"].contains(&kind.as_ref()) {
        return Ok(Opening::Other);
    }
    let block: Fields<'_> = json::read(json)?;
    Ok(match kind.as_ref() {
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
        index: u64,
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
        "input_json_delta" => Delta::Input(whole(fields()?.partial_json)),
        _ => Delta::Other,
    })
}

fn block_stop(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Stop {
        index: u64,
    }
    let stop: Stop = json::read(json)?;
    Ok(Event::BlockStop(stop.index))
}

fn summary(json: &str) -> Result<Event<'_>, Fault> {
    #[derive(Deserialize)]
    struct Summary {
        delta: Option<News>,
        #[serde(default, deserialize_with = "json::lenient")]
        usage: Option<Cost>,
    }
    #[derive(Deserialize)]
    struct News {
        stop_reason: Option<String>,
    }
    let summary: Summary = json::read(json)?;
    Ok(Event::Summary {
        stop_reason: summary.delta.and_then(|news| news.stop_reason),
        cost: summary.usage,
    })
}

/// The type of a block or a delta; empty when it has none.
fn kind(json: &str) -> Result<Cow<'_, str>, Fault> {
    let head: Head<'_> = json::read(json)?;
    Ok(whole(head.kind))
}

fn whole(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map(|text| text.0).unwrap_or_default()
}
