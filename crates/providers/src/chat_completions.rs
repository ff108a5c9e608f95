//! The dialect Chat Completions, which most providers speak (MD-3, MD-20).
//!
//! A prompt becomes a request here and in `history`; the events that come back are read from JSON in
//! `chunk`, and become events of ours in `reply` and `calls`.

mod calls;
mod chunk;
mod details;
mod history;
mod messages;
mod plain;
mod reply;
#[cfg(test)]
mod tests;
mod thoughts;

use samovar_core::{Prompt, ToolSpec};
use serde::Serialize;

use self::history::{MessageParam, messages};
use self::reply::Reply;
use self::thoughts::Thoughts;
use crate::dialect::{Dialect, Parameters, Reader, Request};
use crate::endpoint::Endpoint;
use crate::habits::{Habits, Sent};
use crate::schema;
use crate::specs::{Param, ProviderSpec, Quirk};

/// The dialect Chat Completions.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "chat_completions",
    url: |endpoint| endpoint.url(&["chat", "completions"]),
    headers: &[("accept", "text/event-stream, application/json")],
    write,
    reader: |spec| reader(spec, Thoughts::default()),
    key_header: None,
    models: |endpoint| endpoint.url(&["models"]),
};

/// What an answer in this dialect is read with.
pub(crate) fn reader(spec: &'static ProviderSpec, thoughts: Thoughts) -> Box<dyn Reader> {
    Box::new(Reply::new(spec, thoughts))
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<MessageParam<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    /// Asks llama.cpp to tell how far it is with the prompt.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    return_progress: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Parameters<'a>,
}

impl<'a> Tool<'a> {
    fn of(spec: &'a ToolSpec) -> Self {
        Self {
            r#type: "function",
            function: Function {
                name: &spec.name,
                description: &spec.description,
                parameters: Parameters(schema::plain(spec)),
            },
        }
    }
}

/// The request that asks `prompt`.
///
/// # Errors
/// Never for what the core can hold: it is all strings, numbers and trees of them.
fn write(endpoint: &Endpoint, prompt: &Prompt, habits: &Habits) -> serde_json::Result<Request> {
    let thoughts = Thoughts::of(endpoint, &prompt.model);
    Ok(Request {
        body: body(endpoint, prompt, habits, &thoughts)?,
        reader: reader(endpoint.spec, thoughts),
    })
}

fn body(
    endpoint: &Endpoint,
    prompt: &Prompt,
    habits: &Habits,
    thoughts: &Thoughts,
) -> serde_json::Result<Vec<u8>> {
    let spec = endpoint.spec;
    let wants = spec.overrides(&prompt.model);
    let limit = Some(wants.limit(prompt.max_tokens));
    let is_old = habits.takes(Sent::MaxTokens) && !wants.drops.contains(&Param::MaxTokens);
    let is_new = !is_old && habits.takes(Sent::MaxCompletionTokens);
    // One of the two is left, as long as not both were refused.
    let is_old = is_old || (!is_new && habits.takes(Sent::MaxTokens));
    let has_options = !spec.has(Quirk::NoStreamOptions) && habits.takes(Sent::StreamOptions);
    let temperature = wants.temperature(prompt.temperature);
    serde_json::to_vec(&Body {
        model: &prompt.model,
        messages: messages(endpoint, prompt, habits, thoughts),
        tools: habits.tools(prompt).map(Tool::of).collect(),
        stream: true,
        stream_options: has_options.then_some(StreamOptions {
            include_usage: true,
        }),
        temperature: temperature.filter(|_| habits.takes(Sent::Temperature)),
        max_tokens: limit.filter(|_| is_old),
        max_completion_tokens: limit.filter(|_| is_new),
        return_progress: habits.tells_progress(),
    })
}
