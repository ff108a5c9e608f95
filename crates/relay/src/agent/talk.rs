//! The agent's own session: what is said there, and what comes of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::event::{Fault, Group};
use samovar_core::provider::is_refusal;
use samovar_core::{CallId, Delivery, Error, Event, FinishReason, Kind, Role, TurnId};
use samovar_engine::{FollowError, Follower, MemorySession};
use samovar_locale as locale;

/// Bytes of what stands as the reason of a call, at most.
const MAX_REASON_BYTES: usize = 2 * 1024;

/// A session of the agent while the person may still say something in it.
pub(super) struct Talk {
    session: MemorySession,
    /// The study session that it belongs to, where the host has one.
    pub(super) study: Option<String>,
    model: String,
    follower: Option<Follower>,
    turns: HashSet<TurnId>,
    reasons: HashMap<CallId, String>,
}

impl Talk {
    /// Takes a new session, which has this model.
    pub(super) fn new(session: MemorySession, model: String, study: Option<String>) -> Self {
        Self {
            session,
            study,
            model,
            follower: None,
            turns: HashSet::new(),
            reasons: HashMap::new(),
        }
    }

    /// Whether a turn runs or waits.
    pub(super) fn is_busy(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Says something: to the turn that runs, else to a turn of its own with this model.
    ///
    /// # Errors
    /// The engine's refusal.
    pub(super) async fn say(&mut self, text: String, model: Option<String>) -> Result<(), Error> {
        if let Some(model) = model.filter(|model| *model != self.model) {
            self.session.set_model(model.clone()).await?;
            self.model = model;
        }
        let (turn, after) = self.session.post(text, Delivery::Steer).await?;
        self.turns.insert(turn);
        let follow = || self.session.follow(after);
        self.follower.get_or_insert_with(follow);
        Ok(())
    }

    /// The next events; never while no turn runs. Dropping the future halfway loses nothing.
    pub(super) async fn next(&mut self) -> Result<Vec<Arc<Event>>, FollowError> {
        match &mut self.follower {
            Some(follower) => follower.next().await,
            None => std::future::pending().await,
        }
    }

    /// What events bring for the person, in order.
    pub(super) fn take(&mut self, events: &[Arc<Event>]) -> Vec<String> {
        let mut words = Vec::new();
        for event in events {
            let Some(turn) = event
                .turn
                .as_ref()
                .filter(|turn| self.turns.contains(*turn))
            else {
                continue;
            };
            match &event.kind {
                Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                    let text = message.text();
                    for call in message.calls() {
                        self.reasons.insert(call.id.clone(), reason(&text));
                    }
                    words.push(text);
                }
                Kind::CallClosed { call, .. } => {
                    self.reasons.remove(call);
                }
                Kind::TurnFinished { reason, fault, .. } => {
                    words.extend(ended(reason, fault.as_ref()));
                    self.turns.remove(&turn.clone());
                }
                other => match other.group() {
                    Group::Session
                    | Group::Turn
                    | Group::Live(_)
                    | Group::Message
                    | Group::Call => {}
                },
            }
        }
        if self.turns.is_empty() {
            self.rest();
        }
        words
    }

    /// Its log cannot be read on: nothing more is heard of its turns.
    pub(super) fn lost(&mut self) {
        self.turns.clear();
        self.rest();
    }

    fn rest(&mut self) {
        self.follower = None;
        self.reasons.clear();
    }

    /// Why a call is made, once its message was heard; none until then, if that is still to come.
    pub(super) fn reason(&self, call: &CallId) -> Option<String> {
        if self.follower.is_none() {
            return Some(reason(""));
        }
        self.reasons.get(call).cloned()
    }
}

/// What was said before a call, as its reason.
fn reason(text: &str) -> String {
    let text = text.trim();
    if samovar_core::command::is_blank(text) {
        return locale::relay::agent_reason().to_owned();
    }
    text[..text.floor_char_boundary(MAX_REASON_BYTES)].to_owned()
}

/// Why no answer comes, where none does.
fn ended(reason: &FinishReason, fault: Option<&Fault>) -> Option<String> {
    Some(match (reason, fault) {
        (FinishReason::Model(word), _) if is_refusal(word) => {
            locale::relay::agent_refused().to_owned()
        }
        (FinishReason::Steered | FinishReason::Model(_) | FinishReason::FailedCall, _) => {
            return None;
        }
        (FinishReason::RepeatedCall, _) => locale::relay::agent_call_repeated().to_owned(),
        (FinishReason::MaxIterations, _) => locale::relay::agent_iterations().to_owned(),
        (FinishReason::Budget, _) => locale::relay::agent_budget().to_owned(),
        (FinishReason::Cancelled, _) => locale::relay::agent_cancelled().to_owned(),
        (FinishReason::Error, Some(fault)) => locale::relay::agent_broke_off(&fault.message),
        (FinishReason::Error, None) => locale::relay::agent_broke_off(locale::turn::broken()),
    })
}
