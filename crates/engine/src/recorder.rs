//! Which events of the logs are decisions for the audit (TL-15). Pure.
//!
//! A call that only reads has no intent, and its outcome is no decision, except of a
//! skill. A call that is denied, or
//! that has an intent or an approval, is recorded with its outcome.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use samovar_core::approval::{Answer, EXPIRED};
use samovar_core::audit::{AuditedCall, Decision, PUT_ASIDE, What};
use samovar_core::event::Group;
use samovar_core::{
    Approval, CallId, Event, Grounds, Kind, Outcome, Part, SessionId, Status, TurnId,
};
use serde_json::Value;

use crate::gate;
use crate::guide::{MEMORY_TOOLS, READ_SKILL};

#[cfg(test)]
mod tests;

/// The tool that runs commands.
const EXEC: &str = "exec";
/// Who decided where no person did.
const POLICY: &str = "policy";
/// Who decided about a call that a person had approved.
const APPROVAL: &str = "approval";

/// Reads the events of all logs, each log's in order.
pub(crate) struct Recorder {
    /// The server's level.
    approval: Approval,
    /// The turns that are not over and whose start this run has seen.
    turns: HashMap<TurnId, Turn>,
}

struct Turn {
    session: SessionId,
    level: Approval,
    /// The open calls that are recorded.
    calls: HashSet<CallId>,
}

impl Recorder {
    pub(crate) fn new(approval: Approval) -> Self {
        let turns = HashMap::new();
        Self { approval, turns }
    }

    /// The decisions of the next events of a session.
    pub(crate) fn decisions(
        &mut self,
        session: &SessionId,
        events: &[Arc<Event>],
    ) -> Vec<Decision> {
        let mut decisions = Vec::new();
        for (at, event) in events.iter().enumerate() {
            let before = events.get(..at).unwrap_or_default();
            decisions.extend(self.decision(session, event, before));
        }
        decisions
    }

    /// What an event decided; `before` are the events of the same reading before it.
    fn decision(
        &mut self,
        session: &SessionId,
        event: &Event,
        before: &[Arc<Event>],
    ) -> Option<Decision> {
        let turn = event.turn.as_ref();
        let made = |what, who: &str, call| made(session, event, (what, who, call));
        match &event.kind {
            Kind::ApprovalAsked { call, name, asked } => {
                self.is_news(turn, call);
                Some(Decision {
                    tool: Some(name.clone()),
                    args: Some(asked.args_hash.clone()),
                    rule: configured(&asked.reason).or_else(|| self.level(turn)),
                    ..made(What::CallAsked, POLICY, call)
                })
            }
            Kind::CallApproved {
                call,
                args_hash,
                answer,
                ..
            } => {
                self.is_news(turn, call);
                Some(Decision {
                    args: Some(args_hash.clone()),
                    rule: Some(format!("decision:{}", answer.decision.as_str())),
                    ..made(decided(answer), &answer.by, call)
                })
            }
            Kind::CallStarted {
                call,
                name,
                args_hash,
                grounds,
                tainted,
                ..
            } => {
                self.is_news(turn, call);
                let (who, rule) = match grounds {
                    Some(Grounds::Approval(id)) => (APPROVAL, Some(format!("approval:{id}"))),
                    Some(Grounds::Turn) => (APPROVAL, Some("turn".to_owned())),
                    Some(Grounds::Rule(id)) => (POLICY, Some(format!("rule:{id}"))),
                    Some(Grounds::Policy(name)) => (POLICY, Some(format!("tools.policy.{name}"))),
                    None => (POLICY, self.level(turn)),
                };
                Some(Decision {
                    tool: Some(name.clone()),
                    args: Some(args_hash.clone()),
                    rule,
                    tainted: *tainted,
                    ..made(What::CallStarted, who, call)
                })
            }
            Kind::CallClosed { .. } => self.closed(session, event, before),
            other => match other.group() {
                Group::Session | Group::Turn => {
                    self.follow(session, event);
                    None
                }
                Group::Live(_) | Group::Message | Group::Call => None,
            },
        }
    }

    /// The outcome of a call, if the call is recorded or was denied.
    fn closed(
        &mut self,
        session: &SessionId,
        event: &Event,
        before: &[Arc<Event>],
    ) -> Option<Decision> {
        let Kind::CallClosed {
            call,
            name,
            outcome,
        } = &event.kind
        else {
            return None;
        };
        let turn = event.turn.as_ref();
        let is_recorded = self.ends(turn, call);
        let is_denied = outcome.status == Status::Denied;
        let who = event.author.as_str();
        let closed = Decision {
            tool: Some(name.clone()),
            args: is_denied.then(|| args_of(before, call)).flatten(),
            result: Some(outcome.status),
            about: put_aside(name, outcome)
                .or_else(|| skill(name, outcome))
                .or_else(|| memory(name, outcome)),
            ..made(session, event, (What::CallClosed, who, call))
        };
        match (is_recorded, is_denied) {
            (true, _) => Some(closed),
            (false, true) => Some(Decision {
                who: POLICY.to_owned(),
                rule: configured(&outcome.text).or_else(|| self.level(turn)),
                ..closed
            }),
            // A command that only reads can change what is trusted where there is no mount on it, and a
            // skill that was read instructs.
            (false, false) => closed.about.is_some().then_some(closed),
        }
    }

    /// Notes the start and the end of a turn.
    fn follow(&mut self, session: &SessionId, event: &Event) {
        match (&event.kind, &event.turn) {
            (
                Kind::TurnStarted {
                    approval, bounds, ..
                },
                Some(turn),
            ) => {
                let level = bounds.approval;
                let begun = Turn {
                    session: session.clone(),
                    level: level.unwrap_or_else(|| self.approval.max(*approval)),
                    calls: HashSet::new(),
                };
                self.turns.insert(turn.clone(), begun);
            }
            (Kind::TurnFinished { .. }, Some(turn)) => drop(self.turns.remove(turn)),
            (Kind::SessionClosed, _) => self.turns.retain(|_, turn| turn.session != *session),
            _ => {}
        }
    }

    /// Notes that an open call is recorded; whether that is new.
    fn is_news(&mut self, turn: Option<&TurnId>, call: &CallId) -> bool {
        let turn = turn.and_then(|turn| self.turns.get_mut(turn));
        turn.is_none_or(|turn| turn.calls.insert(call.clone()))
    }

    /// Notes that a call is closed; whether its outcome is recorded. Of a turn that an earlier run
    /// started, all are: what that run has recorded of it is not in memory.
    fn ends(&mut self, turn: Option<&TurnId>, call: &CallId) -> bool {
        let turn = turn.and_then(|turn| self.turns.get_mut(turn));
        turn.is_none_or(|turn| turn.calls.remove(call))
    }

    fn level(&self, turn: Option<&TurnId>) -> Option<String> {
        let turn = self.turns.get(turn?)?;
        Some(format!("level:{}", turn.level.as_str()))
    }
}

fn made(session: &SessionId, event: &Event, (what, who, call): (What, &str, &CallId)) -> Decision {
    Decision {
        call: Some(AuditedCall {
            call: call.clone(),
            session: Some(session.clone()),
            turn: event.turn.clone(),
            agent: Some(event.agent.to_string()),
        }),
        ..Decision::new(what, who, event.at)
    }
}

fn decided(answer: &Answer) -> What {
    match (answer.decision.allows(), answer.by.as_str()) {
        (true, _) => What::CallApproved,
        (false, EXPIRED) => What::CallExpired,
        (false, _) => What::CallRefused,
    }
}

/// The trusted names that a command, or another program while it ran, had changed.
fn put_aside(tool: &str, outcome: &Outcome) -> Option<String> {
    let data = outcome.data.as_ref().filter(|_| tool == EXEC)?;
    let names = data.get(PUT_ASIDE)?.as_array()?;
    let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
    Some(format!("put aside: {}", names.join(", ")))
}

/// The skill that was read, with the hash of what it said (MD-18).
fn skill(tool: &str, outcome: &Outcome) -> Option<String> {
    let data = outcome.data.as_ref().filter(|_| tool == READ_SKILL)?;
    let (name, sha256) = (data.get("name")?.as_str()?, data.get("sha256")?.as_str()?);
    Some(format!("skill {name}: sha256 {sha256}"))
}

/// The memory that was kept, noted, deleted or proposed.
fn memory(tool: &str, outcome: &Outcome) -> Option<String> {
    let data = outcome
        .data
        .as_ref()
        .filter(|_| MEMORY_TOOLS.contains(&tool))?;
    ["memory", "proposal"].into_iter().find_map(|kind| {
        let id = data.get(kind)?.as_str()?;
        Some(format!("{kind} {id}"))
    })
}

/// The hash of a call's arguments, if its message is among these events.
fn args_of(events: &[Arc<Event>], call: &CallId) -> Option<String> {
    events.iter().rev().find_map(|event| {
        let Kind::MessageFinished { message, .. } = &event.kind else {
            return None;
        };
        message.parts.iter().find_map(|part| match part {
            Part::Call(asked) if asked.id == *call => Some(gate::args_hash(&asked.args)),
            _ => None,
        })
    })
}

/// The rule of the configuration that the gate names as its reason.
fn configured(reason: &str) -> Option<String> {
    let (_, rule) = reason.split_once("(tools.policy.")?;
    let (name, _) = rule.split_once(')')?;
    Some(format!("tools.policy.{name}"))
}
