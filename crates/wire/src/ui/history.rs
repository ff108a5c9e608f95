//! Stored messages as `useChat({messages})` takes them (UI-12).

use std::collections::HashMap;

use samovar_core::history::{MessageRow, TurnRow};
use samovar_core::{ApprovalId, CallId, MessageId, Outcome, Part, Role, Status, TurnId, Usage};
use serde_json::{Map, Value, json};

use super::calls::output;
use super::turn::{ended, summary, usage};
use super::view::Protocol;
use crate::agent::{AgentMessage, Dollars};

/// What is known of a session beside its messages.
#[derive(Debug, Default)]
pub struct UiState<'a> {
    /// The turn that runs: what it says is left out.
    pub running: Option<&'a TurnId>,
    /// The calls that wait for a decision, with the question.
    pub asked: HashMap<CallId, ApprovalId>,
    /// The turns that the messages belong to.
    pub turns: Vec<TurnRow>,
}

/// The messages of rows, oldest first: what the person said, and one message for each turn. What a
/// called agent said follows the message of its caller, which has a part about it.
pub fn ui_messages(rows: &[MessageRow], state: UiState<'_>, protocol: Protocol) -> Vec<Value> {
    let UiState {
        running,
        asked,
        turns,
    } = state;
    let turns = turns.into_iter().map(|row| (row.turn.clone(), row));
    // Version 5 knows no such states of a call.
    let has_approvals = protocol != Protocol::V5;
    let mut folded = Folded {
        asked: if has_approvals { asked } else { HashMap::new() },
        rows: turns.collect(),
        has_approvals,
        ..Folded::default()
    };
    let runs = rows
        .iter()
        .find(|row| running.is_some() && row.turn.as_ref() == running);
    let runs = runs.map(|row| row.place);
    for row in rows {
        let is_said = row.message.role == Role::User && row.agent.depth() == 0;
        if is_said || Some(row.place) != runs {
            folded.take(row);
        }
    }
    folded.messages
}

#[derive(Default)]
struct Folded {
    messages: Vec<Value>,
    /// Where the message of a turn is.
    turns: HashMap<TurnId, usize>,
    asked: HashMap<CallId, ApprovalId>,
    /// The turn that wrote a message.
    writers: HashMap<MessageId, TurnId>,
    rows: HashMap<TurnId, TurnRow>,
    /// For called agents' turns, where the message is whose stream showed them, and its call.
    below: HashMap<TurnId, (usize, String)>,
    has_approvals: bool,
}

impl Folded {
    fn take(&mut self, row: &MessageRow) {
        let message = &row.message;
        match (message.role, &row.turn) {
            (Role::User, _) if row.agent.depth() == 0 => {
                let mut parts: Vec<_> = message.parts.iter().filter_map(spoken).collect();
                for part in parts.iter_mut().filter_map(Value::as_object_mut) {
                    // It is a word about streams.
                    part.remove("state");
                }
                self.push(row, message.id.as_str(), "user", parts);
            }
            // The call has the order to a called agent.
            (Role::User | Role::System, Some(turn)) => self.call(row, turn),
            (Role::User | Role::System, None) => {}
            (Role::Assistant, turn) => self.answer(row, turn.as_ref()),
            (Role::Tool, turn) => {
                let place = turn.as_ref().and_then(|turn| self.turns.get(turn));
                let place = place.copied().or(self.messages.len().checked_sub(1));
                if let Some(place) = place {
                    self.close(place, row);
                }
            }
        }
    }

    fn answer(&mut self, row: &MessageRow, turn: Option<&TurnId>) {
        let message = &row.message;
        let id = turn.map_or(message.id.as_str(), TurnId::as_str);
        let place = turn.and_then(|turn| self.turns.get(turn)).copied();
        let place = place.unwrap_or_else(|| {
            self.push(row, id, "assistant", Vec::new());
            self.messages.len() - 1
        });
        if let Some(turn) = turn {
            self.turns.insert(turn.clone(), place);
            self.writers.insert(message.id.clone(), turn.clone());
        }
        let parts = std::iter::once(json!({"type": "step-start"}));
        let mut parts: Vec<_> = parts
            .chain(message.parts.iter().filter_map(spoken))
            .collect();
        for call in message.calls() {
            let of = |part: &&mut Value| part["toolCallId"] == call.id.as_str();
            let asked = self.asked.get(&call.id).filter(|_| row.agent.depth() == 0);
            if let (Some(asked), Some(open)) = (asked, parts.iter_mut().find(of)) {
                open["state"] = "approval-requested".into();
                open["approval"] = json!({ "id": asked });
                // What follows it has not begun.
                let at = parts
                    .iter()
                    .position(|part| part["toolCallId"] == call.id.as_str());
                let behind = parts.drain(at.map_or(0, |at| at + 1)..);
                let said: Vec<_> = behind.filter(|part| part["toolCallId"].is_null()).collect();
                parts.extend(said);
                break;
            }
        }
        if let Some(shown) = self.messages[place]["parts"].as_array_mut() {
            shown.extend(parts);
        }
        let known = turn.and_then(|turn| self.rows.get(turn));
        let is_over = known.is_some_and(|known| known.end.is_some());
        if let Some(tokens) = message.usage.as_ref().filter(|_| !is_over) {
            let metadata = &mut self.messages[place]["metadata"];
            let sum = add(&metadata["usage"], &usage(tokens));
            metadata["usage"] = sum;
        }
        let text = message.text();
        if let Some(turn) = turn.filter(|_| !text.is_empty())
            && let Some(part) = self.part_of(turn)
        {
            part["data"]["summary"] = summary(&text).into();
        }
    }

    /// Shows in the message of the session's own agent that an agent was called for it: at the end of
    /// the step with the call.
    fn call(&mut self, row: &MessageRow, turn: &TurnId) {
        let parent = row.message.parent.as_ref();
        let Some(caller) = parent.and_then(|parent| self.writers.get(parent)) else {
            return;
        };
        let agent = self.about(row);
        let own = || {
            let call = agent["toolCallId"].as_str().unwrap_or_default();
            Some((*self.turns.get(caller)?, call.to_owned()))
        };
        let known = self.below.get(caller).cloned();
        let Some((place, call)) = known
            .or_else(own)
            .filter(|_| !self.below.contains_key(turn))
        else {
            return;
        };
        let (status, tokens) = match self.rows.get(turn) {
            Some(TurnRow {
                end: Some((reason, _)),
                usage,
                ..
            }) => (ended(reason), *usage),
            Some(row) if row.started_at.is_some() => ("running", row.usage),
            Some(_) | None => ("queued", Usage::default()),
        };
        let part = json!({"type": "data-subagent", "id": turn, "data": {
            "messageId": turn, "agent": agent, "status": status, "summary": "",
            "usage": usage(&tokens),
        }});
        if let Some(parts) = self.messages[place]["parts"].as_array_mut() {
            let of_call = parts
                .iter()
                .position(|part| part["toolCallId"] == call.as_str());
            let behind = of_call.and_then(|at| {
                let mut rest = parts[at..].iter();
                Some(at + rest.position(|part| part["type"] == "step-start")?)
            });
            parts.insert(behind.unwrap_or(parts.len()), part);
        }
        self.below.insert(turn.clone(), (place, call));
    }

    /// The part about a called agent's turn.
    fn part_of(&mut self, turn: &TurnId) -> Option<&mut Value> {
        let (place, _) = self.below.get(turn)?;
        let parts = self.messages[*place]["parts"].as_array_mut()?;
        let mut parts = parts.iter_mut();
        parts.find(|part| part["type"] == "data-subagent" && part["id"] == turn.as_str())
    }

    /// Whose a message is: its caller is the message of a turn.
    fn about(&self, row: &MessageRow) -> Value {
        let shown = AgentMessage::from(row);
        let mut agent = shown.metadata.get("agent").cloned().unwrap_or_default();
        let parent = row.message.parent.as_ref();
        if let Some(turn) = parent.and_then(|parent| self.writers.get(parent)) {
            agent["parentMessageId"] = turn.as_str().into();
        }
        agent
    }

    fn push(&mut self, row: &MessageRow, id: &str, role: &str, parts: Vec<Value>) {
        let mut metadata = Map::new();
        metadata.insert("agent".into(), self.about(row));
        if let Some(model) = &row.message.model {
            metadata.insert("model".into(), model.as_str().into());
        }
        let mut created_at = row.message.created_at;
        if let (Some(turn), "assistant") = (&row.turn, role) {
            metadata.insert("turnId".into(), turn.as_str().into());
            let known = self.rows.get(turn);
            created_at = known
                .and_then(|known| known.started_at)
                .unwrap_or(created_at);
            if let Some((known, (reason, _))) = known.and_then(|row| Some((row, row.end.as_ref()?)))
            {
                metadata.insert("usage".into(), usage(&known.usage));
                metadata.insert("reason".into(), reason.as_str().into());
                if let Some(fault) = &known.fault {
                    metadata.insert("error".into(), fault.message.as_str().into());
                }
                if let Some(cost) = known.bill.cost {
                    metadata.insert("costUsd".into(), json!(Dollars(cost)));
                }
            }
        }
        metadata.insert("createdAt".into(), json!(created_at));
        let mut message = Map::new();
        message.insert("id".into(), id.into());
        message.insert("role".into(), role.into());
        message.insert("parts".into(), parts.into());
        message.insert("metadata".into(), metadata.into());
        self.messages.push(message.into());
    }

    /// Gives a call its result.
    fn close(&mut self, place: usize, row: &MessageRow) {
        let shows_denials = self.has_approvals && row.agent.depth() == 0;
        let Some(parts) = self.messages[place]["parts"].as_array_mut() else {
            return;
        };
        for part in &row.message.parts {
            let Part::Outcome { call, outcome, .. } = part else {
                continue;
            };
            let of = |part: &&mut Value| part["toolCallId"] == call.as_str();
            let Some(open) = parts.iter_mut().rev().find(of) else {
                continue;
            };
            if outcome.status == Status::Done {
                open["state"] = "output-available".into();
                open["output"] = output(outcome);
            } else if let Some(approval) = denied(outcome).filter(|_| shows_denials) {
                open["state"] = "output-denied".into();
                open["approval"] = approval;
            } else {
                open["state"] = "output-error".into();
                open["errorText"] = outcome.text.as_str().into();
            }
        }
    }
}

/// A part of a message.
fn spoken(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text { text } if text.is_empty() => return None,
        Part::Text { text } => json!({"type": "text", "text": text, "state": "done"}),
        Part::Reasoning { text, .. } if text.is_empty() => return None,
        Part::Reasoning { text, .. } => {
            json!({"type": "reasoning", "text": text, "state": "done"})
        }
        Part::Call(call) => json!({
            "type": format!("tool-{}", call.name),
            "toolCallId": call.id,
            "state": "input-available",
            "input": call.args,
        }),
        Part::Image {
            blob, media_type, ..
        } => json!({
            "type": "file",
            "mediaType": media_type,
            "url": format!("/api/blobs/{blob}"),
        }),
        Part::Outcome { .. } | Part::Data { .. } => return None,
    })
}

/// The question that a person answered with no; `None` if no person was asked.
fn denied(outcome: &Outcome) -> Option<Value> {
    let data = outcome.data.as_ref()?;
    let id = data
        .get("approvalId")
        .filter(|_| outcome.status == Status::Denied)?;
    let mut approval = json!({"id": id, "approved": false});
    if let Some(reason) = data.get("reason") {
        approval["reason"] = reason.clone();
    }
    Some(approval)
}

/// The sum of two counts of tokens.
fn add(one: &Value, other: &Value) -> Value {
    let keys = other.as_object().into_iter().flatten();
    let sum = keys.map(|(key, value)| {
        let sum = one[key].as_u64().unwrap_or_default() + value.as_u64().unwrap_or_default();
        (key.clone(), sum.into())
    });
    Value::Object(sum.collect())
}
