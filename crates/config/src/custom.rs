//! Tools that the configuration adds.

use std::fmt;

use samovar_core::tool::DeclaredEffect;
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One tool behind a webhook.
#[derive(Clone, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CustomTool {
    /// What it does and when to use it, for the model.
    #[schemars(with = "String", example = &"Books a table.", length(min = 1, max = 4_096), extend("x-widens" = true))]
    pub description: Option<String>,
    /// The JSON Schema of its arguments, as text; by default no arguments.
    #[schemars(
        with = "String", example = &"{\"type\": \"object\"}",
        length(min = 2, max = 16_384),
        extend("contentMediaType" = "application/json", "x-widens" = true)
    )]
    pub parameters: Option<String>,
    /// The URL that receives its calls; it may contain a key.
    #[schemars(with = "String", example = &"https://example.com/hook", length(min = 1, max = 2_048), extend("x-widens" = true))]
    pub url: Option<String>,
    /// The most seconds that a call may take; by default 60.
    #[schemars(with = "u32", example = 60, range(min = 1, max = 3_600), extend("x-widens" = true))]
    pub timeout: Option<u32>,
    /// What a call does to the world; by default `unsafe`.
    #[schemars(with = "DeclaredEffect", example = &"read", extend("x-widens" = true))]
    pub effect: Option<DeclaredEffect>,
    /// Whether it passes nothing on, and its answers are your own text, so that they do not count as
    /// text from outside; by default false.
    #[schemars(with = "bool", example = true, extend("x-widens" = true))]
    pub closed: Option<bool>,
}

/// The URL may contain a key.
impl fmt::Debug for CustomTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.as_deref().map(locale::without_secrets);
        f.debug_struct("CustomTool")
            .field("description", &self.description)
            .field("url", &url)
            .finish_non_exhaustive()
    }
}
