//! A called agent's message so far, for clients that parse no chunks (UI-13).

use samovar_core::Millis;
use serde_json::{Map, Value, json};

use super::chunk::UiChunk;

/// The most bytes of parts in a message that is replaced in place; the rest is in the stored messages.
const MAX_BYTES: usize = 256 * 1024;
/// How long a message that only grows is not shown again, in milliseconds.
const REST_MS: i64 = 200;

/// A message that is put together from its chunks, as a client does it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rebuilt {
    parts: Vec<Value>,
    metadata: Map<String, Value>,
    /// The bytes of text and of what calls said, about; and those of the last time that it was shown.
    bytes: usize,
    shown: usize,
    shown_at: Millis,
}

impl Rebuilt {
    /// Takes the next chunk.
    pub(super) fn take(&mut self, chunk: &UiChunk<'_>) {
        match chunk {
            UiChunk::Start {
                message_metadata, ..
            }
            | UiChunk::Finish {
                message_metadata, ..
            } => self.learn(message_metadata.as_ref()),
            UiChunk::StartStep => self.parts.push(json!({"type": "step-start"})),
            UiChunk::ResetStep => {
                let step = |part: &Value| part["type"] == "step-start";
                let start = self.parts.iter().rposition(step);
                self.parts.truncate(start.map_or(0, |at| at + 1));
            }
            UiChunk::TextStart { .. } => self.begin("text"),
            UiChunk::ReasoningStart { .. } => self.begin("reasoning"),
            UiChunk::TextDelta { delta, .. } => self.add("text", delta),
            UiChunk::ReasoningDelta { delta, .. } => self.add("reasoning", delta),
            UiChunk::TextEnd { .. } => self.end("text"),
            UiChunk::ReasoningEnd { .. } => self.end("reasoning"),
            UiChunk::ToolInputStart {
                tool_call_id,
                tool_name,
            } => self.parts.push(json!({
                "type": format!("tool-{tool_name}"),
                "toolCallId": tool_call_id,
                "state": "input-streaming",
            })),
            UiChunk::ToolInputAvailable {
                tool_call_id,
                input,
                ..
            } => self.set(tool_call_id, "input-available", "input", (**input).clone()),
            UiChunk::ToolOutputAvailable {
                tool_call_id,
                output,
            } => self.set(tool_call_id, "output-available", "output", output.clone()),
            UiChunk::ToolOutputError {
                tool_call_id,
                error_text,
            } => {
                let why = error_text.as_ref().into();
                self.set(tool_call_id, "output-error", "errorText", why);
            }
            _ => {}
        }
    }

    /// Whether it is shown again although nothing of it ended: after a while, if it is an eighth longer.
    pub(super) fn has_grown(&self, at: Millis) -> bool {
        at.0.saturating_sub(self.shown_at.0) >= REST_MS && self.bytes * 8 >= self.shown * 9
    }

    /// The message for the client.
    pub(super) fn show(&mut self, id: &str, at: Millis) -> Value {
        (self.shown, self.shown_at) = (self.bytes, at);
        let mut left = MAX_BYTES;
        let newest = self.parts.iter().rev().take_while(|part| {
            let bytes = part.to_string().len();
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        });
        let mut parts: Vec<_> = newest.cloned().collect();
        parts.reverse();
        let mut metadata = self.metadata.clone();
        if parts.len() < self.parts.len() {
            metadata.insert("leftOut".into(), (self.parts.len() - parts.len()).into());
        }
        json!({"id": id, "role": "assistant", "parts": parts, "metadata": metadata})
    }

    fn learn(&mut self, metadata: Option<&Value>) {
        let known = metadata.and_then(Value::as_object);
        self.metadata.extend(known.cloned().into_iter().flatten());
    }

    fn begin(&mut self, sort: &str) {
        let part = json!({"type": sort, "text": "", "state": "streaming"});
        self.parts.push(part);
    }

    fn last(&mut self, sort: &str) -> Option<&mut Value> {
        let mut parts = self.parts.iter_mut().rev();
        parts.find(|part| part["type"] == sort)
    }

    fn add(&mut self, sort: &str, delta: &str) {
        self.bytes += delta.len();
        if let Some(Value::String(text)) = self.last(sort).and_then(|part| part.get_mut("text")) {
            text.push_str(delta);
        }
    }

    fn end(&mut self, sort: &str) {
        if let Some(part) = self.last(sort) {
            part["state"] = "done".into();
        }
    }

    fn set(&mut self, call: &str, state: &str, key: &str, value: Value) {
        let mut parts = self.parts.iter_mut().rev();
        if let Some(part) = parts.find(|part| part["toolCallId"] == call) {
            part["state"] = state.into();
            part[key] = value;
        }
    }
}
