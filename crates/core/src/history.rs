//! The cold store's port: sessions and messages for reading, a projection of the logs (DU-1, DU-15).

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Future;
use crate::event::FinishReason;
use crate::id::{AgentPath, CallId, MessageId, Seq, SessionId, TurnId};
use crate::journal::Broken;
use crate::message::{Message, Usage};
use crate::ports::Millis;
use crate::title::Title;

/// What is new in one session. Idempotent: what lies at or below the session's `projected` position
/// is skipped by the store, in the transaction that moves that position.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The session.
    pub session: SessionId,
    /// The position of the last event that was looked at.
    pub up_to: Seq,
    /// The changes, each with the position of its event, in order.
    pub changes: Vec<(Seq, Change)>,
}

/// One change of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The session exists.
    Open {
        /// The model, as it was asked for.
        model: String,
        /// The session's own agent.
        agent: String,
        /// What the client gave.
        metadata: Map<String, Value>,
        /// When.
        at: Millis,
    },
    /// The session is something else.
    Set {
        /// The model; none when it stays.
        model: Option<String>,
        /// The title, empty to remove it; none when it stays.
        title: Option<Title>,
        /// When.
        at: Millis,
    },
    /// A message is whole: its row and its parts are replaced under its id.
    Put {
        /// The message.
        message: Arc<Message>,
        /// Its turn.
        turn: Option<TurnId>,
        /// Who said it, or to whom it was said.
        agent: AgentPath,
    },
    /// A message that was put before stands here from now on.
    Move {
        /// The message.
        message: MessageId,
        /// The turn that it joined.
        turn: Option<TurnId>,
        /// When.
        at: Millis,
    },
    /// A turn runs.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// Its agent.
        agent: AgentPath,
        /// The call that it answers.
        parent_call: Option<CallId>,
        /// When.
        at: Millis,
    },
    /// A model call that brought no message has cost this.
    Spent {
        /// What it cost.
        usage: Usage,
    },
    /// A turn is over.
    TurnFinished {
        /// The turn.
        turn: TurnId,
        /// Why.
        reason: FinishReason,
        /// What it cost.
        usage: Usage,
        /// When.
        at: Millis,
    },
    /// Turns were taken back: they and their messages go. What they cost stays.
    Forget {
        /// A turn and those below it.
        turns: Vec<TurnId>,
        /// When.
        at: Millis,
    },
    /// The session and all that is in it goes.
    Close,
}

/// A session as the history has it.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// The model, as it was asked for.
    pub model: String,
    /// What a person calls it; none when it has no title.
    pub title: Option<Title>,
    /// The session's own agent.
    pub agent: String,
    /// What the client gave.
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
    /// Messages of every role, children's too (AS-18).
    pub message_count: u64,
    /// What all its model calls cost.
    pub usage: Usage,
    /// The log is in the history up to here.
    pub projected: Seq,
}

/// A message as the history has it.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: Option<TurnId>,
    /// Who said it, or to whom it was said.
    pub agent: AgentPath,
    /// Whether its turn has begun, so that a model was shown it; true for what has no turn.
    pub has_begun: bool,
    /// The message.
    pub message: Arc<Message>,
}

/// The last turn of a session's own agent.
#[derive(Clone, Debug, PartialEq)]
pub struct LastTurn {
    /// The turn.
    pub turn: TurnId,
    /// The turns below it.
    pub below: Vec<TurnId>,
    /// What the user said in it.
    pub said: Arc<Message>,
    /// Its messages, those of the turns below it included.
    pub messages: u64,
}

/// Which messages of a session are wanted: the last `limit`, oldest first, in the order in which
/// their turns ran.
#[derive(Clone, Debug)]
pub struct MessageQuery {
    /// The session.
    pub session: SessionId,
    /// At most so many.
    pub limit: u32,
    /// Only those before this message.
    pub before: Option<MessageId>,
    /// Whose.
    pub of: Speakers,
}

/// Whose messages are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speakers {
    /// Everybody's.
    All,
    /// Those of the session's own agent and of the user: what its model is shown.
    Master,
}

/// Which sessions are wanted: newest `updated_at` first.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// How many to skip.
    pub offset: u64,
    /// At most so many.
    pub limit: u32,
    /// Only those whose id or title has this text.
    pub matching: Option<String>,
}

/// Totals over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Sessions that exist.
    pub sessions: u64,
    /// Messages of every role.
    pub messages: u64,
    /// What all model calls cost.
    pub usage: Usage,
}

/// The cold store: one writer, a pool of readers.
pub trait History: Send + Sync {
    /// Writes projections in one transaction, which need not be synced.
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>>;

    /// Makes everything that was projected durable.
    fn sync(&self) -> Future<'_, Result<(), Broken>>;

    /// One session.
    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>>;

    /// A page of sessions, and how many there are on all pages.
    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>>;

    /// Messages of a session.
    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>>;

    /// One message of any session.
    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>>;

    /// The position at which the first message of a turn was put; none when it has none.
    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>>;

    /// The last turn of a session's own agent, in the order of its messages; none when there is none
    /// that has begun or ended.
    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>>;

    /// Whether a turn of a session is over, as far as the history knows.
    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>>;

    /// Removes a session of which something is damaged, durably, without a look at what it holds.
    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>>;

    /// Totals over all sessions.
    fn totals(&self) -> Future<'_, Result<Totals, Broken>>;

    /// Writes everything out and closes.
    fn close(&self) -> Future<'_, Result<(), Broken>>;
}
