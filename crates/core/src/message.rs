//! What is said: a message is parts, never one string.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{CallId, MessageId};
use crate::ports::Millis;

/// Who speaks, to a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The server, to the model.
    System,
    /// A person.
    User,
    /// A model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// The role as it stands on the wire and in SQL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A whole message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Primary key everywhere; set before the first byte leaves (SA-10).
    pub id: MessageId,
    /// Who speaks.
    pub role: Role,
    /// Its pieces, in order.
    pub parts: Vec<Part>,
    /// The message that holds the call which this one belongs to (05).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<MessageId>,
    /// What its model call cost; none for what no model said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The model that said it, by its canonical name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Why the model stopped, in the provider's own word (AS-6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<String>,
    /// Facts for clients.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
    /// When it was finished.
    pub created_at: Millis,
}

impl Message {
    /// All text of the message, without reasoning, joined as it was said.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Outcome { outcome, .. } => Some(outcome.text.as_str()),
            Part::Reasoning { .. } | Part::Call(_) | Part::Data { .. } => None,
        });
        texts.collect()
    }

    /// The calls that it asks for, in order.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            Part::Text { .. }
            | Part::Reasoning { .. }
            | Part::Outcome { .. }
            | Part::Data { .. } => None,
        })
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
    /// What a model thought before it spoke.
    Reasoning {
        /// The readable part, often a summary, maybe empty.
        text: String,
        /// What the provider wants back verbatim: signatures, encrypted reasoning (MD-3).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider_state: Option<Value>,
    },
    /// An open question to the world.
    Call(ToolCall),
    /// The answer to a call.
    Outcome {
        /// The call that it closes.
        call: CallId,
        /// The tool that was called.
        name: String,
        /// The answer.
        outcome: Outcome,
    },
    /// Something structured that only clients read.
    Data {
        /// What it is.
        name: String,
        /// The value.
        data: Value,
    },
}

/// A call that a model asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Ours; see [`CallId`].
    pub id: CallId,
    /// The tool, as the model spelled it.
    pub name: String,
    /// An object; or a string with what the model wrote, when that was not a JSON object.
    pub args: Value,
    /// What the provider wants back verbatim with this call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_state: Option<Value>,
}

impl ToolCall {
    /// Reads arguments as a model wrote them; no text at all means no arguments. What is nested
    /// deeper than [`MAX_ARGS_DEPTH`] stays text: it could be kept, but not be read back.
    pub fn parse_args(raw: &str) -> Value {
        if raw.trim().is_empty() {
            return Value::Object(Map::new());
        }
        match crate::json::read(raw.as_bytes()) {
            Ok(Value::Object(args)) if is_shallow(&args, MAX_ARGS_DEPTH) => Value::Object(args),
            Ok(_) | Err(_) => Value::String(raw.to_owned()),
        }
    }
}

/// Levels of nesting that the arguments of a call may have.
pub const MAX_ARGS_DEPTH: usize = 64;

fn is_shallow(map: &Map<String, Value>, levels: usize) -> bool {
    levels > 0
        && map
            .values()
            .all(|value| value_is_shallow(value, levels - 1))
}

fn value_is_shallow(value: &Value, levels: usize) -> bool {
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
    /// The tool did what was asked.
    Done,
    /// The tool, its arguments, or its name were wrong; or it ran out of time or panicked.
    Failed,
    /// The gate did not let it run.
    Denied,
    /// It was stopped, or never begun, because its turn was.
    Cancelled,
    /// It may or may not have happened (DU-5).
    Unknown,
}

/// The one event that closes a call: text for the model, a value for clients (TL-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub status: Status,
    /// What the model reads.
    pub text: String,
    /// What a client may show instead: a diff, a table, an exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl Outcome {
    /// A success, with what the model reads.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            status: Status::Done,
            text: text.into(),
            data: None,
        }
    }

    /// A failure, in words that the model can act on.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            status: Status::Failed,
            text: text.into(),
            data: None,
        }
    }

    /// Another ending.
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        Self {
            status,
            text: text.into(),
            data: None,
        }
    }

    /// Adds the structured value for clients.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = Some(data);
        self
    }

    /// Leaves out a structured value that nests so deep that it could be kept and not be read back.
    #[must_use]
    pub fn readable(mut self) -> Self {
        self.data = self
            .data
            .filter(|data| value_is_shallow(data, MAX_ARGS_DEPTH));
        self
    }

    /// Whether the model and clients are to see it as an error.
    pub fn is_error(&self) -> bool {
        self.status != Status::Done
    }
}

/// What a model call cost, in tokens. `input` counts everything that was read, cached or not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Read by the model, cache hits included.
    pub input: u64,
    /// Written by the model, reasoning included.
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
