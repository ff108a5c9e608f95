//! Which model answers, and why (FC-4).

use samovar_core::provider::ModelKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ModelReason {
    /// The configuration names it.
    Asked,
    /// The key of its provider is set.
    Key {
        /// The provider, for people.
        provider: String,
        /// The variable that may hold the key.
        variable: String,
    },
    /// A server on this machine has it.
    Local {
        /// The server, for people.
        provider: String,
        /// Where it is.
        address: String,
        /// Models that were found on this machine.
        found: u64,
        /// Whether it says that its model can use tools; none when it does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tools: Option<bool>,
    },
    /// Nothing else is there.
    Nothing,
}

/// A provider, and what has to be done before it can be used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderInfo {
    /// The name in `name/model`.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// What it speaks.
    pub dialect: String,
    /// `key`, `open` or `missing`.
    pub access: String,
    /// The variables that may hold its key.
    pub variables: Vec<String>,
    /// The model for who asks for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_model: Option<String>,
    /// Models that were found there, by their canonical names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<String>,
}
