//! What a key is, what holds there, and where that comes from.

use samovar_locale as locale;
use serde::Serialize;
use serde_json::Value;

use crate::keys::Key;
use crate::layer::LayerValue;
use crate::origin::Origin;
use crate::settings::MASK;

/// A key as a person wants to know it. Secrets are masked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The key.
    pub key: String,
    /// The value that counts; `None` if it is not set and depends on the environment.
    pub value: Option<Value>,
    /// Where that comes from.
    pub origin: Origin,
    /// What was said elsewhere and does not count, what would count next first.
    pub overrides: Vec<Overridden>,
    /// The default.
    pub default: Option<Value>,
    /// What it is for.
    pub purpose: String,
    /// The accepted values, in words.
    pub accepts: String,
    /// The variables that set it, the one that counts most first.
    pub variables: Vec<String>,
    /// Whether it counts in the file of a folder only when that is trusted.
    pub needs_trust: bool,
}

/// A value that does not count.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overridden {
    /// The value.
    pub value: Value,
    /// Its origin.
    pub origin: Origin,
}

impl Explained {
    pub(crate) fn new(key: &Key, given: &[LayerValue]) -> Self {
        let first = given.first();
        let value = first.map(|given| masked(key, &given.value));
        let overrides = given.iter().skip(1).map(|given| Overridden {
            value: masked(key, &given.value),
            origin: given.origin.clone(),
        });
        Self {
            key: key.name.clone(),
            value: value.or_else(|| key.default.clone()),
            origin: first.map_or(Origin::Default, |given| given.origin.clone()),
            overrides: overrides.collect(),
            default: key.default.clone(),
            purpose: key.purpose.clone(),
            accepts: key.kind.to_string(),
            variables: key.variables.clone(),
            needs_trust: key.widens,
        }
    }
}

/// A value as it may be shown.
pub(crate) fn masked(key: &Key, value: &Value) -> Value {
    match value {
        _ if key.is_secret => MASK.into(),
        Value::String(text) if key.is_endpoint() || text.contains("://") => {
            locale::without_secrets(text).into()
        }
        Value::Array(items) => items.iter().map(|item| masked(key, item)).collect(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            value.clone()
        }
    }
}
