//! The search over messages (AS-27).

use samovar_core::history::{Hit, Hits, SearchQuery};
use samovar_core::{MessageId, Millis, Role, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hits that are shown at once: by default, and at most.
const SHOWN: u32 = 20;
const MAX_SHOWN: u32 = 100;

/// What is searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SearchParams {
    /// Words, all of which a message must have; no character has a meaning of its own.
    pub query: String,
    /// The most hits to return, at most 100; by default 20.
    pub limit: Option<u32>,
    /// Only hits that come after the one with this message.
    pub before: Option<MessageId>,
    /// Whether the forks are searched, too, in which edits of clients keep what they replaced; by
    /// default not.
    pub edit_forks: Option<bool>,
}

impl From<SearchParams> for SearchQuery {
    fn from(params: SearchParams) -> Self {
        Self {
            text: params.query,
            limit: params.limit.unwrap_or(SHOWN).min(MAX_SHOWN),
            before: params.before,
            edit_forks: params.edit_forks.unwrap_or_default(),
        }
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// The hits, best first; of equal ones the newest first.
    pub items: Vec<SearchHit>,
    /// Whether all messages were searched; false while older ones are still being indexed.
    pub indexed: bool,
}

impl From<Hits> for SearchResult {
    fn from(hits: Hits) -> Self {
        Self {
            items: hits.items.into_iter().map(SearchHit::from).collect(),
            indexed: hits.is_indexed,
        }
    }
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchHit {
    /// The session, also of a message of a called agent.
    pub session_id: SessionId,
    /// The message.
    pub message_id: MessageId,
    /// Its role.
    #[schemars(with = "String")]
    pub role: Role,
    /// The words around the hit, on one line, with `…` where something was left out.
    pub text: String,
    /// When the message was written, in milliseconds since 1970.
    pub at: Millis,
}

impl From<Hit> for SearchHit {
    fn from(hit: Hit) -> Self {
        Self {
            session_id: hit.session,
            message_id: hit.message,
            role: hit.role,
            text: hit.text,
            at: hit.at,
        }
    }
}
