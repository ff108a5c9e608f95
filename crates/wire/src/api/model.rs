//! Which model answers, and why (FC-4).

use samovar_core::provider::ModelKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the models are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsParams {
    /// Whether the model servers of the machine are asked now, even if the choice does not depend on
    /// them.
    #[serde(default)]
    pub probe: bool,
}

/// The providers of a server, and the model for who asks for none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelsAnswer {
    /// The model for who asks for none; none when there is no usable one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen: Option<ModelChoice>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
    /// Every provider.
    pub providers: Vec<ProviderInfo>,
    /// Keys that are set and that nothing uses, in a sentence each that says what to do.
    #[serde(default)]
    pub idle_keys: Vec<String>,
}

/// A model, and why it was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelChoice {
    /// Its name.
    pub name: String,
    /// What kind of thing answers: `remote`, `local` or `demo`.
    #[schemars(with = "String")]
    pub kind: ModelKind,
    /// Why this one.
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
        /// The provider, for people.
        provider: String,
        /// Where the key was found.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<String>,
    },
    /// A server on this machine has it.
    Local {
        /// Why this one, in a sentence.
        why: String,
        /// Models that were found on this machine.
        found: u64,
    },
    /// Nothing else is there.
    Nothing {
        /// What was looked at in vain, a sentence each; empty when nothing was.
        looked_at: Vec<String>,
    },
}

/// A provider, and what has to be done before it can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name in `name/model`.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// How it can be used.
    pub access: ProviderAccess,
    /// The variables any of which would make it usable.
    pub set: Vec<String>,
    /// The model for who asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// What came of asking its server for its models, in a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<String>,
    /// The models that its server has, the best first.
    pub models: Vec<LocalModelInfo>,
    /// Whether its model answers who asks for none.
    pub is_chosen: bool,
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

/// A model that a server of this machine has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LocalModelInfo {
    /// Its canonical name.
    pub name: String,
    /// Whether it can call tools; absent when its server does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
}
