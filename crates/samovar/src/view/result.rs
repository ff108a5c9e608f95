//! A turn as a program is told of it at its end: one document.

use std::collections::BTreeSet;

use samovar_core::message::Reminder;
use samovar_core::{Kind, Role, SessionId, Status, Usage};
use samovar_wire::agent::{Dollars, MessagePart, ShownEvent, Snapshot};
use serde_json::{Value, json};

use super::{EDIT, WRITE};
use crate::calls::EXEC;

/// What a program is told at the end.
pub(super) struct TurnResult {
    session: SessionId,
    pub(super) turn: Option<String>,
    message: Option<String>,
    text: String,
    /// Whether the last answer was cut, and the next continues it.
    is_cut: bool,
    /// Whether the text came with calls, so that it is no answer.
    has_calls: bool,
    calls: Vec<Value>,
    /// The files that file tools and commands changed, also those of called agents.
    changed: BTreeSet<String>,
    pub(super) usage: Usage,
}

impl TurnResult {
    /// A turn that has said nothing.
    pub(super) fn new(session: SessionId) -> Self {
        Self {
            session,
            turn: None,
            message: None,
            is_cut: false,
            text: String::new(),
            has_calls: false,
            calls: Vec::new(),
            changed: BTreeSet::new(),
            usage: Usage::default(),
        }
    }

    /// Takes the turn as it stands in place of all that was taken before. A file that was changed
    /// stays so.
    pub(super) fn begin_anew(&mut self, snapshot: &Snapshot) {
        let turn = snapshot.turn_id.as_ref();
        self.turn = turn.map(ToString::to_string);
        let mut said = snapshot.messages.iter();
        let last = said.rfind(|message| message.role == Role::Assistant);
        self.message = last.map(|message| message.id.to_string());
        self.text = last.map_or_else(String::new, |message| message.content.clone());
        self.is_cut = false;
        self.has_calls = last.is_some_and(|message| !message.tool_calls.is_empty());
        for message in &snapshot.messages {
            for part in &message.parts {
                if let MessagePart::Outcome {
                    name, status, data, ..
                } = part
                {
                    self.change(name, *status, data.as_ref());
                }
            }
        }
        let closed = snapshot.messages.iter();
        let closed = closed.filter(|message| message.role == Role::Tool);
        self.calls = closed
            .map(|message| {
                let is_error = message.is_error.unwrap_or_default();
                json!({
                    "id": message.tool_call_id,
                    "name": message.name,
                    "status": if is_error { Status::Failed } else { Status::Done },
                    "result": message.content,
                })
            })
            .collect();
    }

    /// The last answer; empty when the turn ended before it.
    pub(super) fn answer(&self) -> &str {
        if self.has_calls { "" } else { &self.text }
    }

    /// Whether nothing was answered.
    pub(super) fn is_wordless(&self) -> bool {
        self.message.is_none()
    }

    /// Notes the file that a call changed, of whatever agent.
    pub(super) fn note_change(&mut self, kind: &Kind) {
        if let Kind::CallClosed { name, outcome, .. } = kind {
            self.change(name, outcome.status, outcome.data.as_ref());
        }
    }

    fn change(&mut self, tool: &str, status: Status, data: Option<&Value>) {
        let Some(data) = data else {
            return;
        };
        let is_change = [EDIT, WRITE].contains(&tool) && status == Status::Done;
        let of_tool = Some(data).filter(|_| is_change);
        // What a command changed, also one that failed.
        let of_command = data["changed"].as_array().into_iter().flatten();
        let files = of_tool
            .into_iter()
            .chain(of_command.filter(|_| tool == EXEC));
        let paths = files.filter_map(|file| file["path"].as_str());
        self.changed.extend(paths.map(str::to_owned));
    }

    /// Takes the next event.
    pub(super) fn take(&mut self, event: &ShownEvent) {
        self.note_change(&event.kind);
        if let Some(turn) = &event.turn {
            self.turn.get_or_insert_with(|| turn.to_string());
        }
        match &event.kind {
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                self.message = Some(message.id.to_string());
                if !std::mem::take(&mut self.is_cut) {
                    self.text.clear();
                }
                self.text.push_str(&message.text());
                self.has_calls = message.calls().next().is_some();
                self.usage = self.usage.plus(message.usage.unwrap_or_default());
            }
            Kind::MessageFinished { message, .. } => {
                self.is_cut = message.reminder() == Some(Reminder::CutAnswer);
            }
            Kind::StepReset { usage, .. } => self.usage = self.usage.plus(*usage),
            Kind::CallClosed {
                call,
                name,
                outcome,
            } => self.calls.push(json!({
                "id": call,
                "name": name,
                "status": outcome.status,
                "result": outcome.text,
            })),
            _ => {}
        }
    }

    /// The document, with how the turn ended.
    pub(super) fn document(&self, last: &Kind) -> Value {
        let Kind::TurnFinished {
            reason,
            iterations,
            usage,
            fault,
            bill,
        } = last
        else {
            return Value::Null;
        };
        let mut document = json!({
            "sessionId": self.session,
            "turnId": self.turn,
            "messageId": self.message,
            "text": self.text,
            "calls": self.calls,
            "changed": self.changed,
            "finishReason": reason.as_str(),
            "iterations": iterations,
            "usage": {
                "total": usage.total(),
                "input": usage.input,
                "output": usage.output,
            },
        });
        if let Some(cost) = bill.cost {
            document["costUsd"] = json!(Dollars(cost));
        }
        if let Some(limit) = bill.limit {
            document["limit"] = limit.as_str().into();
        }
        if let Some(fault) = fault {
            document["error"] = json!({ "code": fault.code, "message": fault.message });
        }
        document
    }
}
