//! Answers: a value as bare JSON, or a refusal with its code (AS-2, AS-3).

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use samovar_core::{Code, Error};
use samovar_locale as locale;
use samovar_wire::agent::ErrorBody;
use serde::Serialize;

/// Seconds after which a busy or starting server may be asked again.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Bytes of a list in an answer, about: a client that takes nothing holds up no more (DU-8).
const MAX_ANSWER_BYTES: usize = 768 * 1024;

/// A result: `200` with the bare value.
pub(crate) fn json(value: &impl Serialize) -> Response<Body> {
    match serde_json::to_vec(value) {
        Ok(body) => with_json(StatusCode::OK, body),
        Err(error) => {
            tracing::error!(%error, "an answer is not JSON");
            let why = locale::server::answer_unwritable();
            refusal(&Error::new(Code::Internal, why))
        }
    }
}

/// What a refusal says, for a protocol that spells it in another way.
#[derive(Clone)]
pub(crate) struct Refused {
    pub(crate) why: String,
    pub(crate) code: Code,
}

/// A refusal, with the status of its code.
pub(crate) fn refusal(error: &Error) -> Response<Body> {
    let status = StatusCode::from_u16(error.code.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::to_vec(&ErrorBody::from(error)).unwrap_or_default();
    let mut response = with_json(status, body);
    let why = error.message.clone().into_owned();
    let code = error.code;
    response.extensions_mut().insert(Refused { why, code });
    match error.code {
        Code::Busy | Code::Unavailable | Code::ServerRestart => {
            response
                .headers_mut()
                .insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        Code::RateLimited => {
            let wait = error.details.as_ref();
            let wait = wait.and_then(|details| details["retryAfterMs"].as_u64());
            let seconds = HeaderValue::from(wait.unwrap_or_default().div_ceil(1000));
            response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        Code::Unauthorized => {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        _ => {}
    }
    response
}

fn with_json(status: StatusCode, body: Vec<u8>) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

/// As many as an answer may have, and one at least.
pub(crate) fn fitting<T: Serialize>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut room = MAX_ANSWER_BYTES;
    let mut fitting = Vec::new();
    for item in items {
        let bytes = serde_json::to_vec(&item).map_or(0, |json| json.len());
        if bytes > room && !fitting.is_empty() {
            break;
        }
        room = room.saturating_sub(bytes);
        fitting.push(item);
    }
    fitting
}
