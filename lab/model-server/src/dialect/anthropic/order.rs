//! The messages of a prompt in their order: who begins, who ends, calls with their results.

use std::collections::HashSet;

use serde_json::Value;

use super::{THOUGHT_CALL, prompt::refused, seal};
use crate::{
    dialect::schema::{items, text},
    script::Failure,
};

/// Refuses messages that do not follow from one another, and thinking that came back changed.
pub(super) fn check(messages: &[Value], thinking: &Value) -> Result<(), Failure> {
    check_contents(messages)?;
    let turns = turns(messages);
    if turns.first().is_some_and(|first| first.role == "assistant") {
        let why = "first message must use the \"user\" role";
        return Err(refused("messages", why));
    }
    check_end(&turns)?;
    check_calls(&turns)?;
    check_thinking(&turns, thinking)
}

/// Messages of one role that follow one another, which are one to the model.
struct Turn<'a> {
    /// Where its last message is.
    index: usize,
    role: &'a str,
    blocks: Vec<Block<'a>>,
}

struct Block<'a> {
    path: String,
    kind: &'a str,
    /// The id of the call that it is, or whose result it is.
    id: &'a str,
    text: &'a str,
}

fn turns(messages: &[Value]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        let blocks = blocks(index, &message["content"]);
        match turns.last_mut() {
            Some(turn) if turn.role == role => {
                turn.index = index;
                turn.blocks.extend(blocks);
            }
            _ => turns.push(Turn {
                index,
                role,
                blocks,
            }),
        }
    }
    turns
}

/// The blocks of a message's content: a string is one block of text.
fn blocks(message: usize, content: &Value) -> Vec<Block<'_>> {
    let path = |place| format!("messages.{message}.content.{place}");
    if let Value::String(text) = content {
        return vec![Block {
            path: path(0),
            kind: "text",
            id: "",
            text,
        }];
    }
    let blocks = items(content).iter().enumerate().map(|(place, block)| {
        let kind = text(&block["type"]);
        let id = if kind == "tool_use" {
            "id"
        } else {
            "tool_use_id"
        };
        Block {
            path: path(place),
            kind,
            id: text(&block[id]),
            text: text(&block["text"]),
        }
    });
    blocks.collect()
}

impl<'a> Turn<'a> {
    fn calls(&self) -> impl Iterator<Item = &Block<'a>> {
        self.blocks.iter().filter(|block| block.kind == "tool_use")
    }

    /// The calls that are answered before anything else is said.
    fn answered(&self) -> Vec<&'a str> {
        let blocks = self.blocks.iter();
        let results = blocks.take_while(|block| block.kind == "tool_result");
        results.map(|block| block.id).collect()
    }
}

fn check_contents(messages: &[Value]) -> Result<(), Failure> {
    for (index, message) in messages.iter().enumerate() {
        let content = &message["content"];
        let is_empty = content == "" || content.as_array().is_some_and(Vec::is_empty);
        let may_be_empty = index + 1 == messages.len() && message["role"] == "assistant";
        if is_empty && !may_be_empty {
            let why = "all messages must have non-empty content except for the optional final \
                       assistant message";
            return Err(refused(&format!("messages.{index}"), why));
        }
        for (place, block) in items(content).iter().enumerate() {
            let (thinking, data) = (text(&block["thinking"]), text(&block["data"]));
            let (is_ours, field) = match text(&block["type"]) {
                "thinking" => (block["signature"] == seal::signature(thinking), "signature"),
                "redacted_thinking" => (seal::is_redacted(data), "data"),
                _ => continue,
            };
            if !is_ours {
                let path = format!("messages.{index}.content.{place}");
                let why = format!("Invalid `{field}` in `{}` block", text(&block["type"]));
                return Err(refused(&path, &why));
            }
        }
    }
    Ok(())
}

fn check_end(turns: &[Turn<'_>]) -> Result<(), Failure> {
    let last = turns.last().filter(|turn| turn.role == "assistant");
    let last = last.and_then(|turn| turn.blocks.last());
    if last.is_some_and(|block| block.text.ends_with(char::is_whitespace)) {
        let why = "final assistant content cannot end with trailing whitespace";
        return Err(refused("messages", why));
    }
    Ok(())
}

fn check_calls(turns: &[Turn<'_>]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    let mut called: Vec<&str> = Vec::new();
    for (place, turn) in turns.iter().enumerate() {
        check_results(turn, &called)?;
        if let Some(twice) = turn.calls().find(|call| !seen.insert(call.id)) {
            return Err(refused(&twice.path, "`tool_use` ids must be unique"));
        }
        called = turn.calls().map(|call| call.id).collect();
        let answered = turns.get(place + 1).map_or(Vec::new(), Turn::answered);
        let mut open = called.clone();
        open.retain(|id| !answered.contains(id));
        if !open.is_empty() {
            let why = format!(
                "`tool_use` ids were found without `tool_result` blocks immediately after: {}. \
                 Each `tool_use` block must have a corresponding `tool_result` block in the next \
                 message.",
                open.join(", ")
            );
            return Err(refused(&format!("messages.{}", turn.index), &why));
        }
    }
    Ok(())
}

fn check_results(turn: &Turn<'_>, called: &[&str]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    let blocks = turn.blocks.iter();
    for Block { path, id, .. } in blocks.filter(|block| block.kind == "tool_result") {
        if !called.contains(id) {
            let why = format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            );
            return Err(refused(path, &why));
        }
        if !seen.insert(id) {
            let why = format!(
                "each tool_use must have a single result. Found multiple `tool_result` blocks \
                 with id: {id}"
            );
            return Err(refused(path, &why));
        }
    }
    Ok(())
}

/// With thinking switched on, the last message of the model must still begin with the thinking
/// that it had. The ids of its calls tell whether it had any; a message of words alone that the
/// model is to continue had none, and is refused too.
fn check_thinking(turns: &[Turn<'_>], thinking: &Value) -> Result<(), Failure> {
    let last = turns.iter().rev().find(|turn| turn.role == "assistant");
    let last = last.filter(|_| thinking["type"] == "enabled");
    let Some((turn, first)) = last.and_then(|turn| Some((turn, turn.blocks.first()?))) else {
        return Ok(());
    };
    let had_thinking = turn.calls().any(|call| call.id.starts_with(THOUGHT_CALL));
    let is_continued = turns.last().is_some_and(|last| last.index == turn.index);
    let is_thinking = first.kind.ends_with("thinking");
    if is_thinking || !(had_thinking || is_continued) {
        return Ok(());
    }
    let why = format!(
        "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a \
         final `assistant` message must start with a thinking block (preceeding the lastmost set \
         of `tool_use` and `tool_result` blocks).",
        first.kind
    );
    Err(refused(&format!("{}.type", first.path), &why))
}
