//! The results of the methods.

use samovar_core::file_changes::RestoredFile;
use samovar_core::history::{SessionRow, Totals};
use samovar_core::message::FORKED_FROM;
use samovar_core::redact;
use samovar_core::{Approval, Error, MessageId, Millis, SessionId, Title, ToolSpec, TurnId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::event::AgentStreamEvent;
use crate::api::{ApprovalInfo, OpenCallInfo};

/// A session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// The id.
    pub id: SessionId,
    /// The id again, for clients that expect it under this name.
    pub session_id: SessionId,
    /// The title for people; absent if the session has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The model, by the name that was requested.
    pub model: String,
    /// The session's agent.
    pub agent: String,
    /// The approval level of its turns; absent if that is the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
    /// Whether text from outside may be in it, such as a web page: then a person is asked before a tool sends
    /// data out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// The creation time, in milliseconds since 1970.
    pub created_at: Millis,
    /// The time of the last change, in milliseconds since 1970.
    pub updated_at: Millis,
    /// The number of messages of every role.
    pub message_count: u64,
    /// The first words of the user's first message; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// What it was forked from; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The token usage of all its model calls.
    pub tokens: TokenUsage,
    /// The client's metadata, and the model.
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
            agent: row.agent.clone(),
            approval: row.approval,
            tainted: row.tainted,
            created_at: row.created_at,
            updated_at: row.updated_at,
            message_count: row.message_count,
            preview: row.preview.clone(),
            forked_from: ForkedFrom::of(&row.metadata),
            tokens: row.usage.into(),
            metadata,
        }
    }
}

/// What a session was forked from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    /// The session.
    pub session_id: SessionId,
    /// The last message that was copied; null if there was none.
    pub message_id: Option<MessageId>,
}

impl ForkedFrom {
    fn of(metadata: &Map<String, Value>) -> Option<Self> {
        let from = metadata.get(FORKED_FROM)?;
        Self::deserialize(from).ok()
    }
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "PaginatedResult_of_{T}")]
pub struct PaginatedResult<T> {
    /// The items on this page.
    pub items: Vec<T>,
    /// The number of items on all pages.
    pub total_count: u64,
}

/// A skill in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it is for, on one line.
    pub description: String,
    /// Whether it is in every prompt in full.
    pub always: bool,
    /// Whether the server has all that it needs.
    pub available: bool,
    /// The programs, and as `env:NAME` the variables, that it needs and commands lack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Where it comes from.
    pub origin: SkillOrigin,
    /// Whether no person trusts the folder that it comes from: then it is text from outside.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub foreign: bool,
}

/// Where a skill comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SkillOrigin {
    /// The person's configuration folder.
    User,
    /// The program.
    BuiltIn,
    /// The workspace.
    Workspace,
}

/// A skill.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SkillDefinition {
    /// What the list says of it.
    #[serde(flatten)]
    pub summary: SkillSummary,
    /// The programs that it needs, and as `env:NAME` the variables.
    pub requires: Vec<String>,
    /// Its whole text, with its front matter.
    pub content: String,
    /// The SHA-256 of that, in hex.
    pub sha256: String,
}

/// A tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDefinition {
    /// The name that a model calls.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// Why no call of it can run on this machine; absent if calls can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

impl From<&ToolSpec> for ToolDefinition {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            unavailable: None,
        }
    }
}

/// Tokens of model calls, including failed ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenUsage {
    /// `input + output`.
    pub total: u64,
    /// Tokens read by the model.
    pub input: u64,
    /// Tokens written by the model.
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

/// The result of `getStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// The number of sessions.
    pub sessions: u64,
    /// The number of their messages, of every role.
    pub messages: u64,
    /// The token usage of all their model calls.
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

/// A whole turn in one result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageResult {
    /// The turn.
    pub turn_id: TurnId,
    /// The model's last finished message; null if there is none.
    pub message_id: Option<MessageId>,
    /// The text of that message.
    pub text: String,
    /// The events that the stream of the default profile would have sent.
    pub events: Vec<AgentStreamEvent<'static>>,
    /// Why the turn ended; `error` when its last event is an error, `waiting` when it still
    /// waits for a person.
    pub finish_reason: String,
    /// The token usage of the turn.
    pub usage: TokenUsage,
    /// What the turn waits for, if `finishReason` is `waiting`. The same message with the same
    /// `messageId` waits again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
}

/// What a turn and the agents that it called wait for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Waits {
    /// The calls that a person decides about.
    pub approvals: Vec<ApprovalInfo>,
    /// The calls that a person or a client closes, such as questions.
    pub calls: Vec<OpenCallInfo>,
}

/// The result of `cancel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancelResult {
    /// Whether a turn was stopped.
    pub cancelled: bool,
}

/// The result of `undo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoResult {
    /// The turn that was taken back.
    pub turn_id: TurnId,
    /// The user's message, to edit and send again.
    pub content: String,
    /// Which effects remain, for people.
    pub note: String,
    /// The files that are as they were before the turn; absent if `files` was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<RestoredFile>>,
    /// The tools whose other effects remain, by name; absent if `files` was not asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remaining_tools: Option<Vec<String>>,
}

/// The body of every answer with a status other than 2xx (AS-3).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorBody {
    /// What happened and what to do, for people.
    pub error: String,
    /// The stable code.
    pub code: String,
    /// Details for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

/// Without keys: what a refusal quotes may have some.
impl From<&Error> for ErrorBody {
    fn from(error: &Error) -> Self {
        let mut details = error.details.clone();
        if let Some(details) = &mut details {
            redact::own().redact_value(details);
        }
        Self {
            error: redact::for_logs(&error.message).into_owned(),
            code: error.code.as_str().to_owned(),
            details,
        }
    }
}
