//! The messages of a prompt, each on its own, and what they say.

use serde_json::Value;

use super::{
    blocks::{self, Block, Kind},
    fields::{check_known, object, refused, required, string, under},
};
use crate::{asked::Asked, script::Failure};

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    User,
    Assistant,
}

pub(super) struct Message<'a> {
    pub(super) index: usize,
    pub(super) role: Role,
    pub(super) blocks: Vec<Block<'a>>,
    /// Whether there is no block, or the content is the empty string.
    pub(super) is_empty: bool,
}

/// Reads the messages in order, or refuses one of them.
pub(super) fn read(messages: &[Value]) -> Result<Vec<Message<'_>>, Failure> {
    let messages = messages.iter().enumerate();
    messages
        .map(|(index, value)| message(index, value))
        .collect()
}

fn message(index: usize, value: &Value) -> Result<Message<'_>, Failure> {
    let at = format!("messages.{index}");
    let message = object(value, &at)?;
    check_known(message, &at, &["role", "content"])?;
    let role = match string(message, &at, "role")? {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => {
            let why = "Unexpected role \"system\". The Messages API accepts a top-level `system` \
                       parameter, not \"system\" as an input message role.";
            return Err(refused("messages", why));
        }
        _ => {
            let why = "Input should be 'user' or 'assistant'";
            return Err(refused(&under(&at, "role"), why));
        }
    };
    let content = required(message, &at, "content")?;
    let blocks = blocks::read(content, &under(&at, "content"))?;
    for block in &blocks {
        check_place(block, role, &at)?;
    }
    Ok(Message {
        index,
        role,
        is_empty: blocks.is_empty() || content.as_str() == Some(""),
        blocks,
    })
}

/// Refuses blocks in the mouth of the wrong one.
fn check_place(block: &Block<'_>, role: Role, at: &str) -> Result<(), Failure> {
    let (word, right) = match (&block.kind, role) {
        (Kind::Call { .. }, Role::User) => ("tool_use", "assistant"),
        (Kind::Thinking, Role::User) => ("thinking", "assistant"),
        (Kind::Result { .. }, Role::Assistant) => ("tool_result", "user"),
        (Kind::Shown, Role::Assistant) => ("image", "user"),
        (Kind::Text(_) | Kind::Shown | Kind::Result { .. }, Role::User)
        | (Kind::Text(_) | Kind::Thinking | Kind::Call { .. }, Role::Assistant) => return Ok(()),
    };
    let why = format!("`{word}` blocks can only be in `{right}` messages");
    Err(refused(at, &why))
}

/// Notes what the messages say. Results are not what a user says, though they are in a user's
/// message.
pub(super) fn note(messages: &[Message<'_>], asked: &mut Asked) {
    for message in messages.iter().filter(|one| one.role == Role::User) {
        let mut has_spoken = false;
        for block in &message.blocks {
            if let Kind::Result { text, .. } = &block.kind {
                asked.last_tool_result.clone_from(text);
                asked.tool_results += 1;
                asked.tool_results_since_user += 1;
                continue;
            }
            if !has_spoken {
                has_spoken = true;
                asked.last_user.clear();
                asked.tool_results_since_user = 0;
            }
            if let Kind::Text(text) = block.kind {
                asked.last_user.push_str(text);
            }
        }
    }
}
