//! What others ask of a turn: its models, its place, its calls, its bounds, its end.

use std::sync::Arc;

use samovar_core::{
    Approval, Bill, Bounds, BudgetLimit, CallId, FinishReason, Kind, Limits, Message, MessageId,
    PostedContext, PromptHashes, Role, Situation, ToolCall,
};

use crate::budget::Hold;

use super::end::{End, Place};
use super::{CallState, Open, Phase, Turn};

impl Turn {
    /// The model that it began with, by its canonical name; empty before it began.
    pub fn model(&self) -> &str {
        &self.asked.own.name
    }

    /// The canonical name of the model in use: the turn's own, or its fallback.
    pub fn asked_model(&self) -> &str {
        &self.asked.last().name
    }

    /// The name that leads to the provider of its own model, whatever servers list by now.
    pub fn route(&self) -> &str {
        self.asked.own.route()
    }

    /// As [`Turn::route`], of the model in use.
    pub fn asked_route(&self) -> &str {
        self.asked.last().route()
    }

    /// The tool of an open call that a child's turn closes.
    pub fn delegated_tool(&self, id: &CallId) -> Option<&str> {
        let is_it = |open: &&Open| open.call.id == *id && open.state == CallState::Child;
        let found = self.calls.iter().find(is_it);
        found.map(|open| open.call.name.as_str())
    }

    /// The open calls that children's turns close.
    pub fn delegated_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let of_child = |open: &&Open| open.state == CallState::Child;
        self.calls.iter().filter(of_child).map(|open| &open.call)
    }

    /// The message with the model's last answer.
    pub fn answer(&self) -> Option<&MessageId> {
        self.answer.as_ref()
    }

    /// What its message set.
    pub(crate) fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Where it stands among the turns of its session.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Takes in a message: an answer of its model, or one that its model reads.
    pub(super) fn said(&mut self, message: &Message, situation: Option<&Arc<Situation>>) {
        if message.role == Role::Assistant {
            return self.answered(message);
        }
        self.heard(message);
        self.situate(situation.cloned());
    }

    /// Takes in the situation that its first message brings.
    pub(crate) fn situate(&mut self, situation: Option<Arc<Situation>>) {
        if situation.is_some() {
            self.place.situation = situation;
        }
    }

    /// What the client's UI showed when its message was sent.
    pub(crate) fn posted(&self) -> Option<&Arc<PostedContext>> {
        self.place.situation.as_ref()?.context.as_ref()
    }

    /// How it ended; `None` while it lives.
    pub fn outcome(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether it is over.
    pub(crate) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Whether the call has its outcome.
    pub fn is_closed(&self, id: &CallId) -> bool {
        let closed = |open: &Open| open.call.id == *id && open.state == CallState::Closed;
        self.calls.iter().any(closed)
    }

    /// How much is asked before its calls run on a server of this level: what its message asked for,
    /// else the stricter of that level and the one that it began with.
    pub fn approval(&self, server: Approval) -> Approval {
        self.bounds.approval.unwrap_or(self.approval.max(server))
    }

    /// Whether its message said that no person can answer or read along.
    pub(crate) fn has_no_input(&self) -> bool {
        self.bounds.no_input
    }

    /// What its model is told, as the log says last.
    pub(crate) fn told(&self) -> Option<&PromptHashes> {
        self.told.as_ref()
    }

    /// The attempt of the current iteration, from 1.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// How often a model's server has failed the turn, over all its iterations (AS-14).
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// How often the current iteration got an answer that was empty or made no sense.
    pub fn void_answers(&self) -> u32 {
        self.void_answers
    }

    /// Whether the prompt was made shorter after a refusal that did not say why, and nothing came yet.
    pub(crate) fn has_guessed(&self) -> bool {
        self.has_guessed
    }

    /// The current iteration of the loop.
    pub fn iteration(&self) -> u32 {
        self.iteration
    }

    /// Adds what a call used to the bill, once a fact tells that.
    pub(super) fn settle(&mut self, kind: &Kind) {
        if let Some(hold) = self.hold
            && let Some(spent) = hold.settled(kind)
        {
            hold.charge(&mut self.bill, spent);
            self.hold = None;
        }
        if let Kind::TurnFinished { bill, .. } = kind {
            self.bill = *bill;
        }
        self.hold = Hold::of(kind).or(self.hold);
    }

    /// The fact that ends the turn because its budget has no room; none of its calls is open then.
    pub(crate) fn cut(&self, limit: BudgetLimit) -> Kind {
        let mut end = self.ended(FinishReason::Budget);
        if let Kind::TurnFinished { bill, .. } = &mut end {
            bill.limit = Some(limit);
        }
        end
    }

    /// What its model calls have cost, with the whole of what is set aside for a call that runs.
    pub(super) fn bill(&self) -> Bill {
        let mut bill = self.bill;
        if let Some(hold) = &self.hold {
            hold.charge(&mut bill, hold.whole());
        }
        bill
    }

    /// How far it may go.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}
