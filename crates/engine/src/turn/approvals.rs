//! What happens to the calls of a turn, and what a person decides about them (TL-5).

use samovar_core::approval::{Answer, Asked, EXPIRED};
use samovar_core::event::Group;
use samovar_core::planted;
use samovar_core::{ApprovalId, CallId, Decision, Grant, Kind, Outcome, Status, ToolCall};
use serde_json::json;

use super::{CallState, Intent, Open, Turn};

/// What was asked about a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Approving {
    asked: Asked,
    /// Whether a person has allowed it.
    pub(super) is_allowed: bool,
}

impl Turn {
    /// Takes in what happened to a call.
    pub(super) fn take_call(&mut self, kind: &Kind) {
        match kind {
            Kind::CallStarted {
                call,
                effect,
                closer,
                probe,
                ..
            } => {
                let intent = Intent {
                    effect: *effect,
                    closer: *closer,
                    foreseen: probe.clone(),
                };
                self.start(call, intent);
            }
            Kind::ApprovalAsked { call, asked, .. } => self.ask(call, asked),
            Kind::CallApproved {
                call,
                approval,
                answer,
                ..
            } => self.decide(call, approval, answer.decision),
            Kind::CallClosed { call, outcome, .. } => self.close(call, outcome),
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }

    pub(super) fn ask(&mut self, id: &CallId, asked: &Asked) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.call.id == *id) {
            open.state = CallState::Undecided;
            open.approving = Some(Box::new(Approving {
                asked: asked.clone(),
                is_allowed: false,
            }));
        }
    }

    pub(super) fn decide(&mut self, id: &CallId, approval: &ApprovalId, decision: Decision) {
        self.continuations = 0;
        let Some(open) = self.calls.iter_mut().find(|open| open.call.id == *id) else {
            return;
        };
        let Some(approving) = open.approving.as_mut() else {
            return;
        };
        if open.state != CallState::Undecided || approving.asked.id != *approval {
            return;
        }
        if !decision.allows() {
            return; // Its outcome follows.
        }
        approving.is_allowed = true;
        open.state = CallState::Fresh;
        // The rule of an `always` is made a moment later.
        let is_wider = matches!(decision, Decision::Turn | Decision::Always);
        if let Some(grant) = approving.asked.grant.as_ref().filter(|_| is_wider) {
            self.grants.push(grant.clone());
        }
    }

    /// What a person allowed about a call, if they did.
    pub(crate) fn allowed(&self, id: &CallId) -> Option<&Asked> {
        let open = self.calls.iter().find(|open| open.call.id == *id)?;
        let approving = open.approving.as_ref()?;
        approving.is_allowed.then_some(&approving.asked)
    }

    /// What a person allowed for the rest of the turn.
    pub(crate) fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// The calls that wait for a decision, each with what is asked.
    pub fn undecided(&self) -> impl Iterator<Item = (&ToolCall, &Asked)> {
        let undecided = |open: &&Open| open.state == CallState::Undecided;
        let calls = self.calls.iter().filter(undecided);
        calls.filter_map(|open| Some((&open.call, &open.approving.as_ref()?.asked)))
    }

    /// The facts that a decision makes, if the turn waits for it.
    pub(crate) fn decision(&self, approval: &ApprovalId, answer: Answer) -> Option<Vec<Kind>> {
        planted!("denial-ignored", {
            let decision = Decision::Once;
            let answer = Answer { decision, ..answer };
            return self.decided(approval, answer);
        });
        self.decided(approval, answer)
    }

    fn decided(&self, approval: &ApprovalId, answer: Answer) -> Option<Vec<Kind>> {
        let mut undecided = self.undecided();
        let (call, asked) = undecided.find(|(_, asked)| asked.id == *approval)?;
        let denied = (!answer.decision.allows()).then(|| Kind::CallClosed {
            call: call.id.clone(),
            name: call.name.clone(),
            outcome: denied(approval, &answer),
        });
        let approved = Kind::CallApproved {
            call: call.id.clone(),
            approval: approval.clone(),
            args_hash: asked.args_hash.clone(),
            answer,
        };
        Some(std::iter::once(approved).chain(denied).collect())
    }

    /// The calls that can start now, in order. Behind one that waits for a decision only those start
    /// that were asked about with it and are allowed.
    pub(crate) fn startable(&self) -> Vec<ToolCall> {
        self.free().cloned().collect()
    }

    /// Whether a call is one of these.
    pub(crate) fn can_start(&self, id: &CallId) -> bool {
        self.free().any(|call| call.id == *id)
    }

    fn free(&self) -> impl Iterator<Item = &ToolCall> {
        let mut waits = false;
        self.calls.iter().filter_map(move |open| match open.state {
            CallState::Undecided => {
                waits = true;
                None
            }
            CallState::Fresh => {
                let is_allowed = |approving: &Approving| approving.is_allowed;
                let is_free = !waits || open.approving.as_deref().is_some_and(is_allowed);
                is_free.then_some(&open.call)
            }
            CallState::Running
            | CallState::Outside
            | CallState::Child
            | CallState::Asked
            | CallState::Closed => None,
        })
    }
}

/// What the model reads of a call that may not run.
fn denied(approval: &ApprovalId, answer: &Answer) -> Outcome {
    let words = answer.words.as_deref().map(str::trim).unwrap_or_default();
    let why = match (answer.by.as_str(), words) {
        (EXPIRED, _) => {
            "denied: no person decided about this call in time; do without it, or end the \
                         turn and say what you need"
                .to_owned()
        }
        (_, "") => "denied: the person does not allow this call; do not try the same again, do \
                    without it or ask what they want"
            .to_owned(),
        (_, words) => format!("denied: the person does not allow this call and says: {words}"),
    };
    let mut data = json!({"approvalId": approval});
    if !words.is_empty() {
        data["reason"] = words.into();
    }
    Outcome::new(Status::Denied, why).with_data(data)
}
