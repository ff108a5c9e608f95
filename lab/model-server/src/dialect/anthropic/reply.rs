//! A reply as one message, and as a stream of named events.

use serde_json::{Value, json};

use super::{THOUGHT_CALL, failure, seal};
use crate::{
    delta::{self, Block, Delta, indexed},
    dialect::Events,
    matcher::Matched,
    script::{Delivery, ModelOutput, Part, Terminal, TokenCounts},
    sse::Event,
};

const FINISH_WORDS: [&str; 4] = ["end_turn", "tool_use", "max_tokens", "refusal"];

pub(super) fn events(said: &ModelOutput, delivery: &Delivery, matched: &Matched) -> Events {
    let deltas = delta::deltas(said, delivery, id_prefix(said, matched));
    let usage = delta::usage(said, matched);
    let mut message = frame(matched);
    if let Some(counts) = usage {
        // When the message starts, its first token has been made and the others have not.
        let output = counts.output.min(1);
        message["usage"] = tokens(TokenCounts { output, ..counts });
    }
    let reason = delta::finish(said, FINISH_WORDS);
    let mut finish = json!({"delta": {"stop_reason": reason, "stop_sequence": null}});
    if let Some(counts) = usage {
        finish["usage"] = tokens(counts);
    }
    let (number, is_ended) = (matched.number, delivery.terminal == Terminal::Sent);

    let mut stream = Stream::default();
    stream.push("message_start", json!({"message": message}));
    stream.push("ping", json!({}));
    let start = std::mem::take(&mut stream.events);
    let failed = matches!(deltas.last(), Some(Delta::Failure(_)));
    let end = (!failed).then_some(None);
    let rest = deltas
        .into_iter()
        .map(Some)
        .chain(end)
        .flat_map(move |delta| {
            match delta {
                // The block that is open stays so: the real one sends nothing after an error.
                Some(Delta::Failure(broken)) => {
                    let body = failure(&broken, number).to_string();
                    stream.events.push(Event::data(Some("error"), body));
                }
                Some(delta) => stream.take(&delta),
                None => {
                    stream.close();
                    stream.push("message_delta", finish.take());
                    if is_ended {
                        stream.push("message_stop", json!({}));
                    }
                }
            }
            std::mem::take(&mut stream.events)
        });
    Box::new(start.into_iter().chain(rest))
}

/// An event whose data has its name as `type`, then `fields`.
fn event(name: &str, fields: Value) -> Event {
    let data = delta::with_first("type", name, fields);
    Event::data(Some(name), data.to_string())
}

/// The events of a stream, in blocks.
///
/// Deltas of text that follow one another are one block, and so are those of thinking. A call's
/// block closes after its last fragment, so that several are open at once when their fragments
/// come in turns.
#[derive(Default)]
struct Stream {
    events: Vec<Event>,
    current: Option<Current>,
    /// The index that each call's events claim.
    calls: Vec<Option<usize>>,
    next_index: usize,
}

/// The open block of text or thinking.
struct Current {
    index: usize,
    kind: &'static str,
    said: String,
}

impl Stream {
    fn push(&mut self, name: &str, fields: Value) {
        self.events.push(event(name, fields));
    }

    fn take(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.say("text", text),
            Delta::Reasoning(text) => self.say("thinking", text),
            Delta::RedactedReasoning(text) => {
                self.close();
                let index = Some(self.count());
                let block = json!({"type": "redacted_thinking", "data": seal::redacted(text)});
                self.events.push(opened(index, &block));
                self.events.push(closed(index));
            }
            Delta::CallOpened {
                index,
                id,
                name,
                is_last,
                ..
            } => {
                self.close();
                let index = index.sent(self.count());
                self.calls.push(index);
                let block = called(id.as_deref(), name);
                self.events.push(opened(index, &block).delta());
                // The real one starts every input with nothing, and an empty one ends there.
                self.events.push(changed(index, &fragment("")));
                self.events.extend(is_last.then(|| closed(index)));
            }
            Delta::CallArguments {
                place,
                fragment: text,
                is_last,
                ..
            } => {
                let index = self.calls[*place];
                self.events.push(changed(index, &fragment(text)).delta());
                self.events.extend(is_last.then(|| closed(index)));
            }
            Delta::Comment(text) => self.events.push(Event::comment(text.clone())),
            Delta::Raw(text) => {
                let event = Event::data(type_of(text).as_deref(), text.clone());
                self.events.push(event);
            }
            // It ends the stream, and no block.
            Delta::Failure(_) => {}
        }
    }

    fn say(&mut self, kind: &'static str, text: &str) {
        let same = self.current.take_if(|current| current.kind == kind);
        let mut current = same.unwrap_or_else(|| {
            self.close();
            let index = self.count();
            let mut block = json!({"type": kind, kind: ""});
            if kind == "thinking" {
                block["signature"] = "".into();
            }
            self.events.push(opened(Some(index), &block));
            let said = String::new();
            Current { index, kind, said }
        });
        let delta = json!({"type": format!("{kind}_delta"), kind: text});
        self.events
            .push(changed(Some(current.index), &delta).delta());
        current.said += text;
        self.current = Some(current);
    }

    /// Closes the open block of text or thinking, if there is one.
    fn close(&mut self) {
        let Some(Current { index, kind, said }) = self.current.take() else {
            return;
        };
        if kind == "thinking" {
            let delta = json!({"type": "signature_delta", "signature": seal::signature(&said)});
            self.events.push(changed(Some(index), &delta));
        }
        self.events.push(closed(Some(index)));
    }

    fn count(&mut self) -> usize {
        self.next_index += 1;
        self.next_index - 1
    }
}

fn fragment(text: &str) -> Value {
    json!({"type": "input_json_delta", "partial_json": text})
}

fn opened(index: Option<usize>, block: &Value) -> Event {
    let fields = json!({"content_block": block});
    event("content_block_start", indexed(index, fields))
}

fn changed(index: Option<usize>, delta: &Value) -> Event {
    let fields = json!({"delta": delta});
    event("content_block_delta", indexed(index, fields))
}

fn closed(index: Option<usize>) -> Event {
    event("content_block_stop", indexed(index, json!({})))
}

/// The type that raw data claims, if it can be the name of an event.
fn type_of(data: &str) -> Option<String> {
    let data: Value = serde_json::from_str(data).ok()?;
    let name = data["type"].as_str()?;
    let fits = !name.is_empty() && !name.contains(char::is_control);
    fits.then(|| name.to_owned())
}

pub(super) fn whole(said: &ModelOutput, matched: &Matched) -> Value {
    let blocks = match delta::blocks(said, id_prefix(said, matched)) {
        Ok(blocks) => blocks,
        Err(broken) => return failure(&broken, matched.number),
    };
    let mut message = frame(matched);
    message["content"] = blocks.into_iter().map(block).collect();
    message["stop_reason"] = delta::finish(said, FINISH_WORDS).into();
    if let Some(counts) = delta::usage(said, matched) {
        message["usage"] = tokens(counts);
    }
    message
}

/// A message without its content, its reason for stopping and its usage.
fn frame(matched: &Matched) -> Value {
    json!({
        "id": format!("msg_{}", matched.number),
        "type": "message",
        "role": "assistant",
        "model": matched.prompt.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

fn block(block: Block) -> Value {
    match block {
        Block::Reasoning(text) => {
            let signature = seal::signature(&text);
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::RedactedReasoning(text) => {
            json!({"type": "redacted_thinking", "data": seal::redacted(&text)})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Call {
            id,
            name,
            arguments,
        } => {
            let mut block = called(id.as_deref(), &name);
            // Arguments that are not JSON stay a string.
            if !arguments.is_empty() {
                let input = serde_json::from_str(&arguments);
                block["input"] = input.unwrap_or_else(|_| arguments.into());
            }
            block
        }
    }
}

/// A block of a call without input.
fn called(id: Option<&str>, name: &str) -> Value {
    let mut block = json!({"type": "tool_use"});
    if let Some(id) = id {
        block["id"] = id.into();
    }
    block["name"] = name.into();
    block["input"] = json!({});
    block
}

fn id_prefix(said: &ModelOutput, matched: &Matched) -> String {
    let is_thinking = |part: &Part| matches!(part, Part::Reasoning(_) | Part::RedactedReasoning(_));
    let has_thinking = said.parts.iter().any(is_thinking);
    let prefix = if has_thinking { THOUGHT_CALL } else { "toolu" };
    format!("{prefix}_{}", matched.number)
}

/// Usage as this API reports it: what a cache read or kept is no part of `input_tokens`.
fn tokens(counts: TokenCounts) -> Value {
    let cached = counts.cached.saturating_add(counts.cache_written);
    json!({
        "input_tokens": counts.input.saturating_sub(cached),
        "cache_creation_input_tokens": counts.cache_written,
        "cache_read_input_tokens": counts.cached,
        "output_tokens": counts.output,
    })
}
