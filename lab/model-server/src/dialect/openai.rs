//! `OpenAI` Chat Completions, and what many servers have added to it (`reasoning_content`).

mod prompt;
mod reply;

use http::{HeaderMap, HeaderValue, Method, header::AUTHORIZATION};
use serde_json::{Value, json};

use super::{Dialect, Route};
use crate::{model::Model, script::Failure};

pub(super) static OPENAI: Dialect = Dialect {
    routes: &[
        (Method::POST, "/v1/chat/completions", Route::Prompt),
        (Method::POST, "/chat/completions", Route::Prompt),
        (Method::GET, "/v1/models", Route::Models),
        (Method::GET, "/models", Route::Models),
    ],
    request_id_header: "x-request-id",
    check_key,
    read: prompt::read,
    too_long: |max_bytes| {
        let message = format!("Request body too large: the limit is {max_bytes} bytes.");
        Failure::new(413, message)
    },
    unknown_model: Failure::unknown_model,
    events: reply::events,
    whole: reply::whole,
    failure: |failure, _| self::failure(failure),
    models,
};

/// Every reply was made at this second since 1970, so that its bytes depend on the script alone.
const CREATED: u64 = 1_750_000_000;

fn check_key(headers: &HeaderMap, key: &str) -> Result<(), Failure> {
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

fn models(models: &[Model]) -> Value {
    let models = models.iter().map(
        |model| json!({"id": model.name, "object": "model", "created": CREATED, "owned_by": "samovar"}),
    );
    json!({"object": "list", "data": models.collect::<Vec<_>>()})
}

fn failure(failure: &Failure) -> Value {
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
