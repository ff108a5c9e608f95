//! What turns ask where the client cannot answer in its stream: data parts, replaced in place.

use std::collections::BTreeMap;

use samovar_core::{CallId, Closer, Event, Kind};
use serde_json::{Value, json};

use super::chunk::UiChunk;
use super::turn::UiTurn;

/// The questions that were shown and have no answer, by their calls.
#[derive(Clone, Debug, Default)]
pub(super) struct Asking(BTreeMap<CallId, Value>);

impl Asking {
    /// Whether nothing is asked.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Shows what a turn asks a person, and the answers (UI-9).
    pub(super) fn take(&mut self, turn: &UiTurn, event: &Event, chunks: &mut Vec<UiChunk<'_>>) {
        match &event.kind {
            Kind::ApprovalAsked { call, name, asked } => {
                let data = json!({
                    "approvalId": asked.id,
                    "agent": turn.about(),
                    "toolCallId": call,
                    "toolName": name,
                    "input": turn.input(call),
                    "reason": asked.reason,
                });
                let id = asked.id.to_string();
                chunks.push(UiChunk::Approval {
                    id,
                    data: data.clone(),
                });
                self.0.insert(call.clone(), data);
            }
            Kind::CallApproved { call, answer, .. } => {
                if let Some(mut data) = self.0.remove(call) {
                    data["decision"] = answer.decision.as_str().into();
                    let id = data["approvalId"].as_str().unwrap_or_default().to_owned();
                    chunks.push(UiChunk::Approval { id, data });
                }
            }
            Kind::CallStarted {
                call,
                name,
                closer: Closer::Person | Closer::Outside,
                ..
            } => {
                let input = turn.input(call);
                let mut data = json!({
                    "callId": call,
                    "agent": turn.about(),
                    "toolName": name,
                });
                for key in ["question", "options"] {
                    if !input[key].is_null() {
                        data[key] = input[key].clone();
                    }
                }
                data["input"] = input;
                let id = call.as_str().to_owned();
                chunks.push(UiChunk::Question {
                    id,
                    data: data.clone(),
                });
                self.0.insert(call.clone(), data);
            }
            Kind::CallClosed { call, outcome, .. } => {
                if let Some(mut data) = self.0.remove(call) {
                    data["answer"] = outcome.text.as_str().into();
                    let id = call.as_str().to_owned();
                    chunks.push(UiChunk::Question { id, data });
                }
            }
            _ => {}
        }
    }
}
