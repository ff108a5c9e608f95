//! What a turn that runs and its session send each other, and how senders hear of it.

use samovar_core::approval::{Answer, EXPIRED};
use samovar_core::{
    Accepted, AgentPath, ApprovalId, Author, CallId, Code, Error, Model, Outcome, TurnId,
};
use samovar_locale as locale;
use tokio::sync::oneshot;

use crate::slots::Slot;
use crate::told::Told;

/// What reaches a turn while it runs.
pub(crate) enum Input {
    /// Close a call: for a client, which hears whether that was accepted, or at a child's end.
    Settle(CallId, Outcome, Option<Reply>),
    /// A person's decision about a call.
    Decide(ApprovalId, Answer, Reply),
    /// Stop, after those that the turn waits for.
    Cancel(Cancel),
}

/// What a turn sends to its session while it runs. Small, because every session in memory has places
/// for 32 of them.
pub(crate) enum FromTurn {
    /// A child that is to run.
    Born(Box<Newborn>),
    /// It is to be stopped, and has children that come first.
    Stopping(TurnId, Box<Cancel>),
    /// It has stopped, and there is no room to keep that.
    EndNotKept(TurnId),
}

const _: () = assert!(size_of::<FromTurn>() <= 32);

/// A wish to stop a turn.
pub(crate) struct Cancel {
    pub(crate) target: CancelTarget,
    pub(crate) reply: Reply,
    /// Whether those that the turn waited for are over.
    pub(crate) is_last: bool,
}

impl Cancel {
    /// One that no client waits for.
    pub(crate) fn unasked() -> Self {
        let (reply, _) = oneshot::channel();
        Self {
            target: CancelTarget::This,
            reply,
            is_last: false,
        }
    }
}

/// The turn that a cancel means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CancelTarget {
    /// The turn that it was sent to, and no other.
    This,
    /// Whichever runs.
    Running {
        /// The turn that waited behind it at that time.
        next: Option<TurnId>,
    },
}

/// How the sender of a command hears whether it was accepted.
pub(crate) type Reply = oneshot::Sender<Result<Accepted, Error>>;

/// A child whose start is kept and which is to run.
pub(crate) struct Newborn {
    pub(crate) turn_id: TurnId,
    pub(crate) agent: AgentPath,
    /// The turn that called it.
    pub(crate) parent: TurnId,
    pub(crate) model: Model,
    pub(crate) slot: Slot,
    /// What its agent is told.
    pub(crate) told: Told,
}

/// Tells the sender of a command; one that went away does not need to hear it.
pub(crate) fn answer(reply: Reply, what: Result<Accepted, Error>) {
    if reply.send(what).is_err() {
        tracing::debug!("the sender of a command did not wait for its answer");
    }
}

/// The refusal of a settlement.
pub(crate) fn not_open(call: &CallId) -> Error {
    let why = locale::call::not_open(call);
    Error::new(Code::UnknownCall, why)
}

/// Who causes the facts of a decision.
pub(crate) fn decider(given: &Answer) -> Author {
    if given.by == EXPIRED {
        Author::System
    } else {
        Author::User
    }
}

/// The refusal of a decision that no call waits for.
pub(crate) fn not_asked(approval: &ApprovalId) -> Error {
    let why = locale::approval::unknown(locale::quoted(approval.as_str()));
    Error::new(Code::UnknownApproval, why)
}

/// Refuses a decision.
pub(crate) fn refuse_decision(approval: &ApprovalId, reply: Reply) {
    answer(reply, Err(not_asked(approval)));
}

/// Refuses to close a call.
pub(crate) fn refuse_call(call: &CallId, reply: Option<Reply>) {
    if let Some(reply) = reply {
        answer(reply, Err(not_open(call)));
    }
}
