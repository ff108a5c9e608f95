//! A whole call: the request on the wire, the answer's events, and everything that goes wrong
//! between the two.

use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::{ProviderEvent, Usage};
use samovar_providers::Registry;
use serde_json::json;

use super::MODEL;
use crate::asking::{KEY, ask, config_of, failure, prompt, registry_of};
use crate::server::{Answer, Server, begun, response, stream};
use samovar_doubles::talk::user;

pub(crate) const START: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":1}}}

"#;

pub(crate) const HELLO: &str = r#"event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Привет"}}

"#;

const PING: &str = "event: ping\ndata: {\"type\": \"ping\"}\n\n";

pub(crate) const END: &str = r#"event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":2}}

"#;

pub(crate) const STOP: &str = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

fn whole() -> String {
    [START, HELLO, PING, END, STOP].concat()
}

/// The events of an answer to which the server sends these bytes, and then closes.
async fn events(bytes: Vec<u8>) -> Vec<ProviderEvent> {
    let server = Server::start(vec![Answer::Close(bytes)]);
    hello_from(&registry_of(config_of("anthropic", &server.base))).await
}

async fn hello_from(registry: &Registry) -> Vec<ProviderEvent> {
    ask(registry, prompt(MODEL, vec![user("Say hello")])).await
}

fn hello() -> Vec<ProviderEvent> {
    let usage = Usage {
        input: 3,
        output: 2,
        ..Usage::default()
    };
    vec![
        ProviderEvent::TextDelta("Привет".to_owned()),
        ProviderEvent::MessageComplete {
            finish_reason: "end_turn".to_owned(),
            usage,
        },
    ]
}

// proves MD-5, MD-20
#[tokio::test]
async fn a_prompt_goes_out_and_its_answer_comes_back() {
    let server = Server::start(vec![Answer::Keep(stream(&[whole().as_bytes()]))]);
    let events = hello_from(&registry_of(config_of("anthropic", &server.base))).await;
    assert_eq!(events, hello());
    let request = server.request();
    for (name, value) in [
        ("x-api-key", Some(KEY)),
        ("anthropic-version", Some("2023-06-01")),
        ("content-type", Some("application/json")),
        ("accept", Some("text/event-stream")),
        ("authorization", None),
    ] {
        assert_eq!(request.header(name), value, "{name}");
    }
    let mark = json!({"type": "ephemeral"});
    let wanted = json!({
        "model": MODEL,
        "max_tokens": 100,
        "temperature": 0.5,
        "stream": true,
        "system": [{"type": "text", "text": "Be kind.", "cache_control": mark}],
        "messages": [{
            "role": "user",
            "content": [{"type": "text", "text": "Say hello", "cache_control": mark}],
        }],
    });
    assert_eq!(request.body, wanted);
}

#[tokio::test]
async fn a_base_url_may_end_in_the_version_or_not() {
    for (path, wanted) in [
        ("", "/v1/messages"),
        ("/", "/v1/messages"),
        ("/v1", "/v1/messages"),
        ("/v1/", "/v1/messages"),
        ("/api/anthropic", "/api/anthropic/v1/messages"),
        ("/api/v1", "/api/v1/messages"),
        ("/dev1?key=a", "/dev1/v1/messages?key=a"),
    ] {
        let server = Server::start(vec![Answer::Close(stream(&[whole().as_bytes()]))]);
        let origin = server.base.trim_end_matches("/v1");
        let base = format!("{origin}{path}");
        assert_eq!(
            hello_from(&registry_of(config_of("anthropic", &base))).await,
            hello()
        );
        let line = format!("POST {wanted} HTTP/1.1");
        assert_eq!(server.request().line, line, "{path}");
    }
}

// proves MD-3
#[tokio::test]
async fn a_connection_that_breaks_before_the_model_stopped_is_a_cut() {
    let events = events(begun(&[[START, HELLO].concat().as_bytes()])).await;
    let (code, message) = failure(&events);
    assert_eq!(code, FaultCode::StreamCut, "{message}");
    assert!(message.starts_with("anthropic (127.0.0.1:"), "{message}");
    assert_eq!(events[0], hello()[0]);
    assert_eq!(events.len(), 2);
}

// proves MD-3
#[tokio::test]
async fn a_connection_that_breaks_behind_the_last_event_breaks_nothing() {
    assert_eq!(events(begun(&[whole().as_bytes()])).await, hello());
}

#[tokio::test]
async fn a_refusal_is_told_with_its_code_its_words_and_without_the_key() {
    let error = |kind: &str, words: &str| {
        let error = json!({"type": kind, "message": words});
        json!({"type": "error", "error": error, "request_id": "req_9"}).to_string()
    };
    for (status, body, code, needs) in [
        (
            "401 Unauthorized",
            error("authentication_error", &format!("no such key {KEY}")),
            FaultCode::ProviderAuth,
            "no such key *** (request req_9); check ANTHROPIC_API_KEY",
        ),
        (
            "403 Forbidden",
            error("permission_error", "not yours"),
            FaultCode::ProviderAuth,
            "not yours",
        ),
        (
            "404 Not Found",
            error("not_found_error", &format!("model: {MODEL}")),
            FaultCode::ModelNotFound,
            MODEL,
        ),
        (
            "400 Bad Request",
            error("invalid_request_error", "messages: too many"),
            FaultCode::ProviderRejected,
            "(400): messages: too many",
        ),
        (
            "529 Overloaded",
            error("overloaded_error", "Overloaded"),
            FaultCode::ProviderError,
            "(529): Overloaded",
        ),
    ] {
        let events = events(response(status, "", &body)).await;
        let (found, message) = failure(&events);
        assert_eq!((found, events.len()), (code, 1), "{message}");
        assert!(message.contains(needs), "{needs} is in {message}");
        assert!(!message.contains(KEY), "{message}");
    }
    let body = error("rate_limit_error", "slow down");
    let events = events(response("429 Too Many", "retry-after: 3\r\n", &body)).await;
    let wanted = Some(Duration::from_secs(3));
    assert!(
        matches!(
            &events[..],
            [ProviderEvent::Failed { code: FaultCode::ProviderRateLimited, retry_after, .. }]
                if *retry_after == wanted
        ),
        "{events:?}"
    );
}

// proves MD-3
#[tokio::test]
async fn what_is_no_stream_of_events_is_a_bad_response_or_the_error_that_it_is() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let error = error.to_string();
    for (media, body, code, needs) in [
        (
            "text/html",
            "<html><title>Sign in</title>",
            FaultCode::BadResponse,
            "Sign in",
        ),
        (
            "text/event-stream",
            "no upstream",
            FaultCode::BadResponse,
            "no upstream",
        ),
        (
            "application/json",
            "{\"a\":1}",
            FaultCode::BadResponse,
            "{\"a\":1}",
        ),
        ("application/json", "{", FaultCode::StreamCut, "broke off"),
        ("application/json", &error, FaultCode::ProviderError, "busy"),
    ] {
        let headers = format!("content-type: {media}\r\n");
        let events = events(response("200 OK", &headers, body)).await;
        let (found, message) = failure(&events);
        assert_eq!((found, events.len()), (code, 1), "{message}");
        assert!(message.contains(needs), "{needs} is in {message}");
    }
}
