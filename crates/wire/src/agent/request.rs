//! What the methods are asked, and the commands and queries that it means.

use samovar_core::command::{self, Text};
use samovar_core::history::{MessageQuery, SessionQuery, Speakers};
use samovar_core::{Action, Approval, Bounds, Code, Error, MessageId, SessionId, Title, TurnId};
use samovar_locale as locale;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::encoder::Profile;
use super::within::Within;

/// Sessions on a page when the client does not say (AS-18).
const DEFAULT_SESSIONS: u32 = 50;
/// Sessions on a page at most (AS-18).
const MAX_SESSIONS: u32 = 200;
/// Messages in an answer, when the client does not say and at most.
const MAX_MESSAGES: u32 = 1000;
/// Passes of the loop that a message may ask for, at most.
const MAX_ITERATIONS: u32 = 1000;

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
    /// Passes of the loop that its turn may take; the server's own number when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<Within<1, MAX_ITERATIONS>>,
    /// Tokens that all model calls of its turn together may cost; the server's own number when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<Within<1, { u32::MAX }>>,
    /// How much is asked before a call of its turn runs; the server's own level when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "approval_schema")]
    pub approval: Option<Approval>,
}

/// What happens to a message while another turn runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It joins the turn that runs before that asks its model again; its own turn ends as `steered`
    /// then. When the turn ends before, it begins its own. It can set nothing for its turn.
    Steer,
    /// The turn that runs is stopped, and its own begins, before what waits.
    Interrupt,
    /// It is refused with `session_busy`.
    Reject,
}

impl From<Delivery> for command::Delivery {
    fn from(delivery: Delivery) -> Self {
        match delivery {
            Delivery::Queue => Self::Queue,
            Delivery::Steer => Self::Steer,
            Delivery::Interrupt => Self::Interrupt,
            Delivery::Reject => Self::Reject,
        }
    }
}

impl SendMessageParams {
    /// What is to be done, and to which session.
    ///
    /// # Errors
    /// [`Code::BlankContent`] when nothing is said, and [`Code::InvalidParams`] when what may join
    /// another turn sets something for its own.
    pub fn into_action(self) -> Result<(SessionId, Action), Error> {
        let bounds = Bounds {
            max_iterations: self.max_iterations.map(Within::get),
            budget_tokens: self.budget_tokens.map(|tokens| tokens.get().into()),
            approval: self.approval,
        };
        if self.delivery == Delivery::Steer && !bounds.is_empty() {
            let why = locale::request::steers_with_bounds();
            let details = json!({"parameter": "delivery"});
            return Err(Error::new(Code::InvalidParams, why).with_details(details));
        }
        let action = Action::Post {
            message: self.message_id,
            text: Text::new(self.content)?,
            bounds,
            delivery: self.delivery.into(),
        };
        Ok((self.session_id, action))
    }
}

fn approval_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Approval::ALL.map(Approval::as_str) })
}

/// Parameters of a stream, in its query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParams {
    /// How much of the turn it shows.
    #[serde(default)]
    pub profile: Profile,
    /// The id of the last frame that was read: the stream goes on behind it. The header
    /// `Last-Event-ID` says the same, and counts when both are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// Parameters of a stream that is read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// The id of the last frame that was read: the stream goes on behind it, to the end of that
    /// frame's turn. Without one it begins with the turn that runs, else with the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// How much of the turn it shows.
    #[serde(default)]
    #[schemars(skip)]
    pub profile: Profile,
}

/// Parameters of `getSession`, `deleteSession` and `undo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
}

/// Parameters of `updateSession`. What is absent stays as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSessionParams {
    /// The session.
    #[schemars(with = "String")]
    pub session_id: SessionId,
    /// What a person calls it: at most 256 bytes without control characters; empty to remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub title: Option<Title>,
    /// The model of its next turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

impl UpdateSessionParams {
    /// What is to be done, and to which session.
    pub fn into_action(self) -> (SessionId, Action) {
        let (model, title) = (self.model, self.title);
        (self.session_id, Action::Change { model, title })
    }
}

/// Parameters of `listSessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PaginationParams {
    /// How many to skip; none when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Within<0, { u32::MAX }>>,
    /// How many to show; 50 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Within<0, MAX_SESSIONS>>,
    /// Only sessions whose id or title has this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
}

impl From<PaginationParams> for SessionQuery {
    fn from(params: PaginationParams) -> Self {
        Self {
            offset: params.offset.map_or(0, |offset| offset.get().into()),
            limit: params.limit.map_or(DEFAULT_SESSIONS, Within::get),
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
    pub limit: Option<Within<0, MAX_MESSAGES>>,
    /// Only messages before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub before: Option<MessageId>,
}

impl From<GetMessagesParams> for MessageQuery {
    fn from(params: GetMessagesParams) -> Self {
        Self {
            session: params.session_id,
            limit: params.limit.map_or(MAX_MESSAGES, Within::get),
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
