//! What the methods are asked, and the commands and queries that it means.

use std::borrow::Cow;
use std::fmt;

use samovar_core::command::Text;
use samovar_core::history::{MessageQuery, SessionQuery, Speakers};
use samovar_core::{Action, Error, MessageId, SessionId, TurnId};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value};

use super::encoder::Profile;

/// Sessions on a page when the client does not say (AS-18).
const DEFAULT_SESSIONS: u32 = 50;
/// Sessions on a page at most (AS-18).
const MAX_SESSIONS: u32 = 200;
/// Messages in an answer, when the client does not say and at most.
const MAX_MESSAGES: u32 = 1000;

/// A whole number from 0 to `MAX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AtMost<const MAX: u32>(u32);

impl<const MAX: u32> AtMost<MAX> {
    /// Takes a number that is not above `MAX`.
    pub fn new(number: u32) -> Option<Self> {
        (number <= MAX).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<'de, const MAX: u32> Deserialize<'de> for AtMost<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const MAX: u32>;

        impl<const MAX: u32> Visitor<'_> for Bounded<MAX> {
            type Value = AtMost<MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from 0 to {MAX}")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                let fitting = u32::try_from(number).ok().and_then(AtMost::new);
                fitting.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                match u64::try_from(number) {
                    Ok(number) => self.visit_u64(number),
                    Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
                }
            }
        }

        deserializer.deserialize_u64(Bounded)
    }
}

impl<const MAX: u32> JsonSchema for AtMost<MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("AtMost{MAX}").into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": MAX })
    }
}

/// No parameters: `listTools`, `getStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Parameters of `createSession`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionParams {
    /// The model; none for the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session's id; none lets the server make one. A session that exists is given back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub session_id: Option<SessionId>,
    /// Facts to be kept with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl CreateSessionParams {
    /// What is to be done, and to which session; none for a new id.
    pub fn into_action(self) -> (Option<SessionId>, Action) {
        let action = Action::Open {
            model: self.model,
            metadata: self.metadata.unwrap_or_default(),
        };
        (self.session_id, action)
    }
}

/// Parameters of `sendMessage` and `sendMessage/stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// What is said: at least one visible character.
    pub content: String,
    /// The client's id for the message; none lets the server make one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub message_id: Option<MessageId>,
    /// What happens while another turn runs (AS-11).
    #[serde(default)]
    pub delivery: Delivery,
}

/// What happens to a message while another turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It waits for its turn.
    #[default]
    Queue,
}

impl SendMessageParams {
    /// What is to be done, and to which session.
    ///
    /// # Errors
    /// [`Code::BlankContent`](samovar_core::Code::BlankContent) when nothing is said.
    pub fn into_action(self) -> Result<(SessionId, Action), Error> {
        let action = Action::Post {
            message: self.message_id,
            text: Text::new(self.content)?,
        };
        Ok((self.session_id, action))
    }
}

/// Parameters of a stream, in its query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParams {
    /// How much of the turn it shows.
    #[serde(default)]
    pub profile: Profile,
}

/// Parameters of `getSession` and `deleteSession`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
}

/// Parameters of `listSessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaginationParams {
    /// How many to skip; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<AtMost<{ u32::MAX }>>,
    /// How many to show; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<AtMost<MAX_SESSIONS>>,
    /// Only sessions whose id or title has this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

impl From<PaginationParams> for SessionQuery {
    fn from(params: PaginationParams) -> Self {
        Self {
            offset: params.offset.map_or(0, |offset| offset.get().into()),
            limit: params.limit.map_or(DEFAULT_SESSIONS, AtMost::get),
            matching: params.query.filter(|query| !query.is_empty()),
        }
    }
}

/// Parameters of `getMessages`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetMessagesParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// How many of the last to show; 1,000 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<AtMost<MAX_MESSAGES>>,
    /// Only messages before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub before: Option<MessageId>,
}

impl From<GetMessagesParams> for MessageQuery {
    fn from(params: GetMessagesParams) -> Self {
        Self {
            session: params.session_id,
            limit: params.limit.map_or(MAX_MESSAGES, AtMost::get),
            before: params.before,
            of: Speakers::All,
        }
    }
}

/// Parameters of `cancel`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CancelParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// The turn; none for the one that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub turn_id: Option<TurnId>,
}

impl CancelParams {
    /// What is to be done, and to which session.
    pub fn into_action(self) -> (SessionId, Action) {
        (self.session_id, Action::Cancel { turn: self.turn_id })
    }
}
