//! One turn as one UI message: a fold of its events into chunks.

use std::borrow::Cow;

use samovar_core::event::Fault;
use samovar_core::{
    Agent, AgentPath, Bill, CallId, Event, FinishReason, Kind, Part, Role, TurnId, Usage,
};
use samovar_locale as locale;
use serde_json::{Map, Value, json};

use super::calls::{ShownCalls, passing};
use super::chunk::{UiChunk, UiFinishReason};
use super::parts::ShownParts;
use super::view::Protocol;
use crate::agent::{Dollars, display_name};

/// The most characters of what a called agent said last that its part shows.
const MAX_SUMMARY_CHARS: usize = 500;

/// What is known of a turn that is shown.
#[derive(Clone, Debug)]
pub(super) struct UiTurn {
    turn: TurnId,
    protocol: Protocol,
    is_child: bool,
    about: Map<String, Value>,
    usage: Usage,
    phase: Phase,
    parts: ShownParts,
    calls: ShownCalls,
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

impl UiTurn {
    pub(super) fn new(turn: TurnId, protocol: Protocol, is_child: bool) -> Self {
        Self {
            turn,
            protocol,
            is_child,
            about: Map::new(),
            usage: Usage::default(),
            phase: Phase::Before,
            parts: ShownParts::default(),
            calls: ShownCalls::default(),
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
                self.parts.speak_in(message);
                self.parts.add(*part, fragment, out);
            }
            Kind::PartAdded {
                message,
                index,
                part,
            } => {
                self.parts.speak_in(message);
                self.complete(*index, part, out);
            }
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                self.parts.speak_in(&message.id);
                for (index, part) in (0..).zip(&message.parts) {
                    self.complete(index, part, out);
                }
                self.usage = self.usage.plus(message.usage.unwrap_or_default());
            }
            Kind::CallClosed { call, outcome, .. } => {
                self.calls.release(call, out);
                let shows_denials = self.protocol != Protocol::V5 && !self.is_child;
                out.extend(self.calls.close(call, outcome, shows_denials));
                self.calls.release(call, out);
            }
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
            // It says so once.
            Kind::SessionChanged(change) if change.tainted => {
                let message_metadata = json!({"tainted": true});
                out.push(UiChunk::MessageMetadata { message_metadata });
            }
            Kind::ApprovalAsked { call, .. }
            | Kind::CallApproved { call, .. }
            | Kind::CallStarted { call, .. } => {
                self.calls.take(&event.kind);
                self.calls.release(call, out);
            }
            _ => {}
        }
    }

    fn complete<'e>(&mut self, index: u16, part: &'e Part, out: &mut Vec<UiChunk<'e>>) {
        self.parts.complete(index, part, out);
        if let Part::Call(call) = part {
            let keeps_input = self.is_child || self.protocol == Protocol::V5;
            self.calls
                .open(call, keeps_input, self.parts.holds(&call.id));
        }
    }

    /// The arguments of a call that is open, if an agent made it that was called.
    pub(super) fn input(&self, call: &CallId) -> Value {
        self.calls.input(call)
    }

    /// Whether nothing of the turn runs, and all that is open waits for the client.
    pub(super) fn is_parked(&self) -> bool {
        self.calls.are_parked(self.protocol)
    }

    /// Shows what the turn asks, and ends the step.
    pub(super) fn park(&mut self, out: &mut Vec<UiChunk<'_>>) {
        self.calls.ask(out);
        self.end_step(out);
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
        // Another attempt is made in the step that was reset.
        if self.phase == Phase::InStep && self.parts.is_empty() {
            return;
        }
        self.end_step(out);
        self.calls.clear();
        self.parts = ShownParts::default();
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
            self.parts.end(out);
            out.extend(self.parts.calls().map(|call| UiChunk::ToolOutputError {
                tool_call_id: Cow::Owned(call.as_str().to_owned()),
                error_text: locale::ui::void().into(),
            }));
            let data = json!({"iteration": iteration, "reason": reason});
            out.push(UiChunk::Retry { data });
        }
        self.parts = ShownParts::default();
        self.calls.clear();
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
        if *reason == FinishReason::Steered && self.phase == Phase::Before {
            // Another turn answers it, so there is no message here.
            self.phase = Phase::Over;
            out.push(UiChunk::Finish {
                finish_reason: reason.into(),
                message_metadata: None,
            });
            return;
        }
        if self.phase == Phase::Before {
            out.push(self.begins_again());
        }
        self.parts.end(out);
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

/// Tokens, under the names of the stream.
pub(super) fn usage(usage: &Usage) -> Value {
    json!({
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    })
}

/// The beginning of what a called agent said last.
pub(super) fn summary(text: &str) -> String {
    text.chars().take(MAX_SUMMARY_CHARS).collect()
}

/// How a called agent's turn ended.
pub(super) fn ended(reason: &FinishReason) -> &'static str {
    match reason {
        FinishReason::Error => "failed",
        FinishReason::Cancelled => "cancelled",
        _ => "done",
    }
}
