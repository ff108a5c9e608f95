//! The cold store's port: sessions and messages for reading, a projection of the logs (DU-1, DU-15).

use crate::beginner::Beginner;
use crate::tool::Approval;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::Future;
use crate::blob::BlobHash;
use crate::budget::{Bill, Budget, Used};
use crate::event::{ContextLimit, Fault, FinishReason};
use crate::id::{AgentPath, CallId, MessageId, Seq, SessionId, TurnId};
use crate::instructions::SystemPrompt;
use crate::journal::{Broken, done};
use crate::message::{Message, Usage};
use crate::ports::Millis;
use crate::title::Title;

pub use crate::exchange::{Exchange, ExchangeId, ExchangeQuery};
pub use crate::search::{Hit, Hits, SearchQuery};

/// The changes of one session. Idempotent: the store skips changes at or below the session's
/// `projected` position, in the transaction that moves that position.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// The session.
    pub session: SessionId,
    /// The position of the last event that was projected.
    pub up_to: Seq,
    /// The changes, each with the position of its event, in order.
    pub changes: Vec<(Seq, Change)>,
}

/// One change of rows.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// The session was created.
    Open(Opened),
    /// The session's model, title or approval level changed, or text from outside came into it.
    Set {
        /// The new model; `None` if unchanged.
        model: Option<String>,
        /// As in [`Opened`], of the new model.
        route: Option<String>,
        /// The new title, empty to remove it; `None` if unchanged.
        title: Option<Title>,
        /// The new approval level; `None` if unchanged.
        approval: Option<Approval>,
        /// Whether text from outside may be in it from now on.
        tainted: bool,
        /// When.
        at: Millis,
    },
    /// A message is complete: its row and its parts are replaced under its id.
    Put {
        /// The message.
        message: Arc<Message>,
        /// Its turn.
        turn: Option<TurnId>,
        /// The agent that wrote it, or that it was written to.
        agent: AgentPath,
    },
    /// A stored message moves to this position.
    Move {
        /// The message.
        message: MessageId,
        /// The turn that it joined.
        turn: Option<TurnId>,
        /// When.
        at: Millis,
    },
    /// A turn has started.
    TurnStarted {
        /// The turn.
        turn: TurnId,
        /// Its agent.
        agent: AgentPath,
        /// The call that it answers.
        parent_call: Option<CallId>,
        /// Whether its caller does not wait for it.
        background: bool,
        /// What it and the turns that it waits for may use together.
        budget: Budget,
        /// When.
        at: Millis,
    },
    /// A model call without a message used tokens.
    Spent {
        /// The token usage.
        usage: Usage,
        /// What the call revealed about the model's window; `None` if nothing.
        context: Option<ContextLimit>,
    },
    /// A turn is over.
    TurnFinished {
        /// The turn.
        turn: TurnId,
        /// The reason.
        reason: FinishReason,
        /// Why it failed, if it did.
        fault: Option<Fault>,
        /// The token usage.
        usage: Usage,
        /// The number of iterations.
        iterations: u32,
        /// What its model calls cost, and the limit that ended it.
        bill: Bill,
        /// When.
        at: Millis,
    },
    /// Turns were taken back: they and their messages are removed. Their token usage stays.
    Forget {
        /// A turn and its sub-turns.
        turns: Vec<TurnId>,
        /// When.
        at: Millis,
    },
    /// The session and all its data is removed.
    Close,
}

/// How a session begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Opened {
    /// The model, by its requested name.
    pub model: String,
    /// The name that leads to the model's provider; `None` if that is `model`.
    pub route: Option<String>,
    /// The session's own agent.
    pub agent: String,
    /// What its client tells that agent.
    pub system_prompt: Option<SystemPrompt>,
    /// The approval level of its turns; `None` for the server's.
    pub approval: Option<Approval>,
    /// Who began it; `None` if that is unknown.
    pub begun_by: Option<Beginner>,
    /// The client's metadata.
    pub metadata: Map<String, Value>,
    /// When.
    pub at: Millis,
}

impl Opened {
    /// The session's row before anything was said.
    pub fn into_row(self, id: SessionId, projected: Seq) -> SessionRow {
        SessionRow {
            id,
            title: Title::of_metadata(&self.metadata),
            model: self.model,
            route: self.route,
            agent: self.agent,
            system_prompt: self.system_prompt,
            approval: self.approval,
            begun_by: self.begun_by,
            tainted: false,
            metadata: self.metadata,
            created_at: self.at,
            updated_at: self.at,
            message_count: 0,
            preview: None,
            usage: Usage::default(),
            context: None,
            projected,
        }
    }
}

/// A session as stored in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionRow {
    /// The id.
    pub id: SessionId,
    /// The model, by its requested name.
    pub model: String,
    /// The name that leads to the model's provider; `None` if that is `model`.
    pub route: Option<String>,
    /// The title for people; `None` if the session has none.
    pub title: Option<Title>,
    /// The session's own agent.
    pub agent: String,
    /// What its client tells that agent.
    pub system_prompt: Option<SystemPrompt>,
    /// The approval level of its turns; `None` for the server's.
    pub approval: Option<Approval>,
    /// Who began it; `None` if that is unknown, as of older sessions.
    pub begun_by: Option<Beginner>,
    /// Whether text from outside may be in it (TL-10).
    pub tainted: bool,
    /// The client's metadata.
    pub metadata: Map<String, Value>,
    /// When it was made.
    pub created_at: Millis,
    /// When it last changed.
    pub updated_at: Millis,
    /// The number of messages of every role, including children's (AS-18).
    pub message_count: u64,
    /// The beginning of the user's first message, at most 200 characters; `None`
    /// before it, and from a store that does not look for it.
    pub preview: Option<String>,
    /// The token usage of all its model calls.
    pub usage: Usage,
    /// What is known about the window of the model that refused a prompt last; `None` if no model
    /// did since the session's model was set.
    pub context: Option<ContextLimit>,
    /// The position up to which the log is in the history.
    pub projected: Seq,
}

/// The place of messages whose turn waits.
pub const WAITING: Seq = Seq(i64::MAX.cast_unsigned());

/// A message as stored in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// The session.
    pub session: SessionId,
    /// Its turn.
    pub turn: Option<TurnId>,
    /// The agent that wrote it, or that it was written to.
    pub agent: AgentPath,
    /// Whether its turn has begun, so that a model has seen it; true for a message without a turn.
    pub has_begun: bool,
    /// Where it stands among the messages of its session, which are ordered by this and then by their
    /// position in the log: the beginning of its turn, of its caller's if that waits for it, or its own
    /// position without a turn (AS-17). [`WAITING`] before its turn has begun.
    pub place: Seq,
    /// The message.
    pub message: Arc<Message>,
}

/// The last turn of a session's own agent.
#[derive(Clone, Debug, PartialEq)]
pub struct LastTurn {
    /// The turn.
    pub turn: TurnId,
    /// Its sub-turns.
    pub below: Vec<TurnId>,
    /// The user's message in it.
    pub said: Arc<Message>,
    /// The number of its messages, including those of its sub-turns.
    pub messages: u64,
}

/// A turn as stored in the history.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnRow {
    /// The turn.
    pub turn: TurnId,
    /// Its session.
    pub session: SessionId,
    /// Its agent.
    pub agent: AgentPath,
    /// The turn that called it; `None` for one of the session's own agent.
    pub parent: Option<TurnId>,
    /// The call that it answers.
    pub parent_call: Option<CallId>,
    /// When it started; `None` while its message waits.
    pub started_at: Option<Millis>,
    /// Why and when it ended; `None` while it lives.
    pub end: Option<(FinishReason, Millis)>,
    /// Why it failed; `None` if it did not.
    pub fault: Option<Fault>,
    /// The token usage, so far or of all.
    pub usage: Usage,
    /// The number of iterations; 0 while it lives.
    pub iterations: u32,
    /// What its model calls cost, and the limit that ended it; empty while it lives.
    pub bill: Bill,
    /// What it and the turns that it waits for may use together; empty for one that draws from its
    /// caller's budget.
    pub budget: Budget,
    /// What is left of `budget`; `None` if there is none, or before it started.
    pub left: Option<Budget>,
    /// The last of its durable events; a history leaves it to the engine.
    pub last: Option<LastEvent>,
}

/// What happened last in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastEvent {
    /// [`Kind::name`](crate::Kind::name).
    pub name: &'static str,
    /// When it happened.
    pub at: Millis,
}

impl TurnRow {
    /// What it used itself.
    pub fn used(&self) -> Used {
        Used {
            steps: self.iterations,
            tokens: self.tokens(),
            cost: self.bill.cost.unwrap_or_default(),
            wall_ms: 0,
        }
    }

    /// The tokens of its own model calls, with those that no provider counted.
    pub fn tokens(&self) -> u64 {
        self.usage
            .total()
            .saturating_add(self.bill.estimated_tokens)
    }
}

/// Which turns are queried: the last ones, oldest first.
#[derive(Clone, Debug)]
pub struct TurnQuery {
    /// Those of this session.
    pub session: Option<SessionId>,
    /// Only these; all if there are none.
    pub among: Vec<TurnId>,
    /// Only those that are not over.
    pub unfinished: bool,
    /// The maximum number.
    pub limit: u32,
}

/// A query for messages of a session: the last `limit`, oldest first, in the order in which their
/// turns ran.
#[derive(Clone, Debug)]
pub struct MessageQuery {
    /// The session.
    pub session: SessionId,
    /// The maximum number.
    pub limit: u32,
    /// Only messages before this one.
    pub before: Option<MessageId>,
    /// Whose messages.
    pub of: Speakers,
}

/// Whose messages are queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speakers {
    /// All messages.
    All,
    /// Those of the session's own agent and of the user: what its model is shown.
    Master,
}

/// A query for sessions, newest `updated_at` first.
#[derive(Clone, Debug, Default)]
pub struct SessionQuery {
    /// How many to skip.
    pub offset: u64,
    /// The maximum number.
    pub limit: u32,
    /// Only sessions whose id, title or first words contain this text.
    pub matching: Option<String>,
    /// Whether the forks that edits made are among them.
    pub edit_forks: bool,
}

/// Totals over all sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The number of sessions.
    pub sessions: u64,
    /// The number of messages of every role.
    pub messages: u64,
    /// The token usage of all model calls.
    pub usage: Usage,
}

/// The cold store: one writer, a pool of readers.
pub trait History: Send + Sync {
    /// Writes projections in one transaction, not necessarily synced.
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>>;

    /// Makes all earlier projections durable.
    fn sync(&self) -> Future<'_, Result<(), Broken>>;

    /// One session.
    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>>;

    /// A page of sessions, and the number of sessions on all pages.
    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>>;

    /// Messages of a session.
    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>>;

    /// The number of messages before a message, of the session's own agent and of the user, whose
    /// turns have begun: the message's place in the conversation, from 0.
    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>>;

    /// One message of any session.
    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>>;

    /// The first message that a turn's model wrote; `None` before it.
    fn answer_of<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>>;

    /// The position of a turn's first message; `None` if it has no message.
    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>>;

    /// The last turn of a session's own agent, in the order of its messages, or the last before another
    /// one; `None` if no such turn has begun or ended.
    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
        before: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>>;

    /// Turns, of whatever depth.
    fn turns(&self, query: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>>;

    /// Whether a turn of a session is over, according to the history.
    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>>;

    /// Searches the messages of all sessions (AS-27).
    fn search(&self, query: SearchQuery) -> Future<'_, Result<Hits, Broken>>;

    /// The newest finished exchanges of sessions that the owner or another token began, the newest first.
    /// One that ended without an answer is among them, and is not there when it is read.
    fn exchange_ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, Broken>> {
        let _ = most;
        done(Vec::new())
    }

    /// What was said in finished exchanges.
    fn exchanges(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, Broken>> {
        let _ = query;
        done(Vec::new())
    }

    /// Makes some of the messages searchable that a program without a search has stored; whether
    /// there may be more of them.
    fn index(&self) -> Future<'_, Result<bool, Broken>>;

    /// Removes a damaged session, durably, without reading its data.
    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>>;

    /// Totals over all sessions.
    fn totals(&self) -> Future<'_, Result<Totals, Broken>>;

    /// The hashes of all blobs that messages name.
    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>>;

    /// Adds what turns of sessions in memory have used to the totals, which is all that a history
    /// has of them (AS-18).
    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>>;

    /// Writes everything out and closes.
    fn close(&self) -> Future<'_, Result<(), Broken>>;
}

/// Keeps nothing: the store of sessions that only memory has.
impl History for () {
    fn project(&self, _: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        done(())
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        done(())
    }

    fn session<'a>(&'a self, _: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        done(None)
    }

    fn sessions(&self, _: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        done((Vec::new(), 0))
    }

    fn messages(&self, _: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        done(Vec::new())
    }

    fn place<'a>(&'a self, _: &'a SessionId, _: &'a MessageId) -> Future<'a, Result<u64, Broken>> {
        done(0)
    }

    fn message<'a>(&'a self, _: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        done(None)
    }

    fn answer_of<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        done(None)
    }

    fn turn_from<'a>(
        &'a self,
        _: &'a SessionId,
        _: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        done(None)
    }

    fn last_turn<'a>(
        &'a self,
        _: &'a SessionId,
        _: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        done(None)
    }

    fn turns(&self, _: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>> {
        done(Vec::new())
    }

    fn is_over<'a>(&'a self, _: &'a SessionId, _: &'a TurnId) -> Future<'a, Result<bool, Broken>> {
        done(false)
    }

    /// Finds nothing, and says that not everything was searched.
    fn search(&self, _: SearchQuery) -> Future<'_, Result<Hits, Broken>> {
        done(Hits::default())
    }

    fn index(&self) -> Future<'_, Result<bool, Broken>> {
        done(false)
    }

    fn discard<'a>(&'a self, _: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        done(())
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        done(Totals::default())
    }

    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        done(BTreeSet::new())
    }

    fn spend(&self, _: Usage) -> Future<'_, Result<(), Broken>> {
        done(())
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        done(())
    }
}
