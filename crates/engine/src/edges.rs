//! The named points around what a turn keeps: before each fact goes to the journal, and after that,
//! before anybody sees it. Without the feature `failpoints` they are no code.

use std::sync::Arc;

use samovar_core::{Event, Kind, Role, failpoint};

use crate::log::Draft;

/// What is about to be kept.
pub(crate) fn before(drafts: &[Draft]) {
    for draft in drafts {
        match edge(&draft.kind) {
            Some(Edge::Accept) => {
                failpoint!("accept.before");
            }
            Some(Edge::Step) => {
                failpoint!("step.before");
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
            Some(Edge::Finish) => {
                failpoint!("finish.before");
            }
            None => {}
        }
    }
}

/// What is kept now, and not shown yet.
pub(crate) fn after(events: &[Arc<Event>]) {
    for event in events {
        match edge(&event.kind) {
            Some(Edge::Accept) => {
                failpoint!("accept.after");
            }
            Some(Edge::Step) => {
                failpoint!("step.after");
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
            Some(Edge::Finish) => {
                failpoint!("finish.after");
            }
            None => {}
        }
    }
}

enum Edge {
    Accept,
    Step,
    Answer,
    Intent,
    Result,
    Finish,
}

fn edge(kind: &Kind) -> Option<Edge> {
    match kind {
        Kind::MessageFinished { message, .. } => match message.role {
            Role::User => Some(Edge::Accept),
            Role::Assistant => Some(Edge::Answer),
            Role::System | Role::Tool => None,
        },
        Kind::StepStarted { .. } => Some(Edge::Step),
        Kind::CallStarted { .. } => Some(Edge::Intent),
        Kind::CallClosed { .. } => Some(Edge::Result),
        Kind::TurnFinished { .. } => Some(Edge::Finish),
        Kind::SessionOpened { .. }
        | Kind::SessionChanged { .. }
        | Kind::TurnUndone { .. }
        | Kind::SessionClosed
        | Kind::TurnStarted { .. }
        | Kind::StepReset { .. }
        | Kind::MessageStarted { .. }
        | Kind::Delta { .. }
        | Kind::PartAdded { .. }
        | Kind::CallApproved { .. }
        | Kind::TurnContinued { .. }
        | Kind::EventsLost { .. }
        | Kind::StateChanged { .. } => None,
    }
}
