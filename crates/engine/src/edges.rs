//! Named points around each write of a turn: before a fact goes to the journal, and after the
//! commit, before a reader can see it. Without the feature `failpoints` they compile to nothing.

use std::sync::Arc;

use samovar_core::event::Group;
use samovar_core::{Effect, Entry, Event, FinishReason, Kind, Role, failpoint};

/// The named points before and after one kind of edge.
struct Edge {
    before: &'static str,
    after: &'static str,
}

macro_rules! edge {
    ($name:literal) => {
        Edge {
            before: concat!($name, ".before"),
            after: concat!($name, ".after"),
        }
    };
}

/// Facts of these kinds are about to be kept.
pub(crate) fn before<'a>(kinds: impl Iterator<Item = &'a Kind>) {
    for edge in kinds.filter_map(edge) {
        failpoint!(edge.before);
    }
}

/// The events are kept, and not shown yet.
pub(crate) fn after(events: &[Arc<Event>]) {
    for edge in events.iter().filter_map(|event| edge(&event.kind)) {
        failpoint!(edge.after);
    }
}

/// A tool with this effect is about to run.
pub(crate) fn tool_before(effect: Effect) {
    failpoint!(tool_edge(effect).before);
}

/// A tool with this effect has run, and nothing of that is kept yet.
pub(crate) fn tool_after(effect: Effect) {
    failpoint!(tool_edge(effect).after);
}

fn tool_edge(effect: Effect) -> Edge {
    match effect {
        Effect::Read => edge!("tool.read"),
        Effect::Verifiable => edge!("tool.verifiable"),
        Effect::Idempotent => edge!("tool.idempotent"),
        Effect::Unsafe => edge!("tool.unsafe"),
    }
}

fn edge(kind: &Kind) -> Option<Edge> {
    match kind {
        Kind::SessionOpened { .. } => Some(edge!("open")),
        Kind::MessageFinished {
            entry: Entry::Joined,
            ..
        } => Some(edge!("join")),
        Kind::MessageFinished { message, .. } => match message.role {
            Role::User => Some(edge!("accept")),
            Role::Assistant => Some(edge!("answer")),
            Role::System | Role::Tool => None,
        },
        Kind::StepStarted { .. } => Some(edge!("step")),
        Kind::StepReset { .. } => Some(edge!("reset")),
        Kind::TurnContinued { .. } => Some(edge!("continue")),
        Kind::ApprovalAsked { .. } => Some(edge!("ask")),
        Kind::CallApproved { .. } => Some(edge!("approve")),
        Kind::CallStarted { .. } => Some(edge!("intent")),
        Kind::CallClosed { .. } => Some(edge!("result")),
        Kind::TurnFinished { reason, .. } => match reason {
            FinishReason::Cancelled => Some(edge!("cancel")),
            FinishReason::Model(_)
            | FinishReason::MaxIterations
            | FinishReason::Budget
            | FinishReason::FailedCall
            | FinishReason::RepeatedCall
            | FinishReason::Steered
            | FinishReason::Error => Some(edge!("finish")),
        },
        Kind::SessionClosed => Some(edge!("delete")),
        other => match other.group() {
            Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => None,
        },
    }
}
