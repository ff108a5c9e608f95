//! The blocks of a message's content, each on its own.

use serde_json::Value;

use super::{
    caching,
    fields::{
        Object, check_known, check_name, flag, items, object, optional, refused, required, string,
        under,
    },
    seal,
    tools::MOST_NAME_CHARS,
};
use crate::script::Failure;

/// A block of a message.
pub(super) struct Block<'a> {
    /// Its path in the prompt.
    pub(super) at: String,
    pub(super) kind: Kind<'a>,
}

pub(super) enum Kind<'a> {
    Text(&'a str),
    /// A picture, a document, a search result: what a person shows.
    Shown,
    Thinking,
    Call {
        id: &'a str,
    },
    Result {
        call: &'a str,
        text: String,
    },
}

impl<'a> Block<'a> {
    pub(super) fn text(&self) -> Option<&'a str> {
        if let Kind::Text(text) = self.kind {
            return Some(text);
        }
        None
    }

    /// The id of the call that it is.
    pub(super) fn call(&self) -> Option<&'a str> {
        if let Kind::Call { id } = self.kind {
            return Some(id);
        }
        None
    }

    /// The id of the call whose result it is.
    pub(super) fn result(&self) -> Option<&'a str> {
        if let Kind::Result { call, .. } = self.kind {
            return Some(call);
        }
        None
    }
}

const KINDS: [&str; 8] = [
    "document",
    "image",
    "redacted_thinking",
    "search_result",
    "text",
    "thinking",
    "tool_result",
    "tool_use",
];

/// Kinds that a tool's result may hold.
const RESULT_KINDS: [&str; 4] = ["document", "image", "search_result", "text"];

/// Reads the content of a message: a string is one block of text.
pub(super) fn read<'a>(content: &'a Value, at: &str) -> Result<Vec<Block<'a>>, Failure> {
    if let Value::String(text) = content {
        let kind = Kind::Text(text);
        let at = format!("{at}.0");
        return Ok(vec![Block { at, kind }]);
    }
    let blocks = items(content, at)?.iter().enumerate();
    blocks
        .map(|(place, block)| {
            let at = format!("{at}.{place}");
            let kind = kind(object(block, &at)?, &at, &KINDS)?;
            Ok(Block { at, kind })
        })
        .collect()
}

/// Reads a list of blocks of text, such as the system prompt; returns the text.
pub(super) fn texts(blocks: &Value, at: &str) -> Result<String, Failure> {
    joined(blocks, at, &["text"])
}

/// The texts of blocks, of which there are only `known` kinds.
fn joined(blocks: &Value, at: &str, known: &[&str]) -> Result<String, Failure> {
    if let Value::String(text) = blocks {
        return Ok(text.clone());
    }
    let mut joined = String::new();
    for (place, block) in items(blocks, at)?.iter().enumerate() {
        let at = format!("{at}.{place}");
        if let Kind::Text(text) = kind(object(block, &at)?, &at, known)? {
            check_text(text, &at)?;
            joined.push_str(text);
        }
    }
    Ok(joined)
}

/// Refuses text that says nothing, as blocks of text must not. The path in the sentence is the
/// part of the prompt alone.
pub(super) fn check_text(text: &str, at: &str) -> Result<(), Failure> {
    let part = at.split('.').next().unwrap_or(at);
    if text.is_empty() {
        return Err(refused(part, "text content blocks must be non-empty"));
    }
    if text.trim().is_empty() {
        let why = "text content blocks must contain non-whitespace text";
        return Err(refused(part, why));
    }
    Ok(())
}

fn kind<'a>(block: &'a Object, at: &str, known: &[&str]) -> Result<Kind<'a>, Failure> {
    let word = string(block, at, "type")?;
    if !known.contains(&word) {
        let known: Vec<_> = known.iter().map(|word| format!("'{word}'")).collect();
        let why = format!(
            "Input tag '{word}' found using 'type' does not match any of the expected tags: {}",
            known.join(", ")
        );
        return Err(refused(at, &why));
    }
    let at = under(at, word);
    caching::check(block, &at)?;
    match word {
        "text" => {
            check_known(block, &at, &["type", "text", "citations", "cache_control"])?;
            Ok(Kind::Text(string(block, &at, "text")?))
        }
        "thinking" => thinking(block, &at),
        "redacted_thinking" => redacted(block, &at),
        "tool_use" => call(block, &at),
        "tool_result" => result(block, &at),
        _ => Ok(Kind::Shown),
    }
}

fn thinking<'a>(block: &Object, at: &str) -> Result<Kind<'a>, Failure> {
    check_known(block, at, &["type", "thinking", "signature"])?;
    let text = string(block, at, "thinking")?;
    if string(block, at, "signature")? != seal::signature(text) {
        let at = above(at);
        return Err(refused(at, "Invalid `signature` in `thinking` block"));
    }
    Ok(Kind::Thinking)
}

fn redacted<'a>(block: &Object, at: &str) -> Result<Kind<'a>, Failure> {
    check_known(block, at, &["type", "data"])?;
    if !seal::is_redacted(string(block, at, "data")?) {
        let at = above(at);
        return Err(refused(at, "Invalid `data` in `redacted_thinking` block"));
    }
    Ok(Kind::Thinking)
}

fn call<'a>(block: &'a Object, at: &str) -> Result<Kind<'a>, Failure> {
    check_known(block, at, &["type", "id", "name", "input", "cache_control"])?;
    let id = string(block, at, "id")?;
    check_name(id, &under(at, "id"), None)?;
    let name = string(block, at, "name")?;
    check_name(name, &under(at, "name"), Some(MOST_NAME_CHARS))?;
    object(required(block, at, "input")?, &under(at, "input"))?;
    Ok(Kind::Call { id })
}

fn result<'a>(block: &'a Object, at: &str) -> Result<Kind<'a>, Failure> {
    let known = [
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "cache_control",
    ];
    check_known(block, at, &known)?;
    let call = string(block, at, "tool_use_id")?;
    check_name(call, &under(at, "tool_use_id"), None)?;
    let content = optional(block, "content");
    let is_empty = content.is_none_or(|content| {
        let is_empty_list = content.as_array().is_some_and(Vec::is_empty);
        is_empty_list || content.as_str() == Some("")
    });
    if flag(block, at, "is_error")? && is_empty {
        let why = "content cannot be empty if `is_error` is true";
        return Err(refused(at, why));
    }
    let text = match content {
        Some(content) => joined(content, &under(at, "content"), &RESULT_KINDS)?,
        None => String::new(),
    };
    Ok(Kind::Result { call, text })
}

/// The path of the block whose kind is at the end of `at`.
fn above(at: &str) -> &str {
    at.rsplit_once('.').map_or(at, |(above, _)| above)
}
