//! `OpenAI` Chat Completions, and what many servers have added to it (`reasoning_content`).

mod completion;
mod fields;
mod messages;
mod prompt;
mod stream;
mod tools;

use http::{HeaderMap, HeaderValue, header::AUTHORIZATION};
use serde_json::{Value, json};

pub(super) use self::{completion::whole, prompt::read, stream::events};
use super::Naming;
use crate::{
    delta::{self, CallIds},
    model::Model,
    script::{Failure, Finish, Said, TokenCounts, Usage},
};

/// Every reply was made at this second since 1970, so that its bytes depend on the script alone.
const CREATED: u64 = 1_750_000_000;
const SERVICE_TIER: &str = "default";
const SYSTEM_FINGERPRINT: &str = "fp_scripted";

/// The models listed when the server takes any name.
const ANY_MODEL: &str = "scripted";

pub(super) fn check_key(headers: &HeaderMap, key: &str) -> Result<(), Failure> {
    let header = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    match header.and_then(|header| header.strip_prefix(b"Bearer ")) {
        None => Err(Failure::new(
            401,
            "You didn't provide an API key. Send it in an Authorization header (Bearer KEY).",
        )),
        Some(given) if given != key.as_bytes() => Err(Failure::refused_key()),
        Some(_) => Ok(()),
    }
}

pub(super) fn models(models: &[Model]) -> Value {
    let any = [Model::new(ANY_MODEL)];
    let models = if models.is_empty() { &any } else { models };
    let models = models.iter().map(
        |model| json!({"id": model.name, "object": "model", "created": CREATED, "owned_by": "samovar"}),
    );
    json!({"object": "list", "data": models.collect::<Vec<_>>()})
}

pub(super) fn failure(failure: &Failure) -> Value {
    const SERVER_ERRORS: u16 = 500;
    let kind = failure.kind.as_deref();
    let kind = kind.unwrap_or(match failure.code.as_deref() {
        Some("rate_limit_exceeded") => "requests",
        Some("insufficient_quota") => "insufficient_quota",
        _ if failure.status >= SERVER_ERRORS => "server_error",
        _ => "invalid_request_error",
    });
    json!({"error": {
        "message": failure.message,
        "type": kind,
        "param": failure.param,
        "code": failure.code,
    }})
}

fn id(number: u64) -> String {
    format!("chatcmpl-{number}")
}

fn call_ids(number: u64) -> CallIds {
    CallIds {
        prefix: "call",
        reply: number,
    }
}

fn finish_reason(said: &Said) -> Option<String> {
    let word = match delta::finish(said) {
        Finish::Absent => return None,
        Finish::Natural | Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
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

fn tokens(counts: TokenCounts) -> Value {
    json!({
        "prompt_tokens": counts.input,
        "completion_tokens": counts.output,
        "total_tokens": counts.input.saturating_add(counts.output),
        "prompt_tokens_details": {"cached_tokens": counts.cached, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": counts.reasoning, "audio_tokens": 0},
    })
}
