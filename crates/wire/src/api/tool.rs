//! Tools as people see them (TL-17).

use samovar_core::message::Status;
use samovar_core::tool::{DeclaredEffect, Origin};
use samovar_core::{
    AgentPath, Approval, CallId, Closer, Effect, Outcome, SessionId, ToolCall, ToolSpec, TurnId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool, with its effect and its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// The name that a model calls.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What a call does to the world: `read`, `idempotent`, `verifiable` or `unsafe`.
    #[schemars(with = "String")]
    pub effect: Effect,
    /// Where it comes from.
    pub origin: Origin,
    /// The most milliseconds that a call may take; a call that a client settles has no limit.
    pub timeout_ms: u64,
    /// Whether its calls stay open until a client settles them.
    #[serde(default)]
    pub client: bool,
    /// Whether its owner declares that it passes nothing on and that its answers are the owner's own
    /// text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
    /// Why no call of it can run on this machine; absent if calls can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
}

impl From<&ToolSpec> for ToolInfo {
    fn from(spec: &ToolSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            effect: spec.effect,
            origin: spec.origin,
            timeout_ms: u64::try_from(spec.timeout.as_millis()).unwrap_or(u64::MAX),
            client: spec.closer == Closer::Outside,
            closed: spec.closed,
            unavailable: None,
        }
    }
}

/// The name of an existing tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolParams {
    /// Its name.
    pub name: String,
}

/// A tool to register. It needs either `url` or `client`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegisterToolParams {
    /// The name that a model calls: 1 to 64 letters, digits, `_` and `-`. A registered tool of this
    /// name is replaced.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments, of the type `object`; by default no arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The URL that receives its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether a client settles its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// What a call does to the world; by default `unsafe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<DeclaredEffect>,
    /// The most seconds that a call may take, if it has a `url`; by default 60.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
    /// Whether it passes nothing on, and its answers are the owner's own text: it then neither marks a
    /// session as one that has read text from outside, nor is asked about for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub closed: bool,
}

/// A call that waits for an outside answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenCallInfo {
    /// The id, with which a client settles it.
    pub id: CallId,
    /// The session.
    pub session_id: SessionId,
    /// The waiting turn.
    pub turn_id: TurnId,
    /// The agents from the session's own down to the one that asks.
    pub path: Vec<String>,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
}

impl OpenCallInfo {
    /// A call that waits.
    pub fn new(session: SessionId, turn: TurnId, agent: &AgentPath, call: ToolCall) -> Self {
        Self {
            id: call.id,
            session_id: session,
            turn_id: turn,
            path: agent.names().map(str::to_owned).collect(),
            tool: call.name,
            args: call.args,
        }
    }
}

/// The calls that wait for an outside answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenCalls {
    /// The first of them, at most 200.
    pub items: Vec<OpenCallInfo>,
    /// The number of all of them.
    pub total_count: u64,
}

/// How a client settles a call: with a result or with an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettleParams {
    /// The result: text for the model, or any JSON.
    pub result: Option<Value>,
    /// Why there is no result, in words that a model can act on.
    pub error: Option<String>,
}

/// Parameters of a call by a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallToolParams {
    /// The arguments, matching the tool's schema.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// The approval level for this call; by default the server's.
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
}

/// The outcome of a call by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// `done`, `failed`, `denied`, `cancelled` or `unknown`.
    #[schemars(with = "String")]
    pub status: Status,
    /// The text that a model would see.
    pub text: String,
    /// The structured value for programs, if the tool has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

impl From<Outcome> for ToolResult {
    fn from(outcome: Outcome) -> Self {
        Self {
            status: outcome.status,
            text: outcome.text,
            data: outcome.data,
        }
    }
}
