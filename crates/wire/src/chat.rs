//! The global chat under `/chat` (CH-2, CH-4 to CH-8): its requests, answers and stream.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use samovar_core::{ChatRole, Error, Millis, PendingInput};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Within;
use crate::{Spelling, params, sse};

/// The path of these methods.
pub const BASE_PATH: &str = "/chat";
/// The header that names the run of the answering chat.
pub const BOOT_HEADER: &str = "x-chat-boot";
/// The header with the oldest id left, when some of the requested messages are gone.
pub const TRUNCATED_HEADER: &str = "x-chat-truncated";
/// The header with which a reader of the stream resumes after an id.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Default number of messages when no `after` is given.
pub const NEWEST: u32 = 100;
/// Maximum number of messages in a result.
const MAX_MESSAGES: u32 = 1000;

/// A message of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage<'a> {
    /// The number, which starts at 1 in each run of the server and grows by one.
    pub id: u64,
    /// When it was accepted: RFC 3339 in UTC, with milliseconds.
    #[schemars(extend("format" = "date-time"))]
    pub ts: Cow<'a, str>,
    /// The role of the author.
    #[schemars(with = "String", extend("enum" = ["agent", "user", "system"]))]
    pub role: ChatRole,
    /// The author's name.
    pub author: Cow<'a, str>,
    /// The text, never blank.
    pub text: Cow<'a, str>,
    /// Further fields; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<ChatMeta<'a>>,
}

/// Further fields of a chat message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMeta<'a> {
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Tags for programs.
    #[serde(default, skip_serializing_if = "<[String]>::is_empty")]
    pub tags: Cow<'a, [String]>,
}

impl<'a> From<&'a samovar_core::ChatMessage> for ChatMessage<'a> {
    fn from(message: &'a samovar_core::ChatMessage) -> Self {
        let samovar_core::ChatMeta { reply_to, tags } = &message.meta;
        let is_empty = reply_to.is_none() && tags.is_empty();
        Self {
            id: message.id,
            ts: timestamp(message.ts).into(),
            role: message.role,
            author: message.author.as_str().into(),
            text: message.text.as_str().into(),
            meta: (!is_empty).then_some(ChatMeta {
                reply_to: *reply_to,
                tags: tags.as_slice().into(),
            }),
        }
    }
}

/// `2026-11-22T10:00:00.000Z`; a time outside the calendar becomes the start of 1970.
fn timestamp(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{at:.3}")
}

/// Parameters of `GET /chat/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryParams {
    /// Only messages after this id; without it, the newest.
    pub after: Option<u64>,
    /// The most messages to return; by default all after `after`, or the newest 100.
    pub limit: Option<Within<1, MAX_MESSAGES>>,
    /// The run of the chat that `after` belongs to: another run is refused.
    pub boot: Option<String>,
}

/// Parameters of `GET /chat/stream`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParams {
    /// The id of the last message that was read: the stream resumes after it. The header
    /// `Last-Event-ID` means the same, and takes precedence.
    pub after: Option<u64>,
    /// The run of the chat that the id belongs to: another run is refused.
    pub boot: Option<String>,
}

impl StreamParams {
    /// The message after which the stream resumes, from the header `Last-Event-ID` or these
    /// parameters; `None` if neither is given.
    ///
    /// # Errors
    /// [`Code::InvalidParams`](samovar_core::Code::InvalidParams) when the header is not an id.
    pub fn position(&self, last_event_id: Option<&str>) -> Result<Option<u64>, Error> {
        #[derive(Deserialize)]
        struct Header {
            #[serde(rename = "Last-Event-ID")]
            id: u64,
        }
        // An empty header says nothing.
        let Some(header) = last_event_id.filter(|header| !header.is_empty()) else {
            return Ok(self.after);
        };
        let pairs = vec![(LAST_EVENT_ID.to_owned(), header.to_owned())];
        params::from_query(pairs).map(|header: Header| Some(header.id))
    }
}

/// Parameters of `POST /chat/user_message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserMessageParams {
    /// The person's message: at least one visible character, at most 64 KiB.
    pub text: String,
    /// The question that it answers, by its number; it answers no other, and is refused if that one
    /// waits no more. By default the oldest.
    pub reply_to: Option<u64>,
    /// The run of the chat that `reply_to` is a number of.
    pub boot: Option<String>,
}

/// The result of `POST /chat/user_message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedMessage {
    /// The message's number.
    pub id: u64,
}

/// The result of `GET /chat/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatStateInfo {
    /// The question that the person's next message answers; null if none is open.
    pub pending_input: Option<PendingInput>,
    /// The number of questions queued after it.
    pub waiting: u64,
    /// The run of the chat.
    pub boot_id: String,
}

/// One item of the chat's stream: the `data` of a frame, or a text over a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Streamed<'a> {
    /// A message.
    Message(ChatMessage<'a>),
    /// A note about the reader's position. A frame has the marker's name as its `event` and its
    /// content as its `data`.
    Marker(Marker),
}

/// Why the next message does not follow the last one that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// Some of the requested messages are gone.
    Truncated(Truncated),
    /// The chat restarted with its server.
    Restarted(Restarted),
}

/// The messages that are gone: those after `after` and before `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    /// The last id that was read.
    pub after: u64,
    /// The oldest id that is left.
    pub first: u64,
}

/// The id belongs to an earlier run: the newest messages of this run follow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// The run of the chat.
    pub boot_id: String,
}

/// What a reader of the chat's stream gets.
#[derive(Clone, Debug)]
pub enum Item {
    /// A note about its position, before the message that it is about.
    Marker(Marker),
    /// A message.
    Message(Arc<samovar_core::ChatMessage>),
}

impl Item {
    /// As a text over a WebSocket: a message, or a marker's content under its name.
    ///
    /// # Panics
    /// Never: both are always JSON.
    pub fn text(&self) -> String {
        match self {
            Self::Marker(marker) => spelled(marker),
            Self::Message(message) => spelled(&ChatMessage::from(&**message)),
        }
    }
}

/// The chat's stream as server-sent events (CH-7). It ends without a last word: a reader comes back with
/// the id of the last message that it has.
#[derive(Debug, Default)]
pub struct ChatStream {
    is_over: bool,
}

impl Spelling for ChatStream {
    type Item = Item;

    fn take(&mut self, item: &Item, out: &mut Vec<u8>) {
        match item {
            Item::Marker(marker) => marker_frame(marker, out),
            Item::Message(message) => frame(message, out),
        }
    }

    fn abort(&mut self, _error: &Error, _out: &mut Vec<u8>) {
        self.is_over = true;
    }

    fn is_over(&self) -> bool {
        self.is_over
    }
}

/// Appends a message as a frame of server-sent events, with its number as the frame's id.
///
/// # Panics
/// Never: a message is always JSON.
pub fn frame(message: &samovar_core::ChatMessage, out: &mut Vec<u8>) {
    sse::labelled("id", message.id, &ChatMessage::from(message), out);
}

/// Appends a marker as a frame, without an id: the reader's position does not change.
///
/// # Panics
/// Never: a marker is always JSON.
pub fn marker_frame(marker: &Marker, out: &mut Vec<u8>) {
    match marker {
        Marker::Truncated(gone) => sse::labelled("event", "truncated", gone, out),
        Marker::Restarted(run) => sse::labelled("event", "restarted", run, out),
    }
}

/// Appends a message as an item of an array.
///
/// # Panics
/// Never: a message is always JSON.
pub fn json(message: &samovar_core::ChatMessage, out: &mut Vec<u8>) {
    sse::json(&ChatMessage::from(message), out);
}

fn spelled(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers under names are JSON")
}

#[cfg(test)]
mod tests;
