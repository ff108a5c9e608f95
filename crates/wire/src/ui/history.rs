//! Stored messages as `useChat({messages})` takes them (UI-12).

use std::collections::HashMap;

use samovar_core::history::MessageRow;
use samovar_core::{ApprovalId, CallId, Message, MessageId, Part, Role, Status, TurnId};
use serde_json::{Map, Value, json};

use super::calls::output;
use super::turn::usage;
use crate::agent::AgentMessage;

/// The messages of rows, oldest first: what the person said, and one message for each turn. What a
/// called agent said follows the message of its caller. What the turn says that runs is left out, and
/// calls that wait for a decision show its question.
pub fn ui_messages(
    rows: &[MessageRow],
    running: Option<&TurnId>,
    asked: impl IntoIterator<Item = (CallId, ApprovalId)>,
) -> Vec<Value> {
    let mut folded = Folded {
        asked: asked.into_iter().collect(),
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
            (Role::User | Role::System, _) => {}
            (Role::Assistant, turn) => self.answer(row, turn.as_ref()),
            (Role::Tool, turn) => {
                let place = turn.as_ref().and_then(|turn| self.turns.get(turn));
                let place = place.copied().or(self.messages.len().checked_sub(1));
                if let Some(place) = place {
                    self.close(place, message);
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
        if let Some(tokens) = &message.usage {
            let metadata = &mut self.messages[place]["metadata"];
            let sum = add(&metadata["usage"], &usage(tokens));
            metadata["usage"] = sum;
        }
    }

    fn push(&mut self, row: &MessageRow, id: &str, role: &str, parts: Vec<Value>) {
        let shown = AgentMessage::from(row);
        let mut metadata = Map::new();
        let mut agent = shown.metadata.get("agent").cloned().unwrap_or_default();
        let parent = row.message.parent.as_ref();
        if let Some(turn) = parent.and_then(|parent| self.writers.get(parent)) {
            agent["parentMessageId"] = turn.as_str().into();
        }
        metadata.insert("agent".into(), agent);
        if let Some(model) = &row.message.model {
            metadata.insert("model".into(), model.as_str().into());
        }
        if let (Some(turn), "assistant") = (&row.turn, role) {
            metadata.insert("turnId".into(), turn.as_str().into());
        }
        metadata.insert("createdAt".into(), json!(row.message.created_at));
        let mut message = Map::new();
        message.insert("id".into(), id.into());
        message.insert("role".into(), role.into());
        message.insert("parts".into(), parts.into());
        message.insert("metadata".into(), metadata.into());
        self.messages.push(message.into());
    }

    /// Gives a call its result.
    fn close(&mut self, place: usize, message: &Message) {
        let Some(parts) = self.messages[place]["parts"].as_array_mut() else {
            return;
        };
        for part in &message.parts {
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

/// The sum of two counts of tokens.
fn add(one: &Value, other: &Value) -> Value {
    let keys = other.as_object().into_iter().flatten();
    let sum = keys.map(|(key, value)| {
        let sum = one[key].as_u64().unwrap_or_default() + value.as_u64().unwrap_or_default();
        (key.clone(), sum.into())
    });
    Value::Object(sum.collect())
}
