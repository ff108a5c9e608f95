//! The messages of a prompt in their order: who begins, who ends, calls with their results.

use std::collections::HashSet;

use super::{
    THOUGHT_CALL,
    blocks::{Block, Kind, check_text},
    fields::refused,
    messages::{Message, Role},
    thinking::Thinking,
};
use crate::script::Failure;

/// Refuses messages that do not follow from one another.
pub(super) fn check(messages: &[Message<'_>], thinking: Thinking) -> Result<(), Failure> {
    check_contents(messages)?;
    let turns = turns(messages);
    match turns.first() {
        None => return Err(refused("messages", "at least one message is required")),
        Some(first) if first.role == Role::Assistant => {
            let why = "first message must use the \"user\" role";
            return Err(refused("messages", why));
        }
        Some(_) => {}
    }
    check_end(&turns)?;
    check_calls(&turns)?;
    check_thinking(&turns, thinking)
}

/// Messages of one role that follow one another, which are one to the model.
struct Turn<'a> {
    /// Where its last message is.
    index: usize,
    role: Role,
    blocks: Vec<&'a Block<'a>>,
}

fn turns<'a>(messages: &'a [Message<'a>]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for message in messages {
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => {
                turn.index = message.index;
                turn.blocks.extend(&message.blocks);
            }
            _ => turns.push(Turn {
                index: message.index,
                role: message.role,
                blocks: message.blocks.iter().collect(),
            }),
        }
    }
    turns
}

impl<'a> Turn<'a> {
    fn calls(&self) -> impl Iterator<Item = (&'a str, &'a Block<'a>)> {
        let blocks = self.blocks.iter();
        blocks.filter_map(|block| Some((block.call()?, *block)))
    }

    fn results(&self) -> impl Iterator<Item = (&'a str, &'a Block<'a>)> {
        let blocks = self.blocks.iter();
        blocks.filter_map(|block| Some((block.result()?, *block)))
    }

    /// The calls that are answered before anything else is said.
    fn first_results(&self) -> impl Iterator<Item = &'a str> {
        self.blocks.iter().map_while(|block| block.result())
    }
}

fn check_contents(messages: &[Message<'_>]) -> Result<(), Failure> {
    let last = messages.len().saturating_sub(1);
    for message in messages {
        if message.is_empty && !(message.index == last && message.role == Role::Assistant) {
            let at = format!("messages.{}", message.index);
            let why = "all messages must have non-empty content except for the optional final \
                       assistant message";
            return Err(refused(&at, why));
        }
        for block in &message.blocks {
            if let Some(text) = block.text().filter(|_| !message.is_empty) {
                check_text(text, &block.at)?;
            }
        }
    }
    Ok(())
}

fn check_end(turns: &[Turn<'_>]) -> Result<(), Failure> {
    let last = turns.last().filter(|turn| turn.role == Role::Assistant);
    let text = last.and_then(|turn| turn.blocks.last()?.text());
    if text.is_some_and(|text| text.ends_with(char::is_whitespace)) {
        let why = "final assistant content cannot end with trailing whitespace";
        return Err(refused("messages", why));
    }
    Ok(())
}

fn check_calls(turns: &[Turn<'_>]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for (place, turn) in turns.iter().enumerate() {
        let called: Vec<&str> = turn.calls().map(|(id, _)| id).collect();
        for (id, block) in turn.calls() {
            if !seen.insert(id) {
                return Err(refused(&block.at, "`tool_use` ids must be unique"));
            }
        }
        let next = turns.get(place + 1);
        let answered: Vec<&str> = next.into_iter().flat_map(Turn::first_results).collect();
        let open: Vec<&str> = called
            .iter()
            .filter(|id| !answered.contains(id))
            .copied()
            .collect();
        if !open.is_empty() {
            let why = format!(
                "`tool_use` ids were found without `tool_result` blocks immediately after: {}. \
                 Each `tool_use` block must have a corresponding `tool_result` block in the next \
                 message.",
                open.join(", ")
            );
            return Err(refused(&format!("messages.{}", turn.index), &why));
        }
        let before = place.checked_sub(1).and_then(|before| turns.get(before));
        check_results(turn, before)?;
    }
    Ok(())
}

fn check_results(turn: &Turn<'_>, before: Option<&Turn<'_>>) -> Result<(), Failure> {
    let called: Vec<&str> = before
        .into_iter()
        .flat_map(Turn::calls)
        .map(|(id, _)| id)
        .collect();
    let mut seen = HashSet::new();
    for (id, block) in turn.results() {
        if !called.contains(&id) {
            let why = format!(
                "unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
                 `tool_result` block must have a corresponding `tool_use` block in the previous \
                 message."
            );
            return Err(refused(&block.at, &why));
        }
        if !seen.insert(id) {
            let why = format!(
                "each tool_use must have a single result. Found multiple `tool_result` blocks \
                 with id: {id}"
            );
            return Err(refused(&block.at, &why));
        }
    }
    Ok(())
}

/// With thinking switched on, the last message of the model must still begin with the thinking
/// that it had. Whether it had any is read off the ids of its calls; a message of words alone
/// that the model is to go on with had none, which is as bad.
fn check_thinking(turns: &[Turn<'_>], thinking: Thinking) -> Result<(), Failure> {
    let last = turns.iter().rev().find(|turn| turn.role == Role::Assistant);
    let Some(turn) = last.filter(|_| thinking == Thinking::Enabled) else {
        return Ok(());
    };
    let had_thinking = turn.calls().any(|(id, _)| id.starts_with(THOUGHT_CALL));
    let is_to_go_on = turns.last().is_some_and(|last| last.index == turn.index);
    let first = turn.blocks.first();
    let Some(first) = first.filter(|_| had_thinking || is_to_go_on) else {
        return Ok(());
    };
    let found = match first.kind {
        Kind::Text(_) => "text",
        Kind::Call { .. } => "tool_use",
        Kind::Thinking | Kind::Shown | Kind::Result { .. } => return Ok(()),
    };
    let why = format!(
        "Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is \
         enabled, a final `assistant` message must start with a thinking block (preceeding the \
         lastmost set of `tool_use` and `tool_result` blocks)."
    );
    Err(refused(&format!("{}.type", first.at), &why))
}
