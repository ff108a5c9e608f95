//! Anthropic Messages, version 2023-06-01.
//!
//! It follows the public reference of the API. A block of thinking is signed with a digest of
//! its text, so that a changed one is noticed without remembering it.

mod marks;
mod order;
mod prompt;
mod reply;
mod seal;

use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use super::{Dialect, Route, request_id};
use crate::{model::Model, script::Failure};

pub(super) static ANTHROPIC: Dialect = Dialect {
    routes: &[
        (Method::POST, MESSAGES, Route::Prompt),
        (Method::GET, "/v1/models", Route::Models),
    ],
    request_id_header: "request-id",
    check_key,
    read: prompt::read,
    too_long: |_| Failure::new(413, "Request exceeds the maximum size"),
    unknown_model: |model| Failure::new(404, format!("model: {model}")),
    events: reply::events,
    whole: reply::whole,
    failure,
    models,
};

pub(super) const MESSAGES: &str = "/v1/messages";

const KEY: &str = "x-api-key";
const VERSION: &str = "anthropic-version";
const BETA: &str = "anthropic-beta";

/// Every model was made then, so that the list depends on the script alone.
const CREATED_AT: &str = "2025-06-15T00:00:00Z";

/// The start of a call's id in a reply that holds thinking: a client that has thinking switched
/// on must send both back.
const THOUGHT_CALL: &str = "toolu_thought";

/// Whether a request's headers are those of this dialect.
pub(super) fn is_meant(headers: &HeaderMap) -> bool {
    headers.contains_key(VERSION) || headers.contains_key(KEY)
}

fn check_key(headers: &HeaderMap, key: &str) -> Result<(), Failure> {
    match headers.get(KEY).map(HeaderValue::as_bytes) {
        None => Err(Failure::new(401, "x-api-key header is required")),
        Some(given) if given != key.as_bytes() => Err(Failure::new(401, "invalid x-api-key")),
        Some(_) => Ok(()),
    }
}

fn models(models: &[Model]) -> Value {
    let list = models.iter().map(|model| {
        json!({
            "type": "model",
            "id": model.name,
            "display_name": model.name,
            "created_at": CREATED_AT,
        })
    });
    json!({
        "data": list.collect::<Vec<_>>(),
        "has_more": false,
        "first_id": models.first().map(|model| &model.name),
        "last_id": models.last().map(|model| &model.name),
    })
}

/// An error's body; inside a stream it is the data of an `error` event.
fn failure(failure: &Failure, number: u64) -> Value {
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
