//! What something makes of a turn that does not run.

use samovar_core::{Accepted, ApprovalId, Author, CallId, Kind};

use crate::runner::{Input, Reply, decider, refuse_call, refuse_decision};
use crate::turn::Turn;

/// The facts that something makes for a turn that does not run, and who hears that they are kept.
pub(super) type Woken = (Vec<(Author, Kind)>, (Option<Reply>, Accepted));

/// What a turn does not wait for, and who sent it.
pub(super) enum Unwaited {
    Call(CallId, Option<Reply>),
    Decision(ApprovalId, Reply),
}

impl Unwaited {
    pub(super) fn refuse(self) {
        match self {
            Self::Call(call, reply) => refuse_call(&call, reply),
            Self::Decision(approval, reply) => refuse_decision(&approval, reply),
        }
    }
}

/// # Errors
/// What the turn does not wait for.
pub(super) fn waking(turn: &Turn, input: Input) -> Result<Woken, Unwaited> {
    match input {
        Input::Settle(call, outcome, reply) => {
            let (name, author) = if reply.is_some() {
                (turn.waiting_tool(&call), Author::Host)
            } else {
                (turn.delegated_tool(&call), Author::System)
            };
            let Some(name) = name.map(str::to_owned) else {
                return Err(Unwaited::Call(call, reply));
            };
            let outcome = outcome.readable();
            let closed = Kind::CallClosed {
                call,
                name,
                outcome,
            };
            Ok((vec![(author, closed)], (reply, Accepted::Settled)))
        }
        Input::Decide(approval, given, reply) => {
            let author = decider(&given);
            let Some(kinds) = turn.decision(&approval, given) else {
                return Err(Unwaited::Decision(approval, reply));
            };
            let facts = kinds.into_iter().map(|kind| (author, kind)).collect();
            Ok((facts, (Some(reply), Accepted::Decided)))
        }
    }
}
