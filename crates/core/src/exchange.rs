//! Finished exchanges: what a person said in a turn and the last answer of that turn, which are recalled
//! in later sessions (MD-11). Nothing keeps them apart from their messages.

use crate::beginner::Beginner;
use crate::id::{SessionId, TurnId};
use crate::ports::Millis;

/// Which exchange, of the session's own agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangeId {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// Who began the session: the owner, or another token.
    pub begun_by: Beginner,
}

/// What was said in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Which it is.
    pub id: ExchangeId,
    /// What the person said.
    pub said: String,
    /// The last answer.
    pub answer: String,
    /// When the person said it.
    pub at: Millis,
    /// Whether text from outside may be in its session (TL-10).
    pub tainted: bool,
}

/// Which exchanges are read.
#[derive(Clone, Debug)]
pub enum ExchangeQuery {
    /// Those of sessions that one has begun in which some words are, the newest.
    Words {
        /// Who began the sessions.
        begun_by: Beginner,
        /// The words.
        text: String,
        /// The maximum number.
        limit: u32,
    },
    /// These, as far as they are there.
    These(Vec<ExchangeId>),
}
