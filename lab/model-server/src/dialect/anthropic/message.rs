//! A reply as one message.

use bytes::Bytes;
use serde_json::{Map, Value, json};

use super::{call_ids, failure, frame, seal, stop_reason, tokens, usage};
use crate::{
    delta::{self, SentCall},
    dialect::Naming,
    script::{Part, Said},
};

pub(in crate::dialect) fn whole(said: &Said, naming: &Naming) -> Bytes {
    let failed = said.parts.iter().find_map(|part| match part {
        Part::Failure(broken) => Some(failure(broken, naming.number)),
        _ => None,
    });
    failed
        .unwrap_or_else(|| message(said, naming))
        .to_string()
        .into()
}

fn message(said: &Said, naming: &Naming) -> Value {
    let mut message = frame(naming);
    message["content"] = blocks(said, naming).into_iter().map(spelled).collect();
    message["stop_reason"] = stop_reason(said).into();
    if let Some(counts) = usage(said, naming) {
        message["usage"] = tokens(counts).into();
    }
    message
}

/// A block of a message's content.
enum Block {
    Thinking(String),
    Redacted(String),
    Text(String),
    Call(SentCall),
}

fn blocks(said: &Said, naming: &Naming) -> Vec<Block> {
    let mut calls = delta::calls(said, call_ids(said, naming)).into_iter();
    let mut blocks: Vec<Block> = Vec::new();
    for part in &said.parts {
        match (part, blocks.last_mut()) {
            (Part::Reasoning(more), Some(Block::Thinking(text)))
            | (Part::Text(more), Some(Block::Text(text))) => text.push_str(more),
            (Part::Reasoning(text), _) => blocks.push(Block::Thinking(text.clone())),
            (Part::Text(text), _) => blocks.push(Block::Text(text.clone())),
            (Part::RedactedReasoning(text), _) => blocks.push(Block::Redacted(text.clone())),
            (Part::Call(_), _) => blocks.extend(calls.next().map(Block::Call)),
            (Part::Interleaved(group), _) => {
                blocks.extend(calls.by_ref().take(group.len()).map(Block::Call));
            }
            (Part::Failure(_) | Part::Comment(_) | Part::Raw(_), _) => {}
        }
    }
    // A part without text opens no block in a stream either.
    blocks.retain(|block| match block {
        Block::Thinking(text) | Block::Text(text) => !text.is_empty(),
        Block::Redacted(_) | Block::Call(_) => true,
    });
    blocks
}

fn spelled(block: Block) -> Value {
    match block {
        Block::Thinking(text) => {
            let signature = seal::signature(&text);
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Block::Redacted(text) => {
            json!({"type": "redacted_thinking", "data": seal::redacted(&text)})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Call(call) => {
            let input = input(&call.arguments);
            let mut spelled = json!({"type": "tool_use"});
            if let Some(id) = call.id {
                spelled["id"] = id.into();
            }
            spelled["name"] = call.name.into();
            spelled["input"] = input;
            spelled
        }
    }
}

/// Arguments as the value that they are; text that is no JSON stays a string, none is `{}`.
fn input(arguments: &str) -> Value {
    if arguments.is_empty() {
        return Map::new().into();
    }
    serde_json::from_str(arguments).unwrap_or_else(|_| arguments.into())
}
