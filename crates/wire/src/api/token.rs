//! Named tokens (TL-11).

use std::borrow::Cow;

use samovar_core::Millis;
use samovar_locale as locale;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// Bytes of a token's name, at most.
const MAX_NAME_BYTES: usize = 64;

/// The name of a token: 1 to 64 lower-case letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TokenName(String);

impl TokenName {
    /// Takes a name that is one.
    pub fn new(name: String) -> Option<Self> {
        let is_plain = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
        };
        let fits = (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_plain);
        fits.then_some(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for TokenName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let why = || de::Error::custom(locale::params::token_name(MAX_NAME_BYTES));
        Self::new(name).ok_or_else(why)
    }
}

impl JsonSchema for TokenName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TokenName".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[a-z0-9._-]{1,64}$" })
    }
}

/// What a token may do. Each may what those before it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenScope {
    /// Look.
    Read,
    /// Change sessions, run turns and tools at the server's approval level.
    Use,
    /// Everything, such as to make tokens and to widen the approval level.
    Admin,
}

impl TokenScope {
    /// Every scope, the narrowest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Use, Self::Admin];

    /// The scope as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Use => "use",
            Self::Admin => "admin",
        }
    }
}

/// Parameters for a new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateTokenParams {
    /// Its name.
    pub name: TokenName,
    /// What it may do.
    pub scope: TokenScope,
}

/// Which token is meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenParams {
    /// Its name.
    pub name: TokenName,
}

/// What is known of a token. The token itself is kept nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// Its name.
    pub name: TokenName,
    /// What it may do.
    pub scope: TokenScope,
    /// When it was made, in milliseconds since 1970.
    #[schemars(with = "i64")]
    pub created_at: Millis,
}

/// A token that was made just now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// What is known of it from here on.
    #[serde(flatten)]
    pub info: TokenInfo,
    /// The token; it is shown this once.
    pub token: String,
}
