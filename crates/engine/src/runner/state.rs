//! A turn that runs: what it has, and what it leaves at its end.

use std::sync::Arc;

use samovar_core::{Agent, AgentPath, Broken, MessageId, Model, PromptHashes, ToolSpec, TurnId};
use tokio::sync::{Notify, OwnedSemaphorePermit, mpsc};

use super::ask::Folding;
use super::inbox::Newborn;
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
    /// What was noted and is not kept.
    pub(crate) unkept: Vec<Draft>,
    pub(crate) how: RunEnd,
}

impl FinishedRun {
    /// The end of a run that met a fault of this program.
    pub(crate) fn panicked(turn_id: TurnId) -> Self {
        Self {
            turn_id,
            unkept: Vec::new(),
            how: RunEnd::Panicked,
        }
    }
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
    /// The mailbox took it away, to end the turn.
    Stopped,
    /// An event could not be kept; the log knows less than the turn did.
    Broken(Broken),
    /// A fault of this program.
    Panicked,
}

/// Runs one turn until it is over or parks. It may be dropped wherever it waits: what is on its way to
/// the stores is not in what is dropped.
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
    /// The hashes of that and of the tools that it was offered last.
    pub(crate) hashed: Option<(Arc<[Arc<ToolSpec>]>, PromptHashes)>,
    /// The message with the call that a child answers.
    pub(crate) parent: Option<MessageId>,
    /// Children that run once their start is kept.
    pub(crate) born: Vec<Newborn>,
    /// Where those go.
    pub(crate) newborns: mpsc::Sender<Box<Newborn>>,
    /// The turn with all that was noted, kept or not.
    pub(crate) turn: Turn,
    pub(crate) model: Model,
    /// Rings when something was kept for the turn that it did not note itself, or a child has ended.
    pub(crate) news: Arc<Notify>,
    /// Set when a stop of the server cut the turn, until the world has answered it again.
    pub(crate) continuation: Option<Continuation>,
    pub(crate) patience: RetryTime,
    /// The estimated size of the prompt that is asked, where the model's window is known.
    pub(crate) asked: Option<u64>,
    /// Facts that are not kept yet. They are before anything touches the world.
    pub(crate) pending: Vec<Draft>,
    /// The commit of the first of them, and how many those are.
    pub(crate) commit: Option<(usize, Folding)>,
    /// What was shown is on its way from the spool to the journal.
    pub(crate) folding: Option<Folding>,
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
