//! A search over the messages of all sessions (AS-27).

use crate::id::{MessageId, SessionId};
use crate::message::Role;
use crate::ports::Millis;

/// What is searched for.
#[derive(Clone, Debug)]
pub struct SearchQuery {
    /// Words, all of which a message must have. No character has a meaning of its own.
    pub text: String,
    /// The maximum number of hits.
    pub limit: u32,
    /// Only hits that come after the one with this message; none if that is no hit.
    pub before: Option<MessageId>,
    /// Whether messages of the forks that edits made are found, too.
    pub edit_forks: bool,
}

/// A message that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The session, also of a message of a called agent.
    pub session: SessionId,
    /// The message.
    pub message: MessageId,
    /// Its role.
    pub role: Role,
    /// The words around the hit, on one line.
    pub text: String,
    /// When the message was written.
    pub at: Millis,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// The hits, best first; of equal ones the newest first.
    pub items: Vec<Hit>,
    /// Whether all messages were searched; false while some are not in the index yet.
    pub is_indexed: bool,
}
