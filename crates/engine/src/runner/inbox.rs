//! What a turn that runs sends its session, and how the senders of commands hear of what became of them.

use samovar_core::approval::{Answer, EXPIRED};
use samovar_core::{Accepted, AgentPath, ApprovalId, Author, CallId, Code, Error, Model, TurnId};
use samovar_locale as locale;
use tokio::sync::oneshot;

use crate::slots::Slot;
use crate::told::Told;

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
