//! The parameters of the methods, and the commands and queries they stand for.

use std::borrow::Cow;
use std::fmt;

use samovar_core::command::{Change, Delivery, Opening, Post, Text};
use samovar_core::history::{MessageQuery, SessionQuery, Speakers};
use samovar_core::situation::{Environment, Posted};
use samovar_core::{
    Action, AgentName, Approval, Bounds, Budget, Code, Error, MessageId, PostedContext, SessionId,
    SystemPrompt, Title, TurnId,
};
use samovar_locale as locale;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::{Map, Value, json};

use super::attachment::{Attachment, images};
use super::budget::Dollars;
use super::encoder::Profile;

/// Default number of sessions on a page (AS-18).
const DEFAULT_SESSIONS: u32 = 50;
/// Maximum number of sessions on a page (AS-18).
const MAX_SESSIONS: u32 = 200;
/// Default and maximum number of messages in a result.
pub(crate) const MAX_MESSAGES: u32 = 1000;
/// Maximum number of iterations that a message may ask for.
const MAX_ITERATIONS: u32 = 1000;
/// Maximum number of iterations of a tree that a message may ask for.
const MAX_BUDGET_STEPS: u32 = 1_000_000;
/// Maximum time that a message may ask for: a year.
const MAX_WALL_SECONDS: u32 = 366 * 86_400;

/// Maximum number of seconds for which a request waits for a person.
const MAX_WAIT_SECONDS: u32 = 1800;

/// No parameters: `listTools`, `listSkills`, `getMemory`, `getStats`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Parameters of `createSession`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CreateSessionParams {
    /// The model; by default the server's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session's id; by default the server generates one. An existing session is returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Metadata to store with the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The session's agent, by its name; by default `master`. Unless `model` is given, its model is
    /// the session's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// What to tell the session's agent besides its own prompt: at most 64 KiB, without control
    /// characters but tabs and line ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<SystemPrompt>,
    /// The approval level of its turns; by default the server's. Only the owner's tokens can set a
    /// wider one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
}

impl CreateSessionParams {
    /// The action, and its session, or `None` for a new id.
    pub fn into_action(self) -> (Option<SessionId>, Action) {
        let opening = Opening {
            model: self.model,
            metadata: self.metadata.unwrap_or_default(),
            agent: self.agent,
            system_prompt: self.system_prompt,
            approval: self.approval,
        };
        (self.session_id, Action::Open(opening))
    }
}

/// Parameters of `forkSession`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    /// The session.
    pub session_id: SessionId,
    /// The last message of the fork: one of the session's own agent, of a turn that is over. By
    /// default the last that there is.
    pub message_id: Option<MessageId>,
    /// The id of the fork, which no session has; by default the server generates one.
    pub new_session_id: Option<SessionId>,
    /// The title of the fork; by default that of the session.
    pub title: Option<Title>,
}

/// Parameters of `sendMessage` and `sendMessage/stream`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SendMessageParams {
    /// The session.
    pub session_id: SessionId,
    /// The text: at least one visible character.
    pub content: String,
    /// Images that come with the text: at most 8, and 20 MiB together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The client's id for the message; by default the server generates one.
    pub message_id: Option<MessageId>,
    /// What happens when another turn is running (AS-11).
    #[serde(default)]
    pub delivery: Delivery,
    /// The most iterations of its turn; by default the server's setting.
    pub max_iterations: Option<Within<1, MAX_ITERATIONS>>,
    /// The most tokens that all model calls of its turn, and of the turns that it waits for, may
    /// use together; by default the server's setting.
    pub budget_tokens: Option<Within<1, { u32::MAX }>>,
    /// The most iterations of its turn and of those that it waits for; by default the server's
    /// setting.
    pub budget_steps: Option<Within<1, MAX_BUDGET_STEPS>>,
    /// The most US dollars that these model calls may cost; by default the server's setting. Needs
    /// models whose price is known.
    pub budget_usd: Option<Dollars>,
    /// The most seconds from the start of its turn, including those in which it waits; by default
    /// the server's setting.
    pub budget_wall_seconds: Option<Within<1, MAX_WALL_SECONDS>>,
    /// Which calls of its turn need approval; by default the server's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "approval_schema")]
    pub approval: Option<Approval>,
    /// Whether no person can answer a question of its turn or read what it posts: the model is then
    /// not offered `ask_user` and `post_message`. By default false.
    #[serde(default)]
    pub no_input: bool,
    /// What the client's UI shows to the person, for its turn alone: at most 64 KiB as JSON. Its turn's
    /// agents read it as text from outside.
    pub context: Option<PostedContext>,
    /// What the person is doing, by the name of a mode, which takes tools away from agents; by default
    /// the kind of `context.activeTab` if a mode has that name, else `default`.
    pub agent_mode: Option<String>,
    /// What the commands of its turn get of the owner's shell; by default they get what the server
    /// was started with. Only the owner's token may set it.
    pub environment: Option<Environment>,
    /// Without a stream: after how many seconds in which its turn waits for a person the request
    /// returns, while the turn continues; by default 30.
    pub wait_seconds: Option<Within<0, MAX_WAIT_SECONDS>>,
}

impl SendMessageParams {
    /// The action, and its session.
    ///
    /// # Errors
    /// [`Code::BlankContent`] if the text is blank, and [`Code::InvalidParams`] if a message that
    /// may join another turn sets bounds, or the context is too long.
    pub fn into_action(self) -> Result<(SessionId, Action), Error> {
        let bounds = Bounds {
            max_iterations: self.max_iterations.map(Within::get),
            budget: Budget {
                steps: self.budget_steps.map(Within::get),
                tokens: self.budget_tokens.map(|tokens| tokens.get().into()),
                cost: self.budget_usd.map(|Dollars(usd)| usd),
                wall_ms: self
                    .budget_wall_seconds
                    .map(|seconds| u64::from(seconds.get()) * 1000),
            },
            approval: self.approval,
            no_input: self.no_input,
            ..Bounds::default()
        };
        if self.delivery == Delivery::Steer && !bounds.is_empty() {
            let why = locale::request::steers_with_bounds();
            let details = json!({"parameter": "delivery"});
            return Err(Error::new(Code::InvalidParams, why).with_details(details));
        }
        let post = Post {
            message: self.message_id,
            text: Text::new(self.content)?,
            images: images(&self.attachments)?,
            bounds,
            delivery: self.delivery,
            posted: Posted::new(self.context, self.agent_mode)?
                .with_environment(self.environment.unwrap_or_default())?,
        };
        Ok((self.session_id, Action::Post(post)))
    }
}

fn approval_schema(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": Approval::ALL.map(Approval::as_str) })
}

/// Parameters of a stream, in its query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamParams {
    /// How much of the turn to show.
    #[serde(default)]
    pub profile: Profile,
    /// Whether the default profile also shows the events of approvals and questions.
    #[serde(default)]
    pub approvals: bool,
    /// The id of the last frame that was read: the stream resumes after it. The header
    /// `Last-Event-ID` means the same, and takes precedence.
    pub after: Option<String>,
}

/// Parameters for reading a stream again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResumeParams {
    /// The session.
    pub session_id: SessionId,
    /// The id of the last frame that was read: the stream resumes after it, to the end of that
    /// frame's turn. Without an id it starts with the running turn, or else the last one.
    pub after: Option<String>,
    /// How much of the turn to show.
    #[serde(default)]
    #[schemars(skip)]
    pub profile: Profile,
    /// Whether the default profile also shows the events of approvals and questions.
    #[serde(default)]
    #[schemars(skip)]
    pub approvals: bool,
}

/// Parameters of `deleteSession`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeleteSessionParams {
    /// The session.
    pub session_id: SessionId,
    /// Delete only an empty session; refuse one that has messages.
    pub if_empty: Option<bool>,
}

/// Parameters of `undo`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoParams {
    /// The session.
    pub session_id: SessionId,
    /// The turn that is to be taken back, and no other. With it the request can be sent again: for a turn
    /// that was taken back already it has the same result, while the log has that.
    pub turn_id: Option<TurnId>,
    /// Whether files get the content back that they had before the turn; by default they stay as
    /// they are.
    pub files: Option<bool>,
}

impl UndoParams {
    /// The action, and its session.
    pub fn into_action(self) -> (SessionId, Action) {
        let action = match self.files {
            Some(true) => Action::UndoWithFiles { turn: self.turn_id },
            Some(false) | None => Action::Undo { turn: self.turn_id },
        };
        (self.session_id, action)
    }
}

/// Parameters of `getSession`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The session.
    pub session_id: SessionId,
}

/// Parameters of `updateSession`. Absent fields are not changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSessionParams {
    /// The session.
    pub session_id: SessionId,
    /// The title for people: at most 256 bytes without control characters; empty to remove it.
    pub title: Option<Title>,
    /// The model from the next turn on.
    pub model: Option<String>,
    /// The approval level from the next turn on. Only the owner's tokens can set a wider one than
    /// the session has.
    #[schemars(with = "Option<String>")]
    pub approval: Option<Approval>,
}

impl UpdateSessionParams {
    /// The action, and its session.
    pub fn into_action(self) -> (SessionId, Action) {
        let change = Change {
            model: self.model,
            title: self.title,
            approval: self.approval,
            ..Change::default()
        };
        (self.session_id, Action::Change(change))
    }
}

/// Parameters of `listSessions`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaginationParams {
    /// How many sessions to skip; by default 0.
    pub offset: Option<Within<0, { u32::MAX }>>,
    /// The most sessions to return; by default 50.
    pub limit: Option<Within<0, MAX_SESSIONS>>,
    /// Only sessions whose id, title or first words contain this text.
    pub query: Option<String>,
    /// Whether the forks are listed, too, in which edits of clients keep what they replaced; by
    /// default not.
    pub edit_forks: Option<bool>,
}

impl From<PaginationParams> for SessionQuery {
    fn from(params: PaginationParams) -> Self {
        Self {
            offset: params.offset.map_or(0, |offset| offset.get().into()),
            limit: params.limit.map_or(DEFAULT_SESSIONS, Within::get),
            matching: params.query.filter(|query| !query.is_empty()),
            edit_forks: params.edit_forks.unwrap_or_default(),
        }
    }
}

/// Parameters of `getSkill`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetSkillParams {
    /// The skill.
    pub name: String,
}

/// Parameters of `getMessages`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GetMessagesParams {
    /// The session.
    pub session_id: SessionId,
    /// The most messages to return, counted from the last; by default 1,000.
    pub limit: Option<Within<0, MAX_MESSAGES>>,
    /// Only messages before this one.
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
    pub session_id: SessionId,
    /// The turn; by default the current one.
    pub turn_id: Option<TurnId>,
}

impl CancelParams {
    /// The action, and its session.
    pub fn into_action(self) -> (SessionId, Action) {
        (self.session_id, Action::Cancel { turn: self.turn_id })
    }
}

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Within<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Within<MIN, MAX> {
    /// Returns `None` unless `MIN <= number <= MAX`.
    pub fn new(number: u32) -> Option<Self> {
        (MIN..=MAX).contains(&number).then_some(Self(number))
    }

    /// The number.
    pub fn get(self) -> u32 {
        self.0
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Within<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bounded<const MIN: u32, const MAX: u32>;

        impl<const MIN: u32, const MAX: u32> Visitor<'_> for Bounded<MIN, MAX> {
            type Value = Within<MIN, MAX>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                let fitting = u32::try_from(number).ok().and_then(Within::new);
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

impl<const MIN: u32, const MAX: u32> JsonSchema for Within<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("From{MIN}To{MAX}").into()
    }

    fn json_schema(_generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}
