//! Which prefixes of a prompt are to be kept, and what they are known by.
//!
//! A prefix holds what the service puts first: the model, the tools, the system prompt, then the
//! messages, together with the parameters that change how messages are read. It is known by the
//! blocks as they were written, fields in their order and numbers in their digits, without the
//! marks themselves; it makes no difference how blocks of one role are spread over messages.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::fields::{Object, check_known, check_word, object, optional, string, under};
use crate::{cache::Boundary, script::Failure};

const MARK: &str = "cache_control";
const MOST_MARKS: usize = 4;

/// Refuses a mark that is none.
pub(super) fn check(block: &Object, at: &str) -> Result<(), Failure> {
    let Some(mark) = optional(block, MARK) else {
        return Ok(());
    };
    let at = under(at, MARK);
    let mark = object(mark, &at)?;
    check_word(
        string(mark, &at, "type")?,
        &under(&at, "type"),
        &["ephemeral"],
    )?;
    let at = under(&at, "ephemeral");
    check_known(mark, &at, &["type", "ttl"])?;
    match optional(mark, "ttl") {
        Some(_) => check_word(string(mark, &at, "ttl")?, &under(&at, "ttl"), &["5m", "1h"]),
        None => Ok(()),
    }
}

/// The ends of a prompt's blocks; none when nothing is marked.
///
/// # Errors
///
/// When there are too many marks.
pub(super) fn boundaries(body: &Object) -> Result<Vec<Boundary>, Failure> {
    let fixed = [("tool", body.get("tools")), ("system", body.get("system"))];
    let fixed: Vec<_> = fixed.into_iter().flat_map(blocks).collect();
    let messages = body.get("messages").and_then(Value::as_array);
    let said: Vec<_> = messages.into_iter().flatten().flat_map(said).collect();

    let marks_last = optional(body, MARK).is_some();
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
    chain.mix(body.get("model"));
    for (part, block) in fixed {
        chain.add(part, block);
    }
    chain.mix(body.get("thinking"));
    chain.mix(body.get("tool_choice"));
    for (role, block) in said {
        chain.add(role, block);
    }
    if let Some(last) = chain.boundaries.last_mut() {
        last.is_marked |= marks_last;
    }
    Ok(chain.boundaries)
}

/// The blocks of a part of the prompt; a string is one block.
fn blocks<'a>((part, content): (&'a str, Option<&'a Value>)) -> Vec<(&'a str, &'a Value)> {
    match content {
        Some(Value::Array(blocks)) => blocks.iter().map(|block| (part, block)).collect(),
        Some(text @ Value::String(_)) => vec![(part, text)],
        Some(_) | None => Vec::new(),
    }
}

fn said(message: &Value) -> Vec<(&str, &Value)> {
    let role = message.get("role").and_then(Value::as_str);
    blocks((role.unwrap_or_default(), message.get("content")))
}

/// The marks on a block and on those inside it.
fn marks(block: &Value) -> usize {
    let inside = block.get("content").and_then(Value::as_array);
    let inside: usize = inside.into_iter().flatten().map(marks).sum();
    usize::from(block.get(MARK).is_some_and(|mark| !mark.is_null())) + inside
}

/// All blocks of a prompt so far.
#[derive(Default)]
struct Chain {
    digest: Sha256,
    bytes: usize,
    boundaries: Vec<Boundary>,
}

impl Chain {
    /// Adds what changes how the rest is read, and has no end of its own.
    fn mix(&mut self, parameter: Option<&Value>) {
        let parameter = parameter.map(Value::to_string).unwrap_or_default();
        self.digest.update(parameter);
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
