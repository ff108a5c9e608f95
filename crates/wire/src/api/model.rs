//! Which model is used, and why (FC-4).

use samovar_core::provider::ModelKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters for listing the models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsParams {
    /// Whether to ask the machine's model servers now, even if the choice does not depend on them.
    #[serde(default)]
    pub probe: bool,
}

/// The providers of a server, and the default model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsAnswer {
    /// The default model, if one is usable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ModelChoice>,
    /// Why there is no default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Every provider.
    pub providers: Vec<ProviderInfo>,
    /// For each key that is set but unused, a sentence that says what to do.
    #[serde(default)]
    pub idle_keys: Vec<String>,
}

/// A model, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelChoice {
    /// Its name.
    pub name: String,
    /// The kind of model: `remote`, `local` or `demo`.
    #[schemars(with = "String")]
    pub kind: ModelKind,
    /// Why it was chosen.
    pub reason: ModelReason,
}

/// Why a model was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum ModelReason {
    /// The configuration names it.
    Asked,
    /// The key of its provider is set.
    Key {
        /// The provider's name for people.
        provider: String,
        /// Where the key was found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// A server on this machine has it.
    Local {
        /// Why this model, in a sentence.
        why: String,
        /// The number of models found on this machine.
        found: u64,
    },
    /// Nothing else is available.
    Nothing {
        /// Where a model was looked for in vain, a sentence each; empty if samovar did not look.
        looked_at: Vec<String>,
    },
}

/// A provider, and what it needs to be usable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name in `name/model`.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// What its server speaks: `chat_completions`, `anthropic`.
    #[serde(default)]
    pub dialect: String,
    /// How it can be used.
    pub access: ProviderAccess,
    /// The variables any of which would make it usable.
    pub set: Vec<String>,
    /// The model for sessions that name none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// The base URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// The answer of its server when asked for its models, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The models of its server, the best first.
    pub models: Vec<LocalModelInfo>,
    /// How many tokens its default model holds, or the best one of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowInfo>,
    /// Whether its model is the default model.
    pub is_chosen: bool,
}

/// How many tokens a model holds, prompt and answer together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WindowInfo {
    /// Tokens, as its server counts them.
    pub tokens: u64,
    /// Where that is known from.
    pub from: WindowFrom,
}

/// Where a window is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WindowFrom {
    /// The server's own list of models.
    List,
    /// `providers.NAME.context_window`.
    Setting,
}

/// How a provider can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderAccess {
    /// With its key.
    Key,
    /// Without one.
    Open,
    /// Not at all.
    Missing,
}

/// A model of a server on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalModelInfo {
    /// Its canonical name.
    pub name: String,
    /// Whether it can call tools; absent when its server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
}
