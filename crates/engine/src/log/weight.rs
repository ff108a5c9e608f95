//! How much memory events and messages take, in bytes.

use std::sync::Arc;

use samovar_core::event::{Fragment, Group};
use samovar_core::{Event, Kind, Message, Part};
use serde_json::{Map, Value};

/// What an allocator adds to a block, about.
pub(crate) const HEAP_BLOCK: usize = 16;

/// What a reference count adds to a shared value.
const COUNTS: usize = 2 * size_of::<usize>();

/// The ids of an event or a message, which it mostly shares with others.
const IDS: usize = 64;

/// How much memory an event takes.
pub(super) fn of_event(event: &Arc<Event>) -> usize {
    let text = match &event.kind {
        Kind::Delta { fragment, .. } => match fragment {
            Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::Args(text) => text.len(),
            Fragment::Call { name, .. } => name.len(),
        },
        Kind::MessageFinished {
            message, situation, ..
        } => {
            let situation = situation.as_ref().map(|situation| situation.bytes());
            inside(message) + situation.unwrap_or_default()
        }
        Kind::PartAdded { part, .. } => of_part(part),
        Kind::CallClosed { outcome, .. } => {
            outcome.text.len() + outcome.data.as_ref().map_or(0, of_value)
        }
        Kind::TurnStarted { definition, .. } => {
            let prompt = definition.as_ref().map(|agent| agent.system_prompt.len());
            prompt.unwrap_or_default()
        }
        Kind::StateChanged { state } => of_value(state),
        Kind::CallProgress { progress, .. } => progress.last.len(),
        Kind::UiEvent { kind, payload, .. } => kind.len() + of_value(payload),
        Kind::SessionOpened {
            metadata,
            system_prompt,
            ..
        } => {
            let prompt = system_prompt.as_ref().map(|prompt| prompt.as_str().len());
            of_map(metadata) + prompt.unwrap_or_default()
        }
        Kind::CallStarted { probe, .. } => probe.as_ref().map_or(0, of_value),
        Kind::ApprovalAsked { asked, .. } => {
            let preview = asked.preview.as_ref().map_or(0, String::len);
            size_of_val(asked.as_ref()) + preview + asked.foreseen.as_ref().map_or(0, of_value)
        }
        Kind::CallApproved { answer, .. } => answer.words.as_ref().map_or(0, String::len),
        Kind::TurnUndone { below, text, .. } => size_of_val(below.as_slice()) + text.len(),
        Kind::StepReset { reason, .. } => reason.len(),
        Kind::TurnFinished { fault, .. } => fault.as_ref().map_or(0, |fault| fault.message.len()),
        // Their texts are names.
        other => match other.group() {
            Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => 0,
        },
    };
    COUNTS + size_of::<Event>() + IDS + 2 * HEAP_BLOCK + text
}

/// How much memory a message takes.
pub(crate) fn of_message(message: &Arc<Message>) -> usize {
    COUNTS + size_of::<Message>() + IDS + HEAP_BLOCK + inside(message)
}

/// How much memory messages take.
pub(crate) fn of_conversation(messages: &[Arc<Message>]) -> usize {
    messages.iter().map(of_message).sum()
}

fn inside(message: &Message) -> usize {
    message.parts.iter().map(of_part).sum::<usize>() + of_map(&message.metadata)
}

fn of_part(part: &Part) -> usize {
    let inside = match part {
        Part::Text { text } => text.len(),
        Part::Reasoning {
            text,
            provider_state,
        } => text.len() + provider_state.as_ref().map_or(0, of_value),
        Part::Call(call) => {
            let state = call.provider_state.as_ref().map_or(0, of_value);
            call.name.len() + of_value(&call.args) + state
        }
        Part::Outcome { outcome, .. } => {
            outcome.text.len() + outcome.data.as_ref().map_or(0, of_value)
        }
        Part::Data { data, .. } => of_value(data),
        Part::Image { blob, .. } => blob.as_str().len(),
    };
    size_of::<Part>() + HEAP_BLOCK + inside
}

fn of_value(value: &Value) -> usize {
    let inside = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len() + HEAP_BLOCK,
        Value::Array(items) => items.iter().map(of_value).sum(),
        Value::Object(map) => of_map(map),
    };
    size_of::<Value>() + inside
}

fn of_map(map: &Map<String, Value>) -> usize {
    let of_field = |(key, value): (&String, &Value)| {
        size_of::<String>() + key.len() + HEAP_BLOCK + of_value(value)
    };
    map.iter().map(of_field).sum()
}
