//! Keys of providers without a row: known, so that the user is told why such a key does nothing.

use std::fmt;

use samovar_locale as locale;
use serde::Serialize;

/// A provider that people have keys for and that has no row in [`SPECS`](crate::SPECS).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unbuilt {
    /// The variable that holds its key, as its own programs read it.
    pub variable: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// How its models can be had all the same.
    pub way: Alternative,
}

/// How to use the models of a provider without a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "base_url")]
pub enum Alternative {
    /// It claims to speak Chat Completions at this address, so the row `custom` may work.
    Custom(&'static str),
    /// Its dialect is not built; a gateway with a row may offer its models.
    Gateway,
}

/// The ones that are known. A provider that gets a row leaves.
pub const UNBUILT: &[Unbuilt] = &[
    Unbuilt {
        variable: "AWS_BEARER_TOKEN_BEDROCK",
        display_name: "Amazon Bedrock",
        way: Alternative::Gateway,
    },
    Unbuilt {
        variable: "COHERE_API_KEY",
        display_name: "Cohere",
        way: Alternative::Custom("https://api.cohere.ai/compatibility/v1"),
    },
    Unbuilt {
        variable: "DEEPINFRA_API_KEY",
        display_name: "DeepInfra",
        way: Alternative::Custom("https://api.deepinfra.com/v1/openai"),
    },
    Unbuilt {
        variable: "NVIDIA_API_KEY",
        display_name: "NVIDIA NIM",
        way: Alternative::Custom("https://integrate.api.nvidia.com/v1"),
    },
    Unbuilt {
        variable: "PERPLEXITY_API_KEY",
        display_name: "Perplexity",
        way: Alternative::Custom("https://api.perplexity.ai"),
    },
    Unbuilt {
        variable: "REPLICATE_API_TOKEN",
        display_name: "Replicate",
        way: Alternative::Gateway,
    },
    Unbuilt {
        variable: "SAMBANOVA_API_KEY",
        display_name: "SambaNova",
        way: Alternative::Custom("https://api.sambanova.ai/v1"),
    },
];

/// A key that is set and that nothing uses. Its text is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IdleKey {
    /// Where it was found, else the variable that would hold it.
    pub variable: String,
    /// Whose it is, for people.
    pub display_name: &'static str,
    /// Why it is idle.
    pub reason: Idle,
}

/// Why a key is idle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Idle {
    /// Its provider has no row.
    Unbuilt {
        /// How its models can be had all the same.
        way: Alternative,
    },
    /// Its row has no address.
    NoAddress {
        /// The variable that would set it.
        set: String,
    },
}

impl fmt::Display for IdleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (variable, provider) = (&self.variable, self.display_name);
        let sentence = match &self.reason {
            Idle::Unbuilt {
                way: Alternative::Custom(base_url),
            } => locale::models::idle_key_custom(variable, provider, base_url),
            Idle::Unbuilt {
                way: Alternative::Gateway,
            } => locale::models::idle_key_unbuilt(variable, provider),
            Idle::NoAddress { set } => locale::models::idle_key_no_address(variable, provider, set),
        };
        f.write_str(&sentence)
    }
}
