//! Tools as people see them (TL-17).

use samovar_core::message::Status;
use samovar_core::{Approval, Effect, Outcome, ToolSpec};
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
    /// How long one call may run, in milliseconds.
    pub timeout_ms: u64,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ToolOrigin {
    /// It is a part of the server.
    BuiltIn,
    /// It was registered.
    Registered,
}

impl From<&ToolSpec> for ToolInfo {
    fn from(spec: &ToolSpec) -> Self {
        use samovar_core::Capability;
        let origin = match spec.capability {
            Capability::ReadWorkspace | Capability::WriteWorkspace => ToolOrigin::BuiltIn,
            Capability::Registered => ToolOrigin::Registered,
        };
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            parameters: spec.parameters.clone(),
            effect: spec.effect,
            origin,
            timeout_ms: u64::try_from(spec.timeout.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

/// Which tool is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolParams {
    /// Its name.
    pub name: String,
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
