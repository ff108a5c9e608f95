//! Where the blocks of a streamed message open and close.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{super::seal, Body, Step};
use crate::delta::Delta;

/// Turns the deltas of a reply into events of blocks.
///
/// What follows one another and is of one kind, text or thinking, is one block. A call's block
/// closes behind its last fragment, so that several are open at once when their fragments come
/// in turns.
pub(super) struct Blocks<'a> {
    steps: &'a mut Vec<Step>,
    current: Option<Current>,
    calls: HashMap<usize, Call>,
    next_index: usize,
}

/// The open block of text or thinking.
struct Current {
    index: usize,
    /// All that was thought in it; none in a block of text.
    thinking: Option<String>,
}

/// A call of the reply, by its place.
#[derive(Default)]
struct Call {
    /// The index that its events claim.
    index: Option<usize>,
    fragments_left: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(deltas: &[Delta], steps: &'a mut Vec<Step>) -> Blocks<'a> {
        let mut calls: HashMap<usize, Call> = HashMap::new();
        for delta in deltas {
            if let Delta::CallArguments { place, .. } = delta {
                calls.entry(*place).or_default().fragments_left += 1;
            }
        }
        Blocks {
            steps,
            current: None,
            calls,
            next_index: 0,
        }
    }

    pub(super) fn take(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.text(text),
            Delta::Reasoning(text) => self.thinking(text),
            Delta::RedactedReasoning(text) => self.redacted(text),
            Delta::CallOpened {
                place,
                index,
                id,
                name,
            } => {
                self.close();
                let index = index.sent(self.count());
                self.open_call(*place, index, id.as_deref(), name);
            }
            Delta::CallArguments {
                place, fragment, ..
            } => self.fragment(*place, fragment),
            Delta::Comment(text) => self.steps.push(Step::Comment(text.clone())),
            Delta::Raw(data) => self.steps.push(Step::Raw(data.clone())),
            // It ends the stream, and no block.
            Delta::Failure(_) => {}
        }
    }

    /// Closes the open block of text or thinking, if there is one.
    pub(super) fn close(&mut self) {
        let Some(current) = self.current.take() else {
            return;
        };
        let index = Some(current.index);
        if let Some(thinking) = current.thinking {
            let signature = seal::signature(&thinking);
            let delta = json!({"type": "signature_delta", "signature": signature});
            self.steps.push(Step::Other(changed(index, &delta)));
        }
        self.steps.push(closed(index));
    }

    fn text(&mut self, text: &str) {
        let index = match &self.current {
            Some(Current {
                index,
                thinking: None,
            }) => *index,
            _ => self.open(None, &json!({"type": "text", "text": ""})),
        };
        let delta = json!({"type": "text_delta", "text": text});
        self.steps.push(Step::Delta(changed(Some(index), &delta)));
    }

    fn thinking(&mut self, text: &str) {
        let index = if let Some(Current {
            index,
            thinking: Some(thinking),
        }) = &mut self.current
        {
            thinking.push_str(text);
            *index
        } else {
            let block = json!({"type": "thinking", "thinking": "", "signature": ""});
            self.open(Some(text.to_owned()), &block)
        };
        let delta = json!({"type": "thinking_delta", "thinking": text});
        self.steps.push(Step::Delta(changed(Some(index), &delta)));
    }

    /// Closes what is open and opens a block of text or thinking.
    fn open(&mut self, thinking: Option<String>, block: &Value) -> usize {
        self.close();
        let index = self.count();
        self.current = Some(Current { index, thinking });
        self.steps.push(Step::Other(opened(Some(index), block)));
        index
    }

    fn redacted(&mut self, text: &str) {
        self.close();
        let index = Some(self.count());
        let block = json!({"type": "redacted_thinking", "data": seal::redacted(text)});
        self.steps.push(Step::Other(opened(index, &block)));
        self.steps.push(closed(index));
    }

    fn open_call(&mut self, place: usize, index: Option<usize>, id: Option<&str>, name: &str) {
        let mut block = json!({"type": "tool_use"});
        if let Some(id) = id {
            block["id"] = id.into();
        }
        block["name"] = name.into();
        block["input"] = json!({});
        self.steps.push(Step::Delta(opened(index, &block)));
        // The real one starts every input with nothing, and an empty one ends there.
        self.steps.push(Step::Other(changed(index, &fragment(""))));
        let call = self.calls.entry(place).or_default();
        call.index = index;
        if call.fragments_left == 0 {
            self.steps.push(closed(index));
        }
    }

    fn fragment(&mut self, place: usize, text: &str) {
        let call = self.calls.entry(place).or_default();
        call.fragments_left = call.fragments_left.saturating_sub(1);
        let index = call.index;
        let is_last = call.fragments_left == 0;
        self.steps
            .push(Step::Delta(changed(index, &fragment(text))));
        if is_last {
            self.steps.push(closed(index));
        }
    }

    fn count(&mut self) -> usize {
        let index = self.next_index;
        self.next_index += 1;
        index
    }
}

fn fragment(text: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": text})
}

fn opened(index: Option<usize>, block: &Value) -> Body {
    at(
        index,
        "content_block_start",
        json!({"content_block": block}),
    )
}

fn changed(index: Option<usize>, delta: &Value) -> Body {
    at(index, "content_block_delta", json!({"delta": delta}))
}

fn closed(index: Option<usize>) -> Step {
    Step::Other(at(index, "content_block_stop", json!({})))
}

/// An event of the block at `index`, which comes before its other fields.
fn at(index: Option<usize>, name: &'static str, rest: Value) -> Body {
    let mut fields = match index {
        Some(index) => json!({"index": index}),
        None => json!({}),
    };
    if let (Value::Object(fields), Value::Object(rest)) = (&mut fields, rest) {
        fields.extend(rest);
    }
    Body { name, fields }
}
