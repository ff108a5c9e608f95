//! The dialect Chat Completions, which most providers speak (MD-3, MD-20).
//!
//! A prompt becomes a request here and in `history`; the events that come back are read from JSON in
//! `chunk`, and become events of ours in `reply` and `calls`.

mod calls;
mod chunk;
mod details;
mod history;
mod reply;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use samovar_core::{Prompt, ToolSpec};
use serde::Serialize;

use self::history::{MessageParam, messages};
use self::reply::Reply;
use crate::dialect::Reader;
use crate::dialect::{Dialect, Parameters};
use crate::endpoint::Endpoint;
use crate::exchange::ModelCall;
use crate::http::Headers;
use crate::specs::{Param, ProviderSpec, Quirk};

const HEADERS: Headers = &[("accept", "text/event-stream, application/json")];

/// The dialect Chat Completions.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "chat_completions",
    ask,
    reader,
    key_header: None,
    models: |endpoint| endpoint.url(&["models"]),
};

fn ask(endpoint: Arc<Endpoint>, prompt: Prompt) -> ModelCall {
    ModelCall {
        body: body(endpoint.spec, &prompt),
        model: prompt.model,
        url: endpoint.url(&["chat", "completions"]),
        headers: HEADERS,
        reader: reader(endpoint.spec),
        endpoint,
    }
}

/// What an answer in this dialect is read with.
pub(crate) fn reader(spec: &'static ProviderSpec) -> Box<dyn Reader> {
    Box::new(Reply::new(spec))
}

#[derive(Serialize)]
struct Request<'a> {
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
                parameters: Parameters(&spec.parameters),
            },
        }
    }
}

/// The body of the request that asks `prompt`.
///
/// # Errors
/// Never for what the core can hold: it is all strings, numbers and trees of them.
fn body(spec: &ProviderSpec, prompt: &Prompt) -> serde_json::Result<Vec<u8>> {
    let wants = spec.overrides(&prompt.model);
    let limit = Some(wants.limit(prompt.max_tokens));
    let (max_tokens, max_completion_tokens) = if wants.drops.contains(&Param::MaxTokens) {
        (None, limit)
    } else {
        (limit, None)
    };
    let has_options = !spec.has(Quirk::NoStreamOptions);
    serde_json::to_vec(&Request {
        model: &prompt.model,
        messages: messages(spec, prompt),
        tools: prompt.tools.iter().map(|tool| Tool::of(tool)).collect(),
        stream: true,
        stream_options: has_options.then_some(StreamOptions {
            include_usage: true,
        }),
        temperature: wants.temperature(prompt.temperature),
        max_tokens,
        max_completion_tokens,
    })
}
