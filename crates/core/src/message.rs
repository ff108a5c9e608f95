//! Messages. A message is a list of parts, never one string.

use std::fmt::Display;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::blob::BlobHash;
use crate::id::{CallId, MessageId};
use crate::image::{Image, ImageType};
use crate::ports::Millis;
use crate::tool::Effect;
use crate::words;

words! {
    /// The author's role, as models know it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        /// The server, to the model.
        System = "system",
        /// A person.
        User = "user",
        /// A model.
        Assistant = "assistant",
        /// The result of a tool call.
        Tool = "tool",
    }
}

/// A complete message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Primary key everywhere; set before the first byte is sent (SA-10).
    pub id: MessageId,
    /// The role of the author.
    pub role: Role,
    /// The pieces, in order.
    pub parts: Vec<Part>,
    /// The message that contains the call to which this one belongs (05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// The token usage of its model call; `None` if no model wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that wrote it, by its canonical name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why the model stopped, in the provider's own word (AS-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Metadata for clients.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// When it was finished.
    pub created_at: Millis,
}

impl Message {
    /// A message with these parts that no model was asked for: without usage, model and metadata.
    pub fn new(id: MessageId, role: Role, parts: Vec<Part>, created_at: Millis) -> Self {
        Self {
            id,
            role,
            parts,
            parent: None,
            usage: None,
            model: None,
            finish_reason: None,
            metadata: Map::new(),
            created_at,
        }
    }

    /// The tool message with a closed call's outcome; its id is made from the call's.
    pub fn of_outcome(call: &CallId, name: &str, outcome: &Outcome, closed_at: Millis) -> Self {
        let part = Part::Outcome {
            call: call.clone(),
            name: name.to_owned(),
            outcome: outcome.clone(),
        };
        Self::new(call.as_message(), Role::Tool, vec![part], closed_at)
    }

    /// The server's words to the model before a turn ends.
    pub fn of_reminder(
        id: MessageId,
        reminder: Reminder,
        text: String,
        created_at: Millis,
    ) -> Self {
        let mut message = Self::new(id, Role::System, vec![Part::text(text)], created_at);
        let word = Value::from(reminder.as_str());
        message.metadata.insert(REMINDER.to_owned(), word);
        message
    }

    /// What it reminds the model of; `None` for any other message.
    pub fn reminder(&self) -> Option<Reminder> {
        match (self.role, self.metadata.get(REMINDER)?.as_str()?) {
            (Role::System, "failed_call") => Some(Reminder::FailedCall),
            (Role::System, "cut_answer") => Some(Reminder::CutAnswer),
            _ => None,
        }
    }

    /// The server's message with the result of an agent that worked in the background (SA-11);
    /// `about` says which, for clients.
    pub fn of_background(id: MessageId, text: String, about: Value, created_at: Millis) -> Self {
        let mut message = Self::new(id, Role::System, vec![Part::text(text)], created_at);
        message.metadata.insert(BACKGROUND.to_owned(), about);
        message
    }

    /// Gives back the room that its lists were given and do not need, most of what a short message
    /// takes.
    #[must_use]
    pub fn compact(mut self) -> Self {
        self.parts.shrink_to_fit();
        if !self.metadata.is_empty() {
            let mut metadata = Map::with_capacity(self.metadata.len());
            metadata.append(&mut self.metadata);
            self.metadata = metadata;
        }
        self
    }

    /// Marks a message that no turn of its session made.
    #[must_use]
    pub fn appended(mut self) -> Self {
        self.metadata.insert(APPENDED.to_owned(), true.into());
        self
    }

    /// Whether no turn of its session made it.
    pub fn is_appended(&self) -> bool {
        let marks = [APPENDED, FORKED_FROM, IMPORTED];
        marks.iter().any(|mark| self.metadata.contains_key(*mark))
    }

    /// Marks a message that came from a file.
    pub fn import(&mut self) {
        self.metadata.insert(IMPORTED.to_owned(), true.into());
    }

    /// Whether it came from a file, so that no person here said it.
    pub fn is_imported(&self) -> bool {
        self.metadata.contains_key(IMPORTED)
    }

    /// Removes what only this store needs.
    pub fn export(&mut self) {
        self.metadata.remove(IMPORTED);
    }

    /// Whether it can begin a turn: what a user says, or the result of an agent in the background.
    pub fn is_input(&self) -> bool {
        match self.role {
            Role::User => true,
            Role::System => self.metadata.contains_key(BACKGROUND),
            Role::Assistant | Role::Tool => false,
        }
    }

    /// All text of the message, without reasoning, joined in order.
    pub fn text(&self) -> String {
        self.parts.iter().filter_map(Part::as_text).collect()
    }

    /// The calls whose results it has.
    pub fn closed_calls(&self) -> impl Iterator<Item = &CallId> {
        self.parts.iter().filter_map(|part| match part {
            Part::Outcome { call, .. } => Some(call),
            _ => None,
        })
    }

    /// Whether it has the result of a call.
    pub fn closes(&self, call: &CallId) -> bool {
        self.closed_calls().any(|of| of == call)
    }

    /// The tool calls, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. }
            | Part::Reasoning { .. }
            | Part::Outcome { .. }
            | Part::Data { .. }
            | Part::Image { .. } => None,
        })
    }

    /// The hashes of its images, in order.
    pub fn blobs(&self) -> impl Iterator<Item = &BlobHash> {
        self.parts.iter().filter_map(Part::blob)
    }
}

/// The metadata's key for the agent whose result a message of the server brings.
const BACKGROUND: &str = "background";

/// The metadata's key of a message that no turn of its session made.
const APPENDED: &str = "appended";

/// The metadata's key of a message that came from a file.
const IMPORTED: &str = "imported";

/// The metadata's key, of sessions too, for the session and the message of which they are copies.
pub const FORKED_FROM: &str = "forkedFrom";

/// The metadata's key for what a message of the server reminds the model of.
const REMINDER: &str = "reminder";

/// What the server reminds a model of before a turn ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reminder {
    /// Its last call failed, other arguments can mend that, and it stopped there.
    FailedCall,
    /// Its answer was cut at the token limit.
    CutAnswer,
}

impl Reminder {
    fn as_str(self) -> &'static str {
        match self {
            Self::FailedCall => "failed_call",
            Self::CutAnswer => "cut_answer",
        }
    }
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning.
    Reasoning {
        /// The readable part, often a summary, possibly empty.
        text: String,
        /// State that must be sent back verbatim: signatures, encrypted reasoning (MD-3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_state: Option<Value>,
    },
    /// An open question to the world.
    Call(ToolCall),
    /// The result of a call.
    Outcome {
        /// The call that it closes.
        call: CallId,
        /// The tool that was called.
        name: String,
        /// The outcome.
        outcome: Outcome,
    },
    /// Structured data that only clients read.
    Data {
        /// Its name.
        name: String,
        /// The value.
        data: Value,
    },
    /// An image of a person's message (AS-30).
    Image {
        /// Its bytes, by their hash.
        blob: BlobHash,
        /// Its format.
        media_type: ImageType,
        /// Its width, in pixels.
        width: u32,
        /// Its height, in pixels.
        height: u32,
        /// Its size, in bytes.
        bytes: u64,
    },
}

impl From<&Image> for Part {
    fn from(image: &Image) -> Self {
        let (width, height) = image.size();
        Self::Image {
            blob: image.hash().clone(),
            media_type: image.media_type(),
            width,
            height,
            bytes: image.bytes().len() as u64,
        }
    }
}

impl Part {
    /// Plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// What it says to a reader: its text, or that of a result.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            Self::Outcome { outcome, .. } => Some(&outcome.text),
            Self::Reasoning { .. } | Self::Call(_) | Self::Data { .. } | Self::Image { .. } => None,
        }
    }

    /// The blob that it names.
    pub fn blob(&self) -> Option<&BlobHash> {
        match self {
            Self::Image { blob, .. } => Some(blob),
            Self::Text { .. }
            | Self::Reasoning { .. }
            | Self::Call(_)
            | Self::Outcome { .. }
            | Self::Data { .. } => None,
        }
    }
}

/// A model's tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Generated here; see [`CallId`].
    pub id: CallId,
    /// The tool, as the model spelled it.
    pub name: String,
    /// An object; or a string with the model's text, if that was not a JSON object.
    pub args: Value,
    /// State that must be sent back verbatim with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Value>,
}

impl ToolCall {
    /// A call without a provider's state.
    pub fn new(id: CallId, name: impl Into<String>, args: Value) -> Self {
        Self {
            id,
            name: name.into(),
            args,
            provider_state: None,
        }
    }

    /// Parses a model's arguments; an empty text or `null` means none, and an object may be repeated,
    /// or be JSON in a string. JSON nested deeper than [`MAX_ARGS_DEPTH`] stays text: it could be
    /// stored, but not be read back.
    pub fn parse_args(raw: &str) -> Value {
        read_args(raw).unwrap_or_else(|| Value::String(raw.to_owned()))
    }
}

/// The arguments in a text: an object, nothing or `null`, which mean none, either of them once more as
/// JSON in a string, or the same object several times.
fn read_args(raw: &str) -> Option<Value> {
    if raw.trim().is_empty() {
        return Some(Value::Object(Map::new()));
    }
    match crate::json::read(raw.as_bytes()) {
        Ok(Value::Object(args)) => is_shallow(&args, MAX_ARGS_DEPTH).then_some(Value::Object(args)),
        Ok(Value::Null) => Some(Value::Object(Map::new())),
        Ok(Value::String(inner)) => match crate::json::read(inner.as_bytes()) {
            Ok(Value::Object(_)) => read_args(&inner),
            Ok(_) | Err(_) => None,
        },
        Ok(_) => None,
        Err(_) => read_args(only_object(raw)?),
    }
}

/// The one object in a text that has several: the same one each time, or an empty one before it.
fn only_object(raw: &str) -> Option<&str> {
    let objects = serde_json::Deserializer::from_str(raw).into_iter::<&RawValue>();
    let objects: Vec<&RawValue> = objects.collect::<Result<_, _>>().ok()?;
    let said = objects.iter().map(|object| object.get());
    let mut said: Vec<&str> = said.filter(|object| *object != "{}").collect();
    said.dedup();
    match said.as_slice() {
        [] => Some("{}"),
        [one] if objects.len() > 1 => Some(one),
        _ => None,
    }
}

/// Maximum nesting of a call's arguments.
pub const MAX_ARGS_DEPTH: usize = 64;

fn is_shallow(map: &Map<String, Value>, levels: usize) -> bool {
    levels > 0
        && map
            .values()
            .all(|value| value_is_shallow(value, levels - 1))
}

/// Whether a value nests at most so many levels deep.
pub fn value_is_shallow(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(map) => is_shallow(map, levels),
        Value::Array(items) => {
            levels > 0 && items.iter().all(|item| value_is_shallow(item, levels - 1))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The tool succeeded.
    Done,
    /// The tool, its arguments, or its name were wrong; or it timed out or panicked.
    Failed,
    /// The gate denied it.
    Denied,
    /// It was stopped, or never begun, because its turn was cancelled.
    Cancelled,
    /// It may or may not have happened (DU-5).
    Unknown,
}

/// The one event that closes a call: text for the model, a value for clients (TL-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// The text that the model sees.
    pub text: String,
    /// A structured value that a client may show instead: a diff, a table, an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
    /// Whether the call failed, had no effect, and can succeed with other arguments, which the text
    /// names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub correctable: bool,
    /// The effect of the tool, if the call failed before it began and the tool does more than read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
}

impl Outcome {
    /// A success, with the text for the model.
    pub fn done(text: impl Into<String>) -> Self {
        Self::new(Status::Done, text)
    }

    /// A failure, in words that the model can act on.
    pub fn failed(text: impl Into<String>) -> Self {
        Self::new(Status::Failed, text)
    }

    /// That of a call that may have happened, in words that a model can act on (DU-5).
    pub fn unknown(words: impl Display) -> Self {
        let text = format!("outcome unknown: {words}; look before you retry");
        Self::new(Status::Unknown, text)
    }

    /// A failure that other arguments can mend; the text says which.
    pub fn correctable(text: impl Into<String>) -> Self {
        Self {
            correctable: true,
            ..Self::failed(text)
        }
    }

    /// An outcome with another status.
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            data: None,
            correctable: false,
            effect: None,
        }
    }

    /// Adds the structured value for clients.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Drops a structured value that nests too deep to be read back.
    #[must_use]
    pub fn readable(mut self) -> Self {
        self.data = self
            .data
            .filter(|data| value_is_shallow(data, MAX_ARGS_DEPTH));
        self
    }

    /// Whether the model and clients should see it as an error.
    pub fn is_error(&self) -> bool {
        self.status != Status::Done
    }
}

/// The token usage of a model call. `input` counts everything that was read, cached or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens read by the model, including cache hits.
    pub input: u64,
    /// Tokens written by the model, including reasoning.
    pub output: u64,
    /// Of `input`: read from the provider's cache.
    pub cache_read: u64,
    /// Of `input`: written to the provider's cache.
    pub cache_write: u64,
    /// Of `output`: reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// `input + output` (AS-18).
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    /// Whether it counts no token.
    pub fn is_zero(&self) -> bool {
        *self == Self::default()
    }

    /// What is left of it without another one.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_sub(other.input),
            output: self.output.saturating_sub(other.output),
            cache_read: self.cache_read.saturating_sub(other.cache_read),
            cache_write: self.cache_write.saturating_sub(other.cache_write),
            reasoning: self.reasoning.saturating_sub(other.reasoning),
        }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            reasoning: self.reasoning.saturating_add(other.reasoning),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_that_are_not_an_object_are_kept_as_the_model_wrote_them() {
        assert_eq!(
            ToolCall::parse_args(r#"{"path":"a b.txt"}"#),
            json!({"path": "a b.txt"})
        );
        assert_eq!(ToolCall::parse_args(" "), json!({}));
        assert_eq!(ToolCall::parse_args(r#"{"path": "#), json!(r#"{"path": "#));
        assert_eq!(ToolCall::parse_args("[1]"), json!("[1]"));
    }

    #[test]
    fn arguments_that_could_not_be_read_back_stay_text() {
        let nested =
            |levels: usize| format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
        assert!(ToolCall::parse_args(&nested(MAX_ARGS_DEPTH)).is_object());
        let deep = nested(MAX_ARGS_DEPTH + 1);
        assert_eq!(ToolCall::parse_args(&deep), Value::String(deep));
        let hidden = r#"{"a":{"$serde_json::private::RawValue":"{}"}}"#;
        assert_eq!(ToolCall::parse_args(hidden), json!(hidden));
        let list = format!(r#"{{"a":{}{}}}"#, "[".repeat(64), "]".repeat(64));
        assert!(ToolCall::parse_args(&list).is_string());
    }
}
