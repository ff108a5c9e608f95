//! Which prefixes of a prompt are to be kept, and what they are known by.
//!
//! A prefix holds what the service puts first: the model, the tools, the system prompt, then the
//! messages, together with the parameters that change how messages are read. It is known by the
//! blocks as they were written, fields in their order and numbers in their digits, without the
//! marks themselves; it makes no difference how blocks of one role are spread over messages.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::{
    cache::Boundary,
    dialect::schema::{items, text},
    script::Failure,
};

const MARK: &str = "cache_control";
const MOST_MARKS: usize = 4;

/// The ends of a prompt's blocks; empty if nothing is marked.
///
/// # Errors
///
/// When there are too many marks.
pub(super) fn boundaries(body: &Value) -> Result<Vec<Boundary>, Failure> {
    let mut fixed = blocks("tool", &body["tools"]);
    fixed.extend(blocks("system", &body["system"]));
    let messages = items(&body["messages"]).iter();
    let said = messages.flat_map(|message| blocks(text(&message["role"]), &message["content"]));
    let said: Vec<_> = said.collect();

    let marks_last = !body[MARK].is_null();
    let all = fixed.iter().chain(&said);
    let marks = all.map(|(_, block)| marks(block)).sum::<usize>() + usize::from(marks_last);
    if marks > MOST_MARKS {
        let message = format!(
            "A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {marks}."
        );
        return Err(Failure::new(400, message));
    }
    if marks == 0 {
        return Ok(Vec::new());
    }
    let mut chain = Chain::default();
    chain.mix(&body["model"]);
    for (part, block) in fixed {
        chain.add(part, block);
    }
    chain.mix(&body["thinking"]);
    chain.mix(&body["tool_choice"]);
    for (role, block) in said {
        chain.add(role, block);
    }
    if let Some(last) = chain.boundaries.last_mut() {
        last.is_marked |= marks_last;
    }
    Ok(chain.boundaries)
}

/// The blocks of a part of the prompt; a string is one block.
fn blocks<'a>(part: &'a str, content: &'a Value) -> Vec<(&'a str, &'a Value)> {
    match content {
        Value::String(_) => vec![(part, content)],
        content => items(content).iter().map(|block| (part, block)).collect(),
    }
}

/// The marks on a block and on those inside it.
fn marks(block: &Value) -> usize {
    let inside: usize = items(&block["content"]).iter().map(marks).sum();
    usize::from(!block[MARK].is_null()) + inside
}

/// All blocks of a prompt so far.
#[derive(Default)]
struct Chain {
    digest: Sha256,
    bytes: usize,
    boundaries: Vec<Boundary>,
}

impl Chain {
    /// Adds what changes how the rest is read, and has no boundary.
    fn mix(&mut self, parameter: &Value) {
        self.digest.update(parameter.to_string());
        self.digest.update([0]);
    }

    fn add(&mut self, part: &str, block: &Value) {
        let text = match block {
            Value::String(text) => json!({"type": "text", "text": text}).to_string(),
            block => unmarked(block).to_string(),
        };
        self.bytes += text.len();
        self.digest.update(part);
        self.digest.update([0]);
        self.digest.update(text);
        // JSON has no zero byte, so no two lists of blocks look the same.
        self.digest.update([0]);
        self.boundaries.push(Boundary {
            digest: self.digest.clone().finalize().into(),
            bytes: self.bytes,
            is_marked: marks(block) > 0,
        });
    }
}

/// A block without its marks and those inside it.
fn unmarked(block: &Value) -> Value {
    let mut block = block.clone();
    if let Some(fields) = block.as_object_mut() {
        // The others must keep their order.
        fields.shift_remove(MARK);
        if let Some(Value::Array(inside)) = fields.get_mut("content") {
            for block in inside {
                *block = unmarked(block);
            }
        }
    }
    block
}
