//! A turn that runs: what it has, and what it leaves at its end.

use std::sync::Arc;

use samovar_core::{Agent, AgentPath, Broken, MessageId, Model, TurnId};
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::inbox::{FromTurn, Input, Reply};
use super::retry::RetryTime;
use crate::keep::Session;
use crate::log::Draft;
use crate::parts::Parts;
use crate::recovered::OpenDecision;
use crate::told::{OfSession, Told};
use crate::turn::Turn;

/// The end of a run, with what the session's mailbox needs back.
pub(crate) struct FinishedRun {
    pub(crate) turn_id: TurnId,
    /// What was sent to the turn and not read.
    pub(crate) leftover: Vec<Input>,
    /// Whether it ended because it was stopped.
    pub(crate) was_stopped: bool,
    pub(crate) how: RunEnd,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The turn is over.
    Finished,
    /// Every open call waits for an answer from outside.
    Parked,
    /// The server stops; the next start resumes it.
    Left,
    /// An event could not be kept; the log knows less than the turn did.
    Broken(Broken),
}

/// Runs one turn until it is over or parks.
pub(crate) struct Runner {
    pub(crate) parts: Arc<Parts>,
    pub(crate) session: Session,
    pub(crate) turn_id: TurnId,
    pub(crate) agent: AgentPath,
    /// What its agent may do.
    pub(crate) definition: Arc<Agent>,
    /// What its session gives this agent.
    pub(crate) of_session: OfSession,
    /// What its agent is told.
    pub(crate) told: Told,
    /// The message with the call that a child answers.
    pub(crate) parent: Option<MessageId>,
    /// The way to its session.
    pub(crate) mailbox: mpsc::Sender<FromTurn>,
    /// The turn with all that was noted, kept or not.
    pub(crate) turn: Turn,
    pub(crate) model: Model,
    pub(crate) inbox: mpsc::Receiver<Input>,
    /// Set when a stop of the server cut the turn, until the world has answered it again.
    pub(crate) continuation: Option<Continuation>,
    pub(crate) patience: RetryTime,
    /// The estimated size of the prompt that is asked, where the model's window is known.
    pub(crate) asked: Option<u64>,
    /// Facts that are not kept yet. They are before anything touches the world.
    pub(crate) pending: Vec<Draft>,
    /// Who is told once the turn's end is kept.
    pub(crate) stopped_for: Vec<Reply>,
    /// Whether it was stopped.
    pub(crate) stop: Stop,
    /// Whether it is to be stopped once its children are over: nothing of it begins any more.
    pub(crate) is_stopping: bool,
    /// Whether what was to be kept last had no room.
    pub(crate) is_waiting: bool,
}

/// What a turn needs that resumes after a stop of the server.
pub(crate) struct Continuation {
    /// How many times it went on in a row, this one included.
    pub(crate) in_a_row: u32,
    /// Given back once the world has answered, so that another turn may take up its work.
    pub(crate) _room: OwnedSemaphorePermit,
    /// Given back once it is decided about every call that had begun.
    pub(crate) undecided: Option<OpenDecision>,
}

/// Whether a client stopped a turn, and in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// No.
    No,
    /// Yes, and so it ended.
    InTime,
    /// It was over by itself, and only its end was not kept yet.
    TooLate,
}
