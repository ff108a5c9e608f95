//! What a model was told (MD-8).

use samovar_core::{SessionId, TurnId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Whose prompt is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ContextParams {
    /// The session.
    pub id: SessionId,
    /// The turn; by default the last one of the session's own agent that called a model.
    pub turn: Option<TurnId>,
}

/// The prompt of the last model call of a turn, built again from the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextInfo {
    /// The turn.
    pub turn_id: TurnId,
    /// The model.
    pub model: String,
    /// How many tokens the prompt has, about.
    pub tokens: u64,
    /// How many tokens the model's window has; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The part of the window that the prompt takes, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// The layers of the system prompt, in their order.
    pub layers: Vec<ContextLayer>,
    /// The tools; the text is their names.
    pub tools: ContextLayer,
    /// The conversation that the model was shown.
    pub messages: ContextMessages,
}

/// A part of a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextLayer {
    /// Its name.
    pub name: String,
    /// How many tokens it has, about.
    pub tokens: u64,
    /// Whether it has changed since that call, so that the text is another one; `null` if the log no
    /// longer says so.
    pub changed: Option<bool>,
    /// Its present text; keys are masked.
    pub text: String,
}

/// The conversation in a prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextMessages {
    /// How many messages.
    pub count: u64,
    /// How many tokens they have, about.
    pub tokens: u64,
}
