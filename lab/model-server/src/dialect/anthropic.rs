//! Anthropic Messages, version 2023-06-01.
//!
//! It follows the public reference of the API; the sentences of its refusals are those that
//! clients match on. A block of thinking is signed with a digest of its text, so that one that
//! comes back changed is noticed without remembering it.

mod blocks;
mod caching;
mod fields;
mod message;
mod messages;
mod order;
mod prompt;
mod seal;
mod stream;
mod thinking;
mod tools;

use http::{HeaderMap, HeaderValue};
use serde_json::{Map, Value, json};

pub(super) use self::{message::whole, prompt::read, stream::events};
use super::{Naming, request_id};
use crate::{
    delta::{self, CallIds},
    model::Model,
    script::{Failure, Finish, Part, Said, TokenCounts, Usage},
};

const KEY: &str = "x-api-key";
const VERSION: &str = "anthropic-version";
const BETA: &str = "anthropic-beta";

/// Every model was made then, so that the list depends on the script alone.
const CREATED_AT: &str = "2025-06-15T00:00:00Z";

/// The models listed when the server takes any name.
const ANY_MODEL: &str = "scripted";

/// Whether a request's headers are those of this dialect.
pub(super) fn is_meant(headers: &HeaderMap) -> bool {
    headers.contains_key(VERSION) || headers.contains_key(KEY)
}

pub(super) fn check_key(headers: &HeaderMap, key: &str) -> Result<(), Failure> {
    match headers.get(KEY).map(HeaderValue::as_bytes) {
        None => Err(Failure::new(401, "x-api-key header is required")),
        Some(given) if given != key.as_bytes() => Err(Failure::new(401, "invalid x-api-key")),
        Some(_) => Ok(()),
    }
}

pub(super) fn models(models: &[Model]) -> Value {
    let any = [Model::new(ANY_MODEL)];
    let models = if models.is_empty() { &any } else { models };
    let list: Vec<_> = models
        .iter()
        .map(|model| {
            json!({
                "type": "model",
                "id": model.name,
                "display_name": model.name,
                "created_at": CREATED_AT,
            })
        })
        .collect();
    json!({
        "data": list,
        "has_more": false,
        "first_id": models.first().map(|model| &model.name),
        "last_id": models.last().map(|model| &model.name),
    })
}

/// An error's body; inside a stream it is the data of an `error` event.
pub(super) fn failure(failure: &Failure, number: u64) -> Value {
    let kind = failure.kind.as_deref();
    json!({
        "type": "error",
        "error": {
            "type": kind.unwrap_or_else(|| kind_of(failure.status)),
            "message": failure.message,
        },
        "request_id": request_id(number),
    })
}

fn kind_of(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        503 | 529 => "overloaded_error",
        504 => "timeout_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// A message without its content, its reason for stopping and its usage.
fn frame(naming: &Naming) -> Value {
    json!({
        "id": format!("msg_{}", naming.number),
        "type": "message",
        "role": "assistant",
        "model": naming.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
    })
}

/// The ids of a reply's calls tell whether it holds thinking: a client that has it switched on
/// must send both back.
fn call_ids(said: &Said, naming: &Naming) -> CallIds {
    let is_thinking = |part: &Part| matches!(part, Part::Reasoning(_) | Part::RedactedReasoning(_));
    let has_thinking = said.parts.iter().any(is_thinking);
    CallIds {
        prefix: if has_thinking { THOUGHT_CALL } else { CALL },
        reply: naming.number,
    }
}

const CALL: &str = "toolu";
const THOUGHT_CALL: &str = "toolu_thought";

fn stop_reason(said: &Said) -> Option<String> {
    let word = match delta::finish(said) {
        Finish::Absent => return None,
        Finish::Natural | Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
        Finish::Other(word) => return Some(word),
    };
    Some(word.to_owned())
}

fn usage(said: &Said, naming: &Naming) -> Option<TokenCounts> {
    match said.usage {
        Usage::Absent => None,
        Usage::Given(counts) => Some(counts),
        Usage::Counted => Some(delta::counted(said, naming.prompt_bytes, naming.cache)),
    }
}

/// Usage as this API reports it: what a cache read or kept is no part of `input_tokens`.
fn tokens(counts: TokenCounts) -> Map<String, Value> {
    let cached = counts.cached.saturating_add(counts.cache_written);
    let mut tokens = Map::new();
    let mut add = |name: &str, count: u64| tokens.insert(name.to_owned(), count.into());
    add("input_tokens", counts.input.saturating_sub(cached));
    add("cache_creation_input_tokens", counts.cache_written);
    add("cache_read_input_tokens", counts.cached);
    add("output_tokens", counts.output);
    tokens
}
