//! What clients send to a turn that waits for it: outcomes and decisions.

use samovar_core::approval::Answer;

use samovar_core::{ApprovalId, CallId, Outcome, planted};

use super::Mailbox;
use crate::open_calls::Awaited;
use crate::runner::{Input, Reply, answer, not_open, refuse_decision};

impl Mailbox {
    /// Closes a call for a client: by the turn that has it open.
    pub(super) async fn settle(&mut self, call: CallId, outcome: Outcome, reply: Reply) {
        if self.open.is_none() {
            return answer(reply, Err(self.missing()));
        }
        let awaited = Awaited::Outcome(call.clone());
        match self.parts.open_calls.turn_of(&self.id, &awaited) {
            Some(turn) => {
                let input = Input::Settle(call, outcome, Some(reply));
                self.forward(&turn, input).await;
            }
            None => answer(reply, Err(not_open(&call))),
        }
    }

    /// Takes in a decision about a call, by the turn that waits for it.
    pub(super) async fn decide_call(&mut self, approval: ApprovalId, given: Answer, reply: Reply) {
        if self.open.is_none() {
            return answer(reply, Err(self.missing()));
        }
        planted!("decision-not-kept", {
            return answer(reply, Ok(samovar_core::Accepted::Decided));
        });
        let awaited = Awaited::Decision(approval.clone());
        match self.parts.open_calls.turn_of(&self.id, &awaited) {
            Some(turn) => {
                let input = Input::Decide(approval, given, reply);
                self.forward(&turn, input).await;
            }
            None => refuse_decision(&approval, reply),
        }
    }
}
