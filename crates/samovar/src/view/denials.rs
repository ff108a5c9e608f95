//! The calls of a turn that were denied, and whether the person did it.

use std::collections::BTreeSet;

use samovar_core::approval::EXPIRED;
use samovar_core::{CallId, Kind, Status};

/// What was denied so far.
#[derive(Default)]
pub(super) struct Denials {
    decided: BTreeSet<CallId>,
    has_typed: bool,
    has_others: bool,
}

impl Denials {
    /// Takes in an event of whatever agent.
    pub(super) fn take(&mut self, kind: &Kind) {
        match kind {
            Kind::CallApproved { call, answer, .. }
                if !answer.decision.allows() && answer.by != EXPIRED =>
            {
                self.decided.insert(call.clone());
            }
            Kind::CallClosed { call, outcome, .. } if outcome.status == Status::Denied => {
                let is_typed = self.decided.contains(call);
                self.has_typed |= is_typed;
                self.has_others |= !is_typed;
            }
            _ => {}
        }
    }

    /// Whether a call was denied.
    pub(super) fn are_some(&self) -> bool {
        self.has_typed || self.has_others
    }

    /// Whether a person denied all of them, who needs no telling.
    pub(super) fn are_typed(&self) -> bool {
        self.has_typed && !self.has_others
    }
}
