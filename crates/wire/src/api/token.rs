//! Named tokens (TL-11).

use std::borrow::Cow;
use std::fmt;

use samovar_core::Millis;
use samovar_core::relay::RelayRole;
use samovar_locale as locale;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

const MAX_ROOM_BYTES: usize = 200;

/// The name of a token: 1 to 64 lower-case letters, digits, `.`, `_` and `-`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct TokenName(String);

impl TokenName {
    /// The longest name, in bytes.
    pub const MAX_BYTES: usize = 64;

    /// Returns `None` if the name is not valid.
    pub fn new(name: String) -> Option<Self> {
        let is_plain = |byte: u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
        };
        let fits = (1..=Self::MAX_BYTES).contains(&name.len()) && name.bytes().all(is_plain);
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
        let why = || de::Error::custom(locale::params::token_name(Self::MAX_BYTES));
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

/// What a token may do. `approve` and `use` include `read`, and `admin` includes all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenScope {
    /// Call read-only methods.
    Read,
    /// Call read-only methods and answer approvals.
    Approve,
    /// Change sessions, run turns and tools at the server's approval level.
    Use,
    /// Everything, including creating tokens and widening the approval level.
    Admin,
    /// Join one room of the relay in one role, and nothing else (RL-5).
    Relay {
        /// The room: 1 to 200 bytes without surrounding white space.
        room: String,
        /// The role.
        role: RelayRole,
    },
}

impl TokenScope {
    /// Parses a scope such as `use` or `relay:ROOM:agent`. Returns `None` if it is not one.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "read" => Some(Self::Read),
            "approve" => Some(Self::Approve),
            "use" => Some(Self::Use),
            "admin" => Some(Self::Admin),
            _ => {
                // A room's name may hold colons itself.
                let (room, role) = text.strip_prefix("relay:")?.rsplit_once(':')?;
                let is_one = (1..=MAX_ROOM_BYTES).contains(&room.len()) && room.trim() == room;
                let role = RelayRole::from_name(role)?;
                let room = room.to_owned();
                is_one.then_some(Self::Relay { room, role })
            }
        }
    }
}

impl fmt::Display for TokenScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read => f.write_str("read"),
            Self::Approve => f.write_str("approve"),
            Self::Use => f.write_str("use"),
            Self::Admin => f.write_str("admin"),
            Self::Relay { room, role } => write!(f, "relay:{room}:{}", role.as_str()),
        }
    }
}

impl Serialize for TokenScope {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TokenScope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let why = || {
            let given = locale::quoted(&text);
            de::Error::custom(locale::params::token_scope(MAX_ROOM_BYTES, given))
        };
        Self::parse(&text).ok_or_else(why)
    }
}

impl JsonSchema for TokenScope {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "TokenScope".into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        let pattern = "^(read|approve|use|admin|relay:.+:(host|agent))$";
        json_schema!({ "type": "string", "pattern": pattern })
    }
}

/// Parameters for a new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreateTokenParams {
    /// Its name.
    pub name: TokenName,
    /// What it may do: `read`, `approve`, `use`, `admin`, or `relay:ROOM:ROLE` for one room of the
    /// relay in the role `host` or `agent`.
    pub scope: TokenScope,
}

/// The name of an existing token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenParams {
    /// Its name.
    pub name: TokenName,
}

/// A token without its secret, which is stored nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenInfo {
    /// Its name.
    pub name: TokenName,
    /// What it may do: `read`, `approve`, `use`, `admin`, or `relay:ROOM:ROLE` for one room of the
    /// relay in the role `host` or `agent`.
    pub scope: TokenScope,
    /// The creation time, in milliseconds since 1970.
    pub created_at: Millis,
    /// When it stops working, in milliseconds since 1970; absent if only a revocation ends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Millis>,
}

/// A new token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CreatedToken {
    /// What is stored of it.
    #[serde(flatten)]
    pub info: TokenInfo,
    /// The token itself; it is shown only once.
    pub token: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-11
    #[test]
    fn a_scope_is_read_as_it_is_spelled_and_a_room_may_be_called_anything() {
        let longest = "r".repeat(MAX_ROOM_BYTES);
        for (text, room, role) in [
            ("relay:default:agent", "default", RelayRole::Agent),
            ("relay:a:b: c:host", "a:b: c", RelayRole::Host),
            (
                "relay:../../etc/passwd:host",
                "../../etc/passwd",
                RelayRole::Host,
            ),
            ("relay:relay:agent:agent", "relay:agent", RelayRole::Agent),
            (
                &format!("relay:{longest}:agent"),
                &longest,
                RelayRole::Agent,
            ),
        ] {
            let room = room.to_owned();
            let scope = TokenScope::parse(text).unwrap();
            assert_eq!(scope, TokenScope::Relay { room, role }, "{text}");
            assert_eq!(scope.to_string(), text);
            let json = serde_json::to_value(&scope).unwrap();
            assert_eq!(json, text);
            assert_eq!(serde_json::from_value::<TokenScope>(json).unwrap(), scope);
        }
        for text in ["read", "approve", "use", "admin"] {
            assert_eq!(TokenScope::parse(text).unwrap().to_string(), text);
        }
        let frontend = TokenScope::parse("relay:default:frontend").unwrap();
        assert_eq!(frontend.to_string(), "relay:default:host");
    }

    // proves TL-11
    #[test]
    fn what_is_no_scope_is_refused() {
        for text in [
            "",
            "root",
            "Admin",
            "admin ",
            "approve:once",
            "relay",
            "relay:",
            "relay:default",
            "relay::agent",
            "relay: :agent",
            "relay: default:agent",
            "relay:default :agent",
            "relay:default:",
            "relay:default:root",
            "relay:default:Agent",
            "relay:default:agent ",
            "RELAY:default:agent",
            &format!("relay:{}:agent", "r".repeat(MAX_ROOM_BYTES + 1)),
        ] {
            assert_eq!(TokenScope::parse(text), None, "{text}");
            assert!(serde_json::from_value::<TokenScope>(text.into()).is_err());
        }
    }
}
