//! What the methods answer.

use samovar_core::history::{SessionRow, Totals};
use samovar_core::{Error, MessageId, Millis, SessionId, Title, ToolSpec, TurnId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::AgentStreamEvent;

/// A session as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Its id.
    #[schemars(with = "String")]
    pub id: SessionId,
    /// Its id again, for clients that know it under this name.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// What a person calls it; absent when it has no title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Title>,
    /// The model, as it was asked for.
    pub model: String,
    /// When it was made, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub created_at: Millis,
    /// When it last changed, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub updated_at: Millis,
    /// Its messages of every role.
    pub message_count: u64,
    /// What all its model calls cost.
    pub tokens: TokenUsage,
    /// The model, and what the client gave.
    pub metadata: Map<String, Value>,
}

impl From<&SessionRow> for SessionInfo {
    fn from(row: &SessionRow) -> Self {
        let mut metadata = row.metadata.clone();
        metadata.insert("model".to_owned(), Value::from(row.model.as_str()));
        Self {
            id: row.id.clone(),
            session_id: row.id.clone(),
            title: row.title.clone(),
            model: row.model.clone(),
            created_at: row.created_at,
            updated_at: row.updated_at,
            message_count: row.message_count,
            tokens: row.usage.into(),
            metadata,
        }
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PaginatedResult_of_{T}")]
pub struct PaginatedResult<T> {
    /// What is on this page.
    pub items: Vec<T>,
    /// How many there are on all pages.
    pub total_count: u64,
}

/// A tool as clients see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDefinition {
    /// The name that a model calls.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

impl From<&ToolSpec> for ToolDefinition {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
        }
    }
}

/// Tokens of model calls, failed ones included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// `input + output`.
    pub total: u64,
    /// Read by the model.
    pub input: u64,
    /// Written by the model.
    pub output: u64,
}

impl From<Usage> for TokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            total: usage.total(),
            input: usage.input,
            output: usage.output,
        }
    }
}

/// What `getStats` answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// Sessions that exist.
    pub sessions: u64,
    /// Their messages of every role.
    pub messages: u64,
    /// What all their model calls cost.
    pub tokens: TokenUsage,
}

impl From<Totals> for Stats {
    fn from(totals: Totals) -> Self {
        Self {
            sessions: totals.sessions,
            messages: totals.messages,
            tokens: totals.usage.into(),
        }
    }
}

/// A whole turn in one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageResult {
    /// The turn.
    #[schemars(with = "String")]
    pub turn_id: TurnId,
    /// The last message that the model finished; none when it finished none.
    #[schemars(with = "Option<String>")]
    pub message_id: Option<MessageId>,
    /// That message's text.
    pub text: String,
    /// What the stream of the default profile would have said.
    pub events: Vec<AgentStreamEvent<'static>>,
    /// Why the turn is over; `error` when the last event is one.
    pub finish_reason: String,
    /// What the turn cost.
    pub usage: TokenUsage,
}

/// What `cancel` answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelResult {
    /// Whether a turn was stopped.
    pub cancelled: bool,
}

/// What `undo` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    /// The turn that was taken back.
    #[schemars(with = "String")]
    pub turn_id: TurnId,
    /// What the user had said, so that it can be said differently.
    pub content: String,
    /// What was not undone, for a person.
    pub note: String,
}

/// The body of every answer that is not 2xx (AS-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What happened and what to do, for a person.
    pub error: String,
    /// The stable code.
    pub code: String,
    /// Facts for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        Self {
            error: error.message.to_string(),
            code: error.code.as_str().to_owned(),
            details: error.details.clone(),
        }
    }
}
