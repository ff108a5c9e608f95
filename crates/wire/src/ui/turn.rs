//! One turn as one UI message: a fold of its events into chunks.

use std::borrow::Cow;
use std::collections::BTreeMap;

use samovar_core::event::{Fault, Fragment};
use samovar_core::{
    Agent, AgentPath, Bill, CallId, Closer, Event, FinishReason, Kind, MessageId, Outcome, Part,
    Role, Status, ToolCall, TurnId, Usage,
};
use samovar_locale as locale;
use serde_json::{Map, Value, json};

use super::chunk::{UiChunk, UiFinishReason};
use super::view::Protocol;
use crate::agent::{Dollars, display_name};

/// What is known of a turn that is shown.
#[derive(Clone, Debug)]
pub(super) struct UiTurn {
    turn: TurnId,
    protocol: Protocol,
    is_child: bool,
    about: Map<String, Value>,
    usage: Usage,
    phase: Phase,
    parts: BTreeMap<u16, ShownPart>,
    message: Option<MessageId>,
    calls: Vec<ShownCall>,
}

/// Where the message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Nothing was shown.
    Before,
    /// Between two steps.
    Between,
    InStep,
    Over,
}

/// A part of the model's message that was begun.
#[derive(Clone, Debug)]
struct ShownPart {
    sort: Sort,
    /// How many bytes of it were shown.
    shown: usize,
    is_ended: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Sort {
    Text,
    Reasoning,
    Call(CallId),
}

/// A call of the current message.
#[derive(Clone, Debug)]
struct ShownCall {
    id: CallId,
    input: Value,
    state: CallState,
    was_asked: bool,
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

impl UiTurn {
    pub(super) fn new(turn: TurnId, protocol: Protocol, is_child: bool) -> Self {
        Self {
            turn,
            protocol,
            is_child,
            about: Map::new(),
            usage: Usage::default(),
            phase: Phase::Before,
            parts: BTreeMap::new(),
            message: None,
            calls: Vec::new(),
        }
    }

    /// The id of its message.
    pub(super) fn id(&self) -> &str {
        self.turn.as_str()
    }

    /// Its agent, as every message of it says.
    pub(super) fn about(&self) -> &Map<String, Value> {
        &self.about
    }

    pub(super) fn usage(&self) -> Value {
        usage(&self.usage)
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// The beginning of a stream that continues the message.
    pub(super) fn begins_again(&self) -> UiChunk<'static> {
        UiChunk::Start {
            message_id: Cow::Owned(self.id().to_owned()),
            message_metadata: None,
        }
    }

    /// Takes the next event of the turn.
    pub(super) fn take<'e>(&mut self, event: &'e Event, out: &mut Vec<UiChunk<'e>>) {
        match &event.kind {
            Kind::TurnStarted {
                model, definition, ..
            } => self.start(event, model, definition.as_deref(), out),
            Kind::StepStarted { .. } => self.start_step(out),
            Kind::StepReset {
                iteration,
                usage,
                reason,
                ..
            } => {
                self.usage = self.usage.plus(*usage);
                self.reset_step(*iteration, reason, out);
            }
            Kind::Delta {
                message,
                part,
                fragment,
            } => {
                self.speak_in(message);
                self.add(*part, fragment, out);
            }
            Kind::PartAdded {
                message,
                index,
                part,
            } => {
                self.speak_in(message);
                self.complete(*index, part, out);
            }
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                self.speak_in(&message.id);
                for (index, part) in (0..).zip(&message.parts) {
                    self.complete(index, part, out);
                }
                self.usage = self.usage.plus(message.usage.unwrap_or_default());
            }
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
            Kind::CallClosed { call, outcome, .. } => self.close(call, outcome, out),
            Kind::TurnFinished {
                reason,
                usage,
                fault,
                bill,
                ..
            } => {
                self.usage = *usage;
                self.finish(reason, fault.as_ref(), bill, out);
            }
            Kind::CallProgress { .. } | Kind::PromptProgress { .. } | Kind::UiEvent { .. } => {
                out.extend(passing(&event.kind));
            }
            _ => {}
        }
    }

    fn start<'e>(
        &mut self,
        event: &'e Event,
        model: &str,
        definition: Option<&Agent>,
        out: &mut Vec<UiChunk<'e>>,
    ) {
        self.introduce(&event.agent, definition);
        self.phase = Phase::Between;
        let metadata = json!({
            "agent": self.about,
            "model": model,
            "turnId": self.turn,
            "createdAt": event.at,
        });
        out.push(UiChunk::Start {
            message_id: Cow::Borrowed(event.turn.as_ref().map_or("", TurnId::as_str)),
            message_metadata: Some(metadata),
        });
    }

    /// Learns whose turn it is. The call that it answers is known before.
    pub(super) fn introduce(&mut self, agent: &AgentPath, definition: Option<&Agent>) {
        let depth = agent.depth();
        let name = definition.map_or_else(
            || display_name(agent).to_owned(),
            |agent| agent.display_name.clone(),
        );
        let mut about = Map::new();
        let kind = if depth == 0 { "master" } else { "sub" };
        about.insert("kind".into(), kind.into());
        about.insert("name".into(), agent.name().into());
        about.insert("displayName".into(), name.into());
        about.insert("depth".into(), depth.into());
        about.insert("path".into(), agent.names().collect());
        for (key, value) in std::mem::take(&mut self.about) {
            about.entry(key).or_insert(value);
        }
        self.about = about;
    }

    /// Notes the call and the message to which it belongs.
    pub(super) fn answers(&mut self, call: &str, parent: &str) {
        self.about.insert("toolCallId".into(), call.into());
        self.about.insert("parentMessageId".into(), parent.into());
    }

    fn start_step(&mut self, out: &mut Vec<UiChunk<'_>>) {
        self.parts.clear();
        // Another attempt is made in the step that was reset.
        if self.phase == Phase::InStep && self.message.is_none() {
            return;
        }
        self.end_step(out);
        self.calls.clear();
        self.message = None;
        self.phase = Phase::InStep;
        out.push(UiChunk::StartStep);
    }

    fn end_step(&mut self, out: &mut Vec<UiChunk<'_>>) {
        if self.phase == Phase::InStep {
            self.phase = Phase::Between;
            out.push(UiChunk::FinishStep);
        }
    }

    fn reset_step(&mut self, iteration: u32, reason: &str, out: &mut Vec<UiChunk<'_>>) {
        if self.protocol == Protocol::V7 {
            out.push(UiChunk::ResetStep);
        } else {
            self.end_parts(out);
            for part in self.parts.values() {
                if let Sort::Call(call) = &part.sort {
                    out.push(UiChunk::ToolOutputError {
                        tool_call_id: Cow::Owned(call.as_str().to_owned()),
                        error_text: locale::ui::void().into(),
                    });
                }
            }
            let data = json!({"iteration": iteration, "reason": reason});
            out.push(UiChunk::Retry { data });
        }
        self.parts.clear();
        self.calls.clear();
        self.message = None;
    }

    /// Ends what the model did not.
    fn end_parts(&mut self, out: &mut Vec<UiChunk<'_>>) {
        let Some(message) = &self.message else {
            return;
        };
        for (index, part) in &mut self.parts {
            let id = part_id(message, *index);
            match part.sort {
                _ if part.is_ended => {}
                Sort::Text => out.push(UiChunk::TextEnd { id }),
                Sort::Reasoning => out.push(UiChunk::ReasoningEnd { id }),
                Sort::Call(_) => {}
            }
            part.is_ended = true;
        }
    }

    fn speak_in(&mut self, message: &MessageId) {
        if self.message.as_ref() != Some(message) {
            self.message = Some(message.clone());
            self.parts.clear();
        }
    }

    /// The part at a place, begun if it was not.
    fn part(&mut self, index: u16, sort: Sort, out: &mut Vec<UiChunk<'_>>) -> &mut ShownPart {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        self.parts.entry(index).or_insert_with(|| {
            let id = id.unwrap_or_default();
            match sort {
                Sort::Text => out.push(UiChunk::TextStart { id }),
                Sort::Reasoning => out.push(UiChunk::ReasoningStart { id }),
                Sort::Call(_) => {}
            }
            ShownPart {
                sort,
                shown: 0,
                is_ended: false,
            }
        })
    }

    fn add<'e>(&mut self, index: u16, fragment: &'e Fragment, out: &mut Vec<UiChunk<'e>>) {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        let id = id.unwrap_or_default();
        match fragment {
            Fragment::Text(text) | Fragment::Reasoning(text) if text.is_empty() => {}
            Fragment::Text(text) => {
                self.part(index, Sort::Text, out).shown += text.len();
                let delta = text.into();
                out.push(UiChunk::TextDelta { id, delta });
            }
            Fragment::Reasoning(text) => {
                self.part(index, Sort::Reasoning, out).shown += text.len();
                let delta = text.into();
                out.push(UiChunk::ReasoningDelta { id, delta });
            }
            Fragment::Call { id: call, name } => {
                self.part(index, Sort::Call(call.clone()), out);
                out.push(UiChunk::ToolInputStart {
                    tool_call_id: call.as_str().into(),
                    tool_name: name.into(),
                });
            }
            Fragment::Args(text) => {
                if let Some(ShownPart {
                    sort: Sort::Call(call),
                    ..
                }) = self.parts.get(&index)
                {
                    out.push(UiChunk::ToolInputDelta {
                        tool_call_id: Cow::Owned(call.as_str().to_owned()),
                        input_text_delta: text.into(),
                    });
                }
            }
        }
    }

    /// Shows what no live event has shown of a part, and ends it.
    fn complete<'e>(&mut self, index: u16, part: &'e Part, out: &mut Vec<UiChunk<'e>>) {
        let id = self.message.as_ref().map(|message| part_id(message, index));
        let id = id.unwrap_or_default();
        let (sort, text) = match part {
            Part::Text { text } => (Sort::Text, text.as_str()),
            Part::Reasoning { text, .. } => (Sort::Reasoning, text.as_str()),
            Part::Call(call) => return self.open(index, call, out),
            Part::Outcome { .. } | Part::Data { .. } | Part::Image { .. } => return,
        };
        if text.is_empty() && !self.parts.contains_key(&index) {
            return;
        }
        let is_text = sort == Sort::Text;
        let part = self.part(index, sort, out);
        if part.is_ended {
            return;
        }
        part.is_ended = true;
        let left = text.get(part.shown..).unwrap_or_default();
        let (end, delta) = (id.clone(), Cow::Borrowed(left));
        if !left.is_empty() {
            out.push(if is_text {
                UiChunk::TextDelta { id, delta }
            } else {
                UiChunk::ReasoningDelta { id, delta }
            });
        }
        out.push(if is_text {
            UiChunk::TextEnd { id: end }
        } else {
            UiChunk::ReasoningEnd { id: end }
        });
    }

    fn open<'e>(&mut self, index: u16, call: &'e ToolCall, out: &mut Vec<UiChunk<'e>>) {
        if self.calls.iter().any(|open| open.id == call.id) {
            return;
        }
        self.calls.push(ShownCall {
            id: call.id.clone(),
            input: if self.is_child {
                call.args.clone()
            } else {
                Value::Null
            },
            state: CallState::Open,
            was_asked: false,
        });
        let (tool_call_id, tool_name) = (Cow::from(call.id.as_str()), Cow::from(&call.name));
        if !self.parts.contains_key(&index) {
            out.push(UiChunk::ToolInputStart {
                tool_call_id: tool_call_id.clone(),
                tool_name: tool_name.clone(),
            });
        }
        self.part(index, Sort::Call(call.id.clone()), out).is_ended = true;
        out.push(UiChunk::ToolInputAvailable {
            tool_call_id,
            tool_name,
            input: Cow::Borrowed(&call.args),
        });
    }

    /// The arguments of a call that is open, if an agent made it that was called.
    pub(super) fn input(&self, call: &CallId) -> Value {
        let open = self.calls.iter().find(|open| open.id == *call);
        open.map_or(Value::Null, |open| open.input.clone())
    }

    fn set(&mut self, call: &CallId, state: CallState) {
        if let Some(open) = self.calls.iter_mut().find(|open| open.id == *call) {
            open.was_asked |= matches!(state, CallState::Asks { .. });
            open.state = state;
        }
    }

    fn close<'e>(&mut self, call: &'e CallId, outcome: &'e Outcome, out: &mut Vec<UiChunk<'e>>) {
        let Some(open) = self.calls.iter_mut().find(|open| open.id == *call) else {
            return;
        };
        if std::mem::replace(&mut open.state, CallState::Closed) == CallState::Closed {
            return;
        }
        let is_denied = outcome.status == Status::Denied
            && open.was_asked
            && self.protocol != Protocol::V5
            && !self.is_child;
        out.push(closed(call, outcome, is_denied));
    }

    /// Whether nothing of the turn runs, and all that is open waits for the client. What is called
    /// after a call that asks has not begun.
    pub(super) fn is_parked(&self) -> bool {
        if self.protocol == Protocol::V5 && self.asks() {
            return false;
        }
        let asks = |call: &ShownCall| matches!(call.state, CallState::Asks { .. });
        let first = self.calls.iter().position(asks);
        let waits = |call: &ShownCall| asks(call) || call.state == CallState::Waits;
        let mut rest = self.calls.iter().enumerate();
        self.calls.iter().any(waits)
            && rest.all(|(at, call)| match call.state {
                CallState::Runs => false,
                CallState::Open => first.is_some_and(|first| at > first),
                CallState::Asks { .. } | CallState::Waits | CallState::Closed => true,
            })
    }

    fn asks(&self) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|call| matches!(call.state, CallState::Asks { .. }))
    }

    /// Shows what the turn asks, and ends the step.
    pub(super) fn park(&mut self, out: &mut Vec<UiChunk<'_>>) {
        for call in &mut self.calls {
            if let CallState::Asks { approval, is_shown } = &mut call.state
                && !std::mem::replace(is_shown, true)
            {
                out.push(UiChunk::ToolApprovalRequest {
                    approval_id: Cow::Owned(approval.clone()),
                    tool_call_id: Cow::Owned(call.id.as_str().to_owned()),
                });
            }
        }
        self.end_step(out);
    }

    /// The end of a stream whose message waits for the client.
    pub(super) fn pause(&self) -> UiChunk<'static> {
        UiChunk::Finish {
            finish_reason: UiFinishReason::ToolCalls,
            message_metadata: Some(json!({"usage": self.usage()})),
        }
    }

    fn finish(
        &mut self,
        reason: &FinishReason,
        fault: Option<&Fault>,
        bill: &Bill,
        out: &mut Vec<UiChunk<'_>>,
    ) {
        if self.phase == Phase::Before {
            out.push(self.begins_again());
        }
        self.end_parts(out);
        self.end_step(out);
        self.phase = Phase::Over;
        let failed = *reason == FinishReason::Error;
        let why = fault.map_or(locale::turn::failed(), |fault| fault.message.as_str());
        if failed && !self.is_child {
            let error_text = Cow::Owned(why.to_owned());
            out.push(UiChunk::Error { error_text });
            return;
        }
        let mut metadata = json!({"usage": self.usage(), "reason": reason.as_str()});
        if let Some(cost) = bill.cost {
            metadata["costUsd"] = json!(Dollars(cost));
        }
        if failed {
            metadata["error"] = why.into();
        }
        out.push(UiChunk::Finish {
            finish_reason: reason.into(),
            message_metadata: Some(metadata),
        });
    }
}

/// What is shown for the moment alone.
fn passing(kind: &Kind) -> Option<UiChunk<'static>> {
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
    match &outcome.data {
        Some(data) => json!({"text": outcome.text, "data": data}),
        None => outcome.text.as_str().into(),
    }
}

/// The id of a part of a model's message: no other part of a stream has it.
fn part_id(message: &MessageId, index: u16) -> String {
    format!("{message}:{index}")
}

/// Tokens, under the names of the stream.
pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    })
}
