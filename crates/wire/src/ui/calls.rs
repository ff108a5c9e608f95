//! The calls of a turn's current message, and what they wait for.

use std::borrow::Cow;

use samovar_core::{CallId, Closer, Kind, Outcome, Status, ToolCall};
use serde_json::{Value, json};

use super::chunk::UiChunk;
use super::parts::{available, begun};
use super::view::Protocol;

/// The calls of the current message, in order.
#[derive(Clone, Debug, Default)]
pub(super) struct ShownCalls(Vec<ShownCall>);

/// A call of the current message.
#[derive(Clone, Debug)]
struct ShownCall {
    id: CallId,
    input: Value,
    state: CallState,
    was_asked: bool,
    /// What is not shown yet.
    held: Option<ToolCall>,
}

/// What a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CallState {
    /// It has not begun, or only reads.
    Open,
    Runs,
    /// It waits for a decision.
    Asks {
        approval: String,
        is_shown: bool,
    },
    /// It waits for its outcome from a person or the client.
    Waits,
    Closed,
}

impl ShownCalls {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Takes a call in; its arguments too, if they are needed.
    pub(super) fn open(&mut self, call: &ToolCall, keeps_input: bool, is_held: bool) {
        if self.0.iter().all(|open| open.id != call.id) {
            self.0.push(ShownCall {
                id: call.id.clone(),
                input: if keeps_input {
                    call.args.clone()
                } else {
                    Value::Null
                },
                state: CallState::Open,
                was_asked: false,
                held: is_held.then(|| call.clone()),
            });
        }
    }

    /// Takes what becomes of a call, but for its end.
    pub(super) fn take(&mut self, kind: &Kind) {
        match kind {
            Kind::ApprovalAsked { call, asked, .. } => {
                let approval = asked.id.to_string();
                let is_shown = false;
                self.set(call, CallState::Asks { approval, is_shown });
            }
            Kind::CallApproved { call, .. } => self.set(call, CallState::Open),
            Kind::CallStarted { call, closer, .. } => self.set(
                call,
                match closer {
                    Closer::Person | Closer::Outside => CallState::Waits,
                    Closer::Tool | Closer::Child => CallState::Runs,
                },
            ),
            _ => {}
        }
    }

    /// The arguments of a call that is open, if an agent made it that was called.
    pub(super) fn input(&self, call: &CallId) -> Value {
        let open = self.0.iter().find(|open| open.id == *call);
        open.map_or(Value::Null, |open| open.input.clone())
    }

    fn set(&mut self, call: &CallId, state: CallState) {
        if let Some(open) = self.0.iter_mut().find(|open| open.id == *call) {
            open.was_asked |= matches!(state, CallState::Asks { .. });
            open.state = state;
        }
    }

    /// Shows the calls that were held back and whose turn has come: something happens to them, or none
    /// before them can still ask.
    pub(super) fn release(&mut self, of: &CallId, out: &mut Vec<UiChunk<'_>>) {
        let mut is_next = true;
        for call in &mut self.0 {
            let comes = is_next || call.id == *of || call.state != CallState::Open;
            if let Some(held) = call.held.take_if(|_| comes) {
                out.extend([begun(&held), available(&held)]);
            }
            is_next &= !matches!(call.state, CallState::Open | CallState::Asks { .. });
        }
    }

    /// The end of a call; `None` for one that is not open.
    pub(super) fn close<'e>(
        &mut self,
        call: &'e CallId,
        outcome: &'e Outcome,
        shows_denials: bool,
    ) -> Option<UiChunk<'e>> {
        let open = self.0.iter_mut().find(|open| open.id == *call)?;
        if std::mem::replace(&mut open.state, CallState::Closed) == CallState::Closed {
            return None;
        }
        let is_denied = outcome.status == Status::Denied && open.was_asked && shows_denials;
        Some(closed(call, outcome, is_denied))
    }

    /// Whether nothing of them runs, and all that is open waits for the client. What is called
    /// after a call that asks has not begun.
    pub(super) fn are_parked(&self, protocol: Protocol) -> bool {
        if protocol == Protocol::V5 && self.asks() {
            return false;
        }
        let asks = |call: &ShownCall| matches!(call.state, CallState::Asks { .. });
        let first = self.0.iter().position(asks);
        let waits = |call: &ShownCall| asks(call) || call.state == CallState::Waits;
        let mut rest = self.0.iter().enumerate();
        self.0.iter().any(waits)
            && rest.all(|(at, call)| match call.state {
                CallState::Runs => false,
                CallState::Open => first.is_some_and(|first| at > first),
                CallState::Asks { .. } | CallState::Waits | CallState::Closed => true,
            })
    }

    fn asks(&self) -> bool {
        let mut calls = self.0.iter();
        calls.any(|call| matches!(call.state, CallState::Asks { .. }))
    }

    /// Shows what they ask.
    pub(super) fn ask(&mut self, out: &mut Vec<UiChunk<'_>>) {
        for call in &mut self.0 {
            if let CallState::Asks { approval, is_shown } = &mut call.state
                && !std::mem::replace(is_shown, true)
            {
                out.push(UiChunk::ToolApprovalRequest {
                    approval_id: Cow::Owned(approval.clone()),
                    tool_call_id: Cow::Owned(call.id.as_str().to_owned()),
                });
            }
        }
    }
}

/// What is shown for the moment alone.
pub(super) fn passing(kind: &Kind) -> Option<UiChunk<'static>> {
    let transient = true;
    Some(match kind {
        Kind::CallProgress { call, progress, .. } => {
            let mut data = json!({
                "toolCallId": call,
                "elapsedMs": progress.elapsed_ms,
                "outputBytes": progress.output_bytes,
                "last": progress.last,
            });
            if let Some(note) = &progress.note {
                data["note"] = note.as_str().into();
            }
            UiChunk::CallProgress { data, transient }
        }
        Kind::PromptProgress { read, total, .. } => {
            let data = json!({"read": read, "total": total});
            UiChunk::PromptProgress { data, transient }
        }
        Kind::UiEvent {
            call,
            kind,
            payload,
        } => {
            let data = json!({"toolCallId": call, "kind": kind, "payload": payload});
            UiChunk::UiEvent { data, transient }
        }
        _ => return None,
    })
}

/// The result of a call.
fn closed<'e>(call: &'e CallId, outcome: &'e Outcome, is_denied: bool) -> UiChunk<'e> {
    let tool_call_id = Cow::from(call.as_str());
    match outcome.status {
        Status::Done => UiChunk::ToolOutputAvailable {
            tool_call_id,
            output: output(outcome),
        },
        Status::Denied if is_denied => UiChunk::ToolOutputDenied { tool_call_id },
        Status::Failed | Status::Denied | Status::Cancelled | Status::Unknown => {
            UiChunk::ToolOutputError {
                tool_call_id,
                error_text: Cow::from(&outcome.text),
            }
        }
    }
}

/// What a client is shown of a call that went well.
pub(super) fn output(outcome: &Outcome) -> Value {
    let Some(data) = &outcome.data else {
        return outcome.text.as_str().into();
    };
    let written = data.to_string();
    if outcome.text == written {
        // The client's result of its call.
        return data.clone();
    }
    json!({"text": outcome.text, "data": data})
}
