//! The named points around what a turn keeps: before each fact goes to the journal, and after that,
//! before anybody sees it. Without the feature `failpoints` they are no code.

use std::sync::Arc;

use samovar_core::{Effect, Entry, Event, FinishReason, Kind, Role, failpoint};

use crate::log::Draft;

/// What is about to be kept.
pub(crate) fn before(drafts: &[Draft]) {
    for draft in drafts {
        match edge(&draft.kind) {
            Some(Edge::Open) => {
                failpoint!("open.before");
            }
            Some(Edge::Accept) => {
                failpoint!("accept.before");
            }
            Some(Edge::Join) => {
                failpoint!("join.before");
            }
            Some(Edge::Step) => {
                failpoint!("step.before");
            }
            Some(Edge::Reset) => {
                failpoint!("reset.before");
            }
            Some(Edge::Continue) => {
                failpoint!("continue.before");
            }
            Some(Edge::Answer) => {
                failpoint!("answer.before");
            }
            Some(Edge::Intent) => {
                failpoint!("intent.before");
            }
            Some(Edge::Result) => {
                failpoint!("result.before");
            }
            Some(Edge::Cancel) => {
                failpoint!("cancel.before");
            }
            Some(Edge::Finish) => {
                failpoint!("finish.before");
            }
            Some(Edge::Delete) => {
                failpoint!("delete.before");
            }
            None => {}
        }
    }
}

/// What is kept now, and not shown yet.
pub(crate) fn after(events: &[Arc<Event>]) {
    for event in events {
        match edge(&event.kind) {
            Some(Edge::Open) => {
                failpoint!("open.after");
            }
            Some(Edge::Accept) => {
                failpoint!("accept.after");
            }
            Some(Edge::Join) => {
                failpoint!("join.after");
            }
            Some(Edge::Step) => {
                failpoint!("step.after");
            }
            Some(Edge::Reset) => {
                failpoint!("reset.after");
            }
            Some(Edge::Continue) => {
                failpoint!("continue.after");
            }
            Some(Edge::Answer) => {
                failpoint!("answer.after");
            }
            Some(Edge::Intent) => {
                failpoint!("intent.after");
            }
            Some(Edge::Result) => {
                failpoint!("result.after");
            }
            Some(Edge::Cancel) => {
                failpoint!("cancel.after");
            }
            Some(Edge::Finish) => {
                failpoint!("finish.after");
            }
            Some(Edge::Delete) => {
                failpoint!("delete.after");
            }
            None => {}
        }
    }
}

/// A tool of this class is about to run.
pub(crate) fn tool_before(effect: Effect) {
    match effect {
        Effect::Read => {
            failpoint!("tool.read.before");
        }
        Effect::Verifiable => {
            failpoint!("tool.verifiable.before");
        }
        Effect::Idempotent => {
            failpoint!("tool.idempotent.before");
        }
        Effect::Unsafe => {
            failpoint!("tool.unsafe.before");
        }
    }
}

/// A tool of this class has run, and nothing of that is kept yet.
pub(crate) fn tool_after(effect: Effect) {
    match effect {
        Effect::Read => {
            failpoint!("tool.read.after");
        }
        Effect::Verifiable => {
            failpoint!("tool.verifiable.after");
        }
        Effect::Idempotent => {
            failpoint!("tool.idempotent.after");
        }
        Effect::Unsafe => {
            failpoint!("tool.unsafe.after");
        }
    }
}

enum Edge {
    Open,
    Accept,
    Join,
    Step,
    Reset,
    Continue,
    Answer,
    Intent,
    Result,
    Cancel,
    Finish,
    Delete,
}

fn edge(kind: &Kind) -> Option<Edge> {
    match kind {
        Kind::SessionOpened { .. } => Some(Edge::Open),
        Kind::MessageFinished {
            entry: Entry::Joined,
            ..
        } => Some(Edge::Join),
        Kind::MessageFinished { message, .. } => match message.role {
            Role::User => Some(Edge::Accept),
            Role::Assistant => Some(Edge::Answer),
            Role::System | Role::Tool => None,
        },
        Kind::StepStarted { .. } => Some(Edge::Step),
        Kind::StepReset { .. } => Some(Edge::Reset),
        Kind::TurnContinued { .. } => Some(Edge::Continue),
        Kind::CallStarted { .. } => Some(Edge::Intent),
        Kind::CallClosed { .. } => Some(Edge::Result),
        Kind::TurnFinished { reason, .. } => match reason {
            FinishReason::Cancelled => Some(Edge::Cancel),
            FinishReason::Model(_)
            | FinishReason::MaxIterations
            | FinishReason::Budget
            | FinishReason::Steered
            | FinishReason::Error => Some(Edge::Finish),
        },
        Kind::SessionClosed => Some(Edge::Delete),
        Kind::SessionChanged { .. }
        | Kind::TurnUndone { .. }
        | Kind::TurnStarted { .. }
        | Kind::MessageStarted { .. }
        | Kind::Delta { .. }
        | Kind::PartAdded { .. }
        | Kind::CallApproved { .. }
        | Kind::EventsLost { .. }
        | Kind::StateChanged { .. } => None,
    }
}
