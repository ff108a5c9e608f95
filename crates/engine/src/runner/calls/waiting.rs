//! The calls of a step before they run.

use std::sync::Arc;

use samovar_core::{CallId, Grounds, ToolCall};
use serde_json::Value;

use super::Calls;
use crate::toolbox::Examined;

/// A call that waits for its start.
pub(super) enum Waiting {
    Called(ToolCall),
    Examined(Arc<Examined>),
}

impl Waiting {
    pub(super) fn call(&self) -> &ToolCall {
        match self {
            Self::Called(call) => call,
            Self::Examined(examined) => &examined.call,
        }
    }
}

/// A call that is about to run.
pub(super) struct Start {
    pub(super) examined: Arc<Examined>,
    pub(super) grounds: Option<Grounds>,
    /// What a person was shown of it and allowed.
    pub(super) approved: Option<Value>,
    /// Whether the session had read text from outside before it.
    pub(super) tainted: bool,
}

/// A call that another agent is to answer.
pub(super) type Delegated = (Arc<Examined>, Option<Grounds>);

/// A call that a person is to decide about, and why.
pub(super) type Asking = (Arc<Examined>, String);

/// What can start, or be asked about, at one moment.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) admitted: Vec<Start>,
    pub(super) delegated: Vec<Delegated>,
    pub(super) asking: Vec<Asking>,
}

impl Calls<'_> {
    /// Lets those calls wait that can start since something came for the turn.
    pub(super) fn look_again(&mut self) {
        if std::mem::take(&mut self.has_news) {
            let runs = |call: &CallId| self.known.values().any(|running| running.call == *call);
            let startable = self.runner.turn.startable().into_iter();
            let startable = startable.filter(|call| !runs(&call.id));
            // Looked at once more: a person may have decided (TL-5).
            self.waiting = startable.map(Waiting::Called).collect();
        }
    }
}
