//! Where a turn stands among the turns of its session, and how one ends.

use std::sync::Arc;

use samovar_core::event::Fault;
use samovar_core::{Agent, AgentMode, BudgetLimit, CallId, FinishReason, Situation};

/// Where a turn stands among the turns of its session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The call that it answers; `None` for a turn of the session's own agent.
    pub parent_call: Option<CallId>,
    /// Whether its parent does not wait for it (SA-11).
    pub is_background: bool,
    /// Its agent, if that is not the server's own master.
    pub definition: Option<Arc<Agent>>,
    /// The situation that its first message brought.
    pub situation: Option<Arc<Situation>>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// The reason.
    pub reason: FinishReason,
    /// The fault, if there was one.
    pub fault: Option<Fault>,
    /// The limit of its budget, if that ended it.
    pub limit: Option<BudgetLimit>,
    /// Whether one of its calls, or of the turns that it called, succeeded and does more than read.
    pub has_acted: bool,
}

impl Place {
    pub(super) fn start(
        &mut self,
        parent_call: Option<&CallId>,
        is_background: bool,
        definition: Option<&Arc<Agent>>,
    ) {
        self.parent_call = parent_call.cloned();
        self.is_background = is_background;
        self.definition = definition.cloned();
    }

    /// The mode of its turn, if it takes anything away.
    pub(crate) fn mode(&self) -> Option<&AgentMode> {
        self.situation.as_ref()?.mode.as_ref()
    }
}
