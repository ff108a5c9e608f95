//! The body of a request, with marks for the provider's prompt cache.
//!
//! The provider caches prefixes: tools, then the system prompt, then the messages. It accepts four
//! marks. One follows the part that is the same for the whole session, two follow the last two user
//! messages: the later one writes the cache, the earlier one finds what the previous request wrote,
//! however much was added since.

use std::borrow::Cow;

use samovar_core::provider::LAYER_BREAK;
use samovar_core::{Prompt, ToolSpec};
use serde::Serialize;

use super::block::{Block, Cache};
use super::history::{MessageParam, Speaker, messages};
use crate::dialect::Parameters;
use crate::endpoint::Endpoint;
use crate::fingerprint::Fingerprint;
use crate::habits::{Habits, Sent};

/// How many messages of the user are marked, from the last one on.
const MARKED_MESSAGES: usize = 2;

/// A request that is written.
pub(super) struct Written {
    pub(super) body: Vec<u8>,
    /// Of all that it says and to whom, without what it asks for.
    pub(super) fingerprint: Fingerprint,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<MessageParam<'a>>,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: Parameters<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<Cache>,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self {
            name: &spec.name,
            description: &spec.description,
            input_schema: Parameters(Cow::Borrowed(&spec.parameters)),
            cache_control: None,
        }
    }
}

/// The request that asks `prompt`.
///
/// # Errors
/// Never for what the core can hold: it is all strings, numbers and trees of them.
pub(super) fn write(
    endpoint: &Endpoint,
    prompt: &Prompt,
    habits: &Habits,
) -> serde_json::Result<Written> {
    let spec = endpoint.spec;
    let wants = spec.overrides(&prompt.model);
    let mut tools: Vec<_> = habits.tools(prompt).map(Tool::of).collect();
    let mut system = system(prompt);
    // What one server has signed another one does not know.
    let mut prefix = Fingerprint::of(&endpoint.host());
    serde_json::to_writer(&mut prefix, &(&tools, &system))?;
    let (mut messages, fingerprint) = messages(spec, prompt, habits, prefix)?;
    if habits.takes(Sent::CacheControl) {
        match (system.last_mut(), tools.last_mut()) {
            (Some(layer), _) => layer.mark(),
            (None, Some(tool)) => tool.cache_control = Some(Cache::Ephemeral),
            (None, None) => {}
        }
        mark(&mut messages);
    }
    let body = serde_json::to_vec(&Body {
        model: &prompt.model,
        max_tokens: wants.limit(prompt.max_tokens),
        temperature: wants
            .temperature(prompt.temperature)
            .filter(|_| habits.takes(Sent::Temperature)),
        stream: true,
        tools,
        system,
        messages,
    })?;
    Ok(Written { body, fingerprint })
}

/// The layers of the system prompt, one block each; read one after the other they are its text.
fn system(prompt: &Prompt) -> Vec<Block<'_>> {
    let texts = prompt.layers.iter().map(|layer| layer.text.as_ref());
    let texts = texts.filter(|text| !text.trim().is_empty());
    let blocks = texts.enumerate().filter_map(|(at, text)| match at {
        0 => Block::text(Cow::Borrowed(text)),
        _ => Block::text(Cow::Owned(format!("{LAYER_BREAK}{text}"))),
    });
    blocks.collect()
}

fn mark(messages: &mut [MessageParam<'_>]) {
    let of_the_user = messages
        .iter_mut()
        .rev()
        .filter(|said| said.role == Speaker::User);
    for said in of_the_user.take(MARKED_MESSAGES) {
        if let Some(block) = said.content.last_mut() {
            block.mark();
        }
    }
}

#[cfg(test)]
mod tests;
