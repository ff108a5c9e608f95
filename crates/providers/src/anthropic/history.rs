//! The conversation as the dialect writes it: user and assistant in turns, the user first, and the
//! results of calls at the beginning of the user's message that follows them.

use std::borrow::Cow;

use samovar_core::{CallId, Message, Part, Prompt, Role, ToolCall};
use serde::Serialize;
use serde_json::Value;

use super::block::{Block, Input};
use super::thought;
use crate::fingerprint::Fingerprint;
use crate::habits::Habits;
use crate::images::{Piece, pieces};
use crate::results::{NO_RESULT, Outcomes};
use crate::specs::ProviderSpec;

/// The longest name of a tool, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// What the user is made to say in front of an assistant's message that nobody asked for.
const BEFORE: &str = "(What was said before this is left out.)";

/// What stands for the words of a failure that has none.
const WORDLESS: &str = "the call failed without a word";

/// A message.
#[derive(Serialize)]
pub(super) struct MessageParam<'a> {
    pub(super) role: Speaker,
    pub(super) content: Vec<Block<'a>>,
}

/// Who speaks, as the dialect knows it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Speaker {
    User,
    Assistant,
}

/// The messages of a request, and the fingerprint of all that the request says, where `prefix` is
/// that of what stands in front of them.
///
/// # Errors
/// Never for what the core can hold.
pub(super) fn messages<'a>(
    spec: &ProviderSpec,
    prompt: &'a Prompt,
    habits: &Habits,
    prefix: Fingerprint,
) -> serde_json::Result<(Vec<MessageParam<'a>>, Fingerprint)> {
    let mut history = History {
        spec,
        prompt,
        habits,
        outcomes: Outcomes::of(&prompt.messages),
        said: Vec::with_capacity(prompt.messages.len()),
        prefix,
    };
    for message in &prompt.messages {
        history.add(message)?;
    }
    history.trim_end();
    Ok((history.said, history.prefix))
}

struct History<'a, 's> {
    spec: &'s ProviderSpec,
    prompt: &'a Prompt,
    habits: &'s Habits,
    outcomes: Outcomes<'a>,
    said: Vec<MessageParam<'a>>,
    /// Of all that was said so far.
    prefix: Fingerprint,
}

impl<'a> History<'a, '_> {
    fn add(&mut self, message: &'a Message) -> serde_json::Result<()> {
        match message.role {
            // The system speaks in its own field alone; later words of ours come as the user's.
            Role::User | Role::System => self.add_user(message),
            Role::Assistant => self.add_assistant(message),
            // Results are written behind their calls, and a result without a call nowhere.
            Role::Tool => Ok(()),
        }
    }

    fn add_user(&mut self, message: &'a Message) -> serde_json::Result<()> {
        for piece in pieces(message, self.prompt, self.habits) {
            let block = match piece {
                Piece::Text(text) => Block::text(text),
                Piece::Image { media_type, data } => Some(Block::image(media_type, data)),
            };
            if let Some(block) = block {
                self.say(Speaker::User, block)?;
            }
        }
        Ok(())
    }

    fn add_assistant(&mut self, message: &'a Message) -> serde_json::Result<()> {
        let blocks = self.blocks(message);
        if blocks.is_empty() {
            return Ok(());
        }
        if self.said.is_empty()
            && let Some(before) = Block::text(BEFORE)
        {
            self.say(Speaker::User, before)?;
        }
        for block in blocks {
            self.say(Speaker::Assistant, block)?;
        }
        for call in message.calls() {
            let result = self.result(call);
            self.say(Speaker::User, result)?;
        }
        Ok(())
    }

    /// The assistant's message, as far as it can go back.
    fn blocks(&self, message: &'a Message) -> Vec<Block<'a>> {
        let prefix = self.prefix.hex();
        let mut blocks = Vec::with_capacity(message.parts.len());
        let mut is_lost = false;
        for part in &message.parts {
            match part {
                Part::Text { text } => blocks.extend(Block::text(text.as_str())),
                Part::Reasoning {
                    text,
                    provider_state,
                } => {
                    let state = provider_state.as_ref();
                    let thought = thought::block(self.spec, text, state, &prefix);
                    // Behind a thought that is missing no other is taken.
                    is_lost |= thought.is_none();
                    blocks.extend(thought.filter(|_| !is_lost));
                }
                Part::Call(call) => blocks.push(Block::ToolUse {
                    id: id(&call.id),
                    name: name(&call.name),
                    input: input(&call.args),
                }),
                Part::Outcome { .. } | Part::Data { .. } | Part::Image { .. } => {}
            }
        }
        // A message that ends in a thought is refused, and an empty one too.
        while blocks.last().is_some_and(Block::is_thought) {
            blocks.pop();
        }
        blocks
    }

    fn result(&self, call: &'a ToolCall) -> Block<'a> {
        let (content, is_error) = match self.outcomes.get(call) {
            Some(outcome) => (outcome.text.as_str(), outcome.is_error()),
            None => (NO_RESULT, true),
        };
        let content = match (content.trim(), is_error) {
            ("", true) => WORDLESS,
            ("", false) => "",
            _ => content,
        };
        Block::ToolResult {
            tool_use_id: id(&call.id),
            content,
            is_error,
            cache_control: None,
        }
    }

    /// Adds a block, to the last message if the same one speaks.
    fn say(&mut self, role: Speaker, block: Block<'a>) -> serde_json::Result<()> {
        serde_json::to_writer(&mut self.prefix, &(role, &block))?;
        match self.said.last_mut() {
            Some(last) if last.role == role => last.content.push(block),
            Some(_) | None => self.said.push(MessageParam {
                role,
                content: vec![block],
            }),
        }
        Ok(())
    }

    /// An assistant's message that is to be continued must not end in white space.
    fn trim_end(&mut self) {
        if let Some(MessageParam {
            role: Speaker::Assistant,
            content,
        }) = self.said.last_mut()
            && let Some(Block::Text { text, .. }) = content.last_mut()
        {
            let length = text.trim_end().len();
            match text {
                Cow::Borrowed(text) => *text = &text[..length],
                Cow::Owned(text) => text.truncate(length),
            }
        }
    }
}

fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.bytes().all(is_plain)
}

/// The id of a call. The provider takes letters, digits, `_` and `-`, which ours are made of.
fn id(id: &CallId) -> Cow<'_, str> {
    match id.as_str() {
        plain if is_plain(plain) => Cow::Borrowed(plain),
        other => Cow::Owned(format!("call_{}", Fingerprint::of(other).hex())),
    }
}

/// The name of a tool, as a model spelled it that may be another provider's.
fn name(name: &str) -> Cow<'_, str> {
    if is_plain(name) && name.len() <= MAX_NAME_BYTES {
        return Cow::Borrowed(name);
    }
    let plain = |letter: char| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME_BYTES).collect();
    if name.is_empty() {
        Cow::Borrowed("_")
    } else {
        Cow::Owned(name)
    }
}

fn input(args: &Value) -> Input<'_> {
    match args {
        Value::Object(_) => Input::Args(args),
        Value::String(raw) => Input::Raw {
            text: Cow::Borrowed(raw),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Input::Raw {
            text: Cow::Owned(args.to_string()),
        },
    }
}
