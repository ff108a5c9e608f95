//! What a client asks of its stream, and where it reads.

use samovar_core::history::{MessageQuery, Speakers};
use samovar_core::{Code, Error, MessageId, SessionId};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agent::{MAX_MESSAGES, Within};

/// The header that says the same as the parameters of a stream.
pub const VIEW_HEADER: &str = "x-samovar-ui";

/// The version of the AI SDK whose stream is spoken (UI-4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// Without approvals, which are data parts then.
    V5,
    /// What every release of version 6 takes.
    #[default]
    V6,
    /// With `reset-step`.
    V7,
}

/// How called agents are shown (UI-5, UI-13).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Subagents {
    /// Their own chunks travel inside transient data parts.
    #[default]
    Chunks,
    /// Their messages so far, replaced in place.
    Messages,
}

/// How a stream is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UiView {
    /// The version that is spoken.
    pub protocol: Protocol,
    /// How called agents are shown.
    pub subagents: Subagents,
}

/// What the query says of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiStreamParams {
    /// The version of the AI SDK: by default what every release of version 6 takes.
    pub protocol: Option<Protocol>,
    /// How called agents are shown: by default their chunks.
    pub subagents: Option<Subagents>,
}

impl UiView {
    /// What the query says, else the header, as in `protocol=v5; subagents=messages`.
    ///
    /// # Errors
    /// [`Code::InvalidParams`] for a header that says anything else.
    pub fn new(asked: UiStreamParams, header: Option<&str>) -> Result<Self, Error> {
        let mut said = serde_json::Map::new();
        for pair in header.unwrap_or_default().split(';') {
            if let Some((key, value)) = pair.split_once('=') {
                said.insert(key.trim().to_owned(), value.trim().into());
            }
        }
        let said: UiStreamParams = serde_json::from_value(said.into()).map_err(|error| {
            let name = VIEW_HEADER;
            let why = locale::params::wrong(name, error);
            Error::new(Code::InvalidParams, why).with_details(json!({ "parameter": name }))
        })?;
        Ok(Self {
            protocol: asked.protocol.or(said.protocol).unwrap_or_default(),
            subagents: asked.subagents.or(said.subagents).unwrap_or_default(),
        })
    }
}

/// Parameters of a stream that is read again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UiResumeParams {
    /// The chat: the session.
    pub id: SessionId,
    /// As in [`UiStreamParams`].
    pub protocol: Option<Protocol>,
    /// As in [`UiStreamParams`].
    pub subagents: Option<Subagents>,
}

impl UiResumeParams {
    /// What the query says of the stream.
    pub fn view(&self) -> UiStreamParams {
        UiStreamParams {
            protocol: self.protocol,
            subagents: self.subagents,
        }
    }
}

/// Parameters of what is read of a chat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UiMessagesParams {
    /// The chat: the session.
    pub id: SessionId,
    /// The most stored messages to read, counted from the last; by default 1,000.
    pub limit: Option<Within<0, MAX_MESSAGES>>,
    /// Only messages before this one; before a called agent's, those before the answer that called it.
    pub before: Option<MessageId>,
    /// The version of the AI SDK: with `v5`, calls that wait for a decision look like any that is open.
    pub protocol: Option<Protocol>,
}

impl From<UiMessagesParams> for MessageQuery {
    fn from(params: UiMessagesParams) -> Self {
        Self {
            session: params.id,
            limit: params.limit.map_or(MAX_MESSAGES, Within::get),
            before: params.before,
            of: Speakers::All,
        }
    }
}
