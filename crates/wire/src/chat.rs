//! The global chat under `/chat` (CH-2, CH-4 to CH-8): what is asked and answered there, and what its
//! stream brings.

use std::borrow::Cow;

use jiff::Timestamp;
use samovar_core::{ChatRole, Error, Millis};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Within;
use crate::{params, sse};

/// Where these methods are.
pub const BASE_PATH: &str = "/chat";
/// The header that names the run of the chat which answers.
pub const BOOT_HEADER: &str = "x-chat-boot";
/// The header with the oldest id that is left, where some of what was asked for is gone.
pub const TRUNCATED_HEADER: &str = "x-chat-truncated";
/// The header with the id that a reader of the stream comes back with.
pub const LAST_EVENT_ID: &str = "Last-Event-ID";
/// Messages that are shown when it is not said behind which, unless another number is asked for.
pub const NEWEST: u32 = 100;
/// Messages that may be asked for at once.
const MAX_MESSAGES: u32 = 1000;

/// A message of the chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMessage<'a> {
    /// Its number: 1 for the first of a run of the server, each next one is greater by one.
    pub id: u64,
    /// When it was taken: RFC 3339 in UTC, with milliseconds.
    #[schemars(extend("format" = "date-time"))]
    pub ts: Cow<'a, str>,
    /// Who speaks.
    #[schemars(with = "String", extend("enum" = ["agent", "user", "system"]))]
    pub role: ChatRole,
    /// The speaker's name.
    pub author: Cow<'a, str>,
    /// What is said, never blank.
    pub text: Cow<'a, str>,
    /// What goes with it; missing when there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta: Option<ChatMeta<'a>>,
}

/// What goes with a message of the chat.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatMeta<'a> {
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Words for programs.
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

/// `2026-11-22T10:00:00.000Z`; a moment that no calendar has is the first of 1970.
fn timestamp(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{at:.3}")
}

/// Parameters of `GET /chat/history`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryParams {
    /// Only messages behind this id; without it, the newest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// How many; without it all behind `after`, or the newest 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Within<1, MAX_MESSAGES>>,
    /// The run of the chat that `after` is of: another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

/// Parameters of `GET /chat/stream`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParams {
    /// The id of the last message that was read: the stream goes on behind it. The header
    /// `Last-Event-ID` says the same, and counts when both are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The run of the chat that the id is of: another one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
}

impl StreamParams {
    /// Behind which message the stream goes on, as the header `Last-Event-ID` or these parameters say;
    /// none when neither does.
    ///
    /// # Errors
    /// [`Code::InvalidParams`](samovar_core::Code::InvalidParams) when the header is no id.
    pub fn position(&self, last_event_id: Option<&str>) -> Result<Option<u64>, Error> {
        #[derive(Deserialize)]
        struct Header {
            #[serde(rename = "Last-Event-ID")]
            id: u64,
        }
        let Some(header) = last_event_id else {
            return Ok(self.after);
        };
        let pairs = vec![(LAST_EVENT_ID.to_owned(), header.to_owned())];
        params::from_query(pairs).map(|header: Header| Some(header.id))
    }
}

/// Parameters of `POST /chat/user_message`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UserMessageParams {
    /// What the person says: at least one visible character, at most 64 KiB.
    pub text: String,
}

/// The answer of `POST /chat/user_message`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PostedMessage {
    /// The message's number.
    pub id: u64,
}

/// The answer of `GET /chat/state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChatStateInfo {
    /// The question that the person's next message answers; null when none is open.
    pub pending_input: Option<PendingInput>,
    /// Questions behind that one.
    pub waiting: u64,
    /// The run of the chat.
    pub boot_id: String,
}

/// A question that waits for the person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingInput {
    /// Who asks.
    pub requested_by: String,
    /// The message that asks.
    pub question_msg_id: u64,
}

impl From<samovar_core::PendingInput> for PendingInput {
    fn from(pending: samovar_core::PendingInput) -> Self {
        Self {
            requested_by: pending.requested_by,
            question_msg_id: pending.question,
        }
    }
}

/// What the chat's stream brings: the `data` of a frame, or a text over a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Streamed<'a> {
    /// What was said.
    Message(ChatMessage<'a>),
    /// What a reader should know of the place where it reads. A frame has its name as its `event`,
    /// and what is in it as its `data`.
    Marker(Marker),
}

/// Why what comes next does not follow what was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marker {
    /// Messages that were asked for are gone.
    Truncated(Truncated),
    /// The chat began anew with its server.
    Restarted(Restarted),
}

/// Which messages are gone: those behind `after` and before `first`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Truncated {
    /// The last id that was read.
    pub after: u64,
    /// The oldest id that is left.
    pub first: u64,
}

/// What was read is of an earlier run: what comes begins with the newest messages of this one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restarted {
    /// The run of the chat.
    pub boot_id: String,
}

/// Appends a message as a frame of a stream of server-sent events, its number as the frame's id.
///
/// # Panics
/// Never: a message is always JSON.
pub fn frame(message: &samovar_core::ChatMessage, out: &mut Vec<u8>) {
    sse::labelled("id", message.id, &ChatMessage::from(message), out);
}

/// Appends a marker as a frame. It has no id: the reader's place is still what it has read.
///
/// # Panics
/// Never: a marker is always JSON.
pub fn marker_frame(marker: &Marker, out: &mut Vec<u8>) {
    match marker {
        Marker::Truncated(gone) => sse::labelled("event", "truncated", gone, out),
        Marker::Restarted(run) => sse::labelled("event", "restarted", run, out),
    }
}

/// Appends a message alone, as one of an array.
///
/// # Panics
/// Never: a message is always JSON.
pub fn json(message: &samovar_core::ChatMessage, out: &mut Vec<u8>) {
    sse::json(&ChatMessage::from(message), out);
}

/// A message as a text over a WebSocket.
///
/// # Panics
/// Never: a message is always JSON.
pub fn text(message: &samovar_core::ChatMessage) -> String {
    spelled(&ChatMessage::from(message))
}

/// A marker as a text over a WebSocket: what is in it under its name.
///
/// # Panics
/// Never: a marker is always JSON.
pub fn marker_text(marker: &Marker) -> String {
    spelled(marker)
}

fn spelled(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and numbers under names are JSON")
}

#[cfg(test)]
mod tests;
