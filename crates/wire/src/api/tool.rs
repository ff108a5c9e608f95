//! Tools as people see them (TL-17).

use samovar_core::message::Status;
use samovar_core::tool::Origin;
use samovar_core::{Approval, CallId, Closer, Effect, Outcome, SessionId, ToolSpec, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A tool, with what it does to the world and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolInfo {
    /// The name that a model calls.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
    /// What it does to the world: `read`, `idempotent`, `verifiable` or `unsafe`.
    #[schemars(with = "String")]
    pub effect: Effect,
    /// Where it comes from.
    pub origin: ToolOrigin,
    /// How long one call may run, in milliseconds; one that a client settles has no limit.
    pub timeout_ms: u64,
    /// Whether its calls stay open until a client settles them.
    #[serde(default)]
    pub client: bool,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOrigin {
    /// It is a part of the server.
    BuiltIn,
    /// The configuration names it.
    Configuration,
    /// It was registered.
    Registered,
}

impl From<&ToolSpec> for ToolInfo {
    fn from(spec: &ToolSpec) -> Self {
        let origin = match spec.origin {
            Origin::BuiltIn => ToolOrigin::BuiltIn,
            Origin::Configuration => ToolOrigin::Configuration,
            Origin::Registered => ToolOrigin::Registered,
        };
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            effect: spec.effect,
            origin,
            timeout_ms: u64::try_from(spec.timeout.as_millis()).unwrap_or(u64::MAX),
            client: spec.closer == Closer::Outside,
        }
    }
}

/// Which tool is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolParams {
    /// Its name.
    pub name: String,
}

/// A tool to be registered. Either `url` or `client` says who runs it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RegisterToolParams {
    /// The name that a model calls: 1 to 64 letters, digits, `_` and `-`. One that was registered
    /// before is replaced.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments, of the type `object`; without it there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<Value>,
    /// The address that its calls are sent to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Whether a client settles its calls.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub client: bool,
    /// What it does to the world; `unsafe` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<DeclaredEffect>,
    /// Seconds that one call may take, for one with a `url`; 60 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u32>,
}

/// What a tool does to the world, as far as somebody else can say it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredEffect {
    /// Nothing: a call that a crash cut is made again.
    Read,
    /// The same once or twice under the same key: a call that a crash cut is made again with it.
    Idempotent,
    /// Something that must not happen twice: a call that a crash cut is never made again.
    #[default]
    Unsafe,
}

impl From<DeclaredEffect> for Effect {
    fn from(effect: DeclaredEffect) -> Self {
        match effect {
            DeclaredEffect::Read => Self::Read,
            DeclaredEffect::Idempotent => Self::Idempotent,
            DeclaredEffect::Unsafe => Self::Unsafe,
        }
    }
}

/// A call that waits for somebody outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenCallInfo {
    /// The call, by which it is settled.
    #[schemars(with = "String")]
    pub id: CallId,
    /// Its session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// Its turn, which waits.
    #[schemars(with = "String")]
    pub turn_id: TurnId,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub args: Value,
}

/// The calls that wait for somebody outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenCalls {
    /// The first of them, at most 200.
    pub items: Vec<OpenCallInfo>,
    /// How many there are.
    pub total_count: u64,
}

/// How a client settles a call: with a result or with an error.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SettleParams {
    /// What came of it: text for the model, or any JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<Value>,
    /// Why nothing came of it, in words that a model can act on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Parameters of a call by a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallToolParams {
    /// The arguments, as the tool's schema wants them.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// How much is asked before it runs; the server's level when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
}

/// The outcome of a call by a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolResult {
    /// `done`, `failed`, `denied`, `cancelled` or `unknown`.
    #[schemars(with = "String")]
    pub status: Status,
    /// What a model would read.
    pub text: String,
    /// The structured value for programs, where the tool has one.
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
