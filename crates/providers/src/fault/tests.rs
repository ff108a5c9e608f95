use reqwest::header::HeaderValue;

use super::*;

fn headers(rows: &[(&'static str, &'static str)]) -> HeaderMap {
    let rows = rows.iter().map(|(name, value)| {
        let name = reqwest::header::HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    rows.collect()
}

/// A status, its code, what is in the message, and the body.
const REFUSALS: &str = r#"401 | provider_auth | (401): Incorrect key | {"error":{"message":"Incorrect key"}}
403 | provider_auth | (403): nope | nope
404 | model_not_found | `x` | {"error":{"message":"The model `x` does not exist"}}
404 | model_not_found | pull | {"error":"model \"x\" not found, try pulling it first"}
404 | provider_rejected | does not know the address (404): Not Found | Not Found
400 | model_not_found | no | {"error":{"code":"model_not_found","message":"no"}}
400 | provider_rejected | (400): Bad | [{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]
413 | provider_rejected | refused the request (413) | 
422 | provider_rejected | [{"loc":["body"]}] | {"detail":[{"loc":["body"]}]}
408 | provider_timeout | (408) | 
409 | provider_error | (409) | 
429 | provider_rate_limited | slow down | {"message":"slow down"}
429 | provider_rejected | check your plan | {"error":{"message":"check your plan","code":"insufficient_quota"}}
500 | provider_error | (500): oops | {"error":{"message":"oops"}}
502 | provider_error | a web page | <html><body>bad gateway</body></html>
503 | provider_error | (503) | 
404 | model_not_found | model: claude-x (request req_1) | {"type":"error","error":{"type":"not_found_error","message":"model: claude-x"},"request_id":"req_1"}
413 | provider_rejected | (413): Too big | {"type":"error","error":{"type":"request_too_large","message":"Too big"}}
529 | provider_error | busy | {"error":{"type":"overloaded_error","message":"busy"}}
302 | bad_response | (302) | 
502 | provider_error | Provider returned error: it broke | {"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"it broke"}}}"#;

#[test]
fn a_status_becomes_a_code_and_the_servers_own_words() {
    for row in REFUSALS.lines() {
        let cells: Vec<_> = row.splitn(4, " | ").collect();
        let [status, code, words, body] = cells.try_into().unwrap();
        let fault = Fault::refused(status.parse().unwrap(), &HeaderMap::new(), body.as_bytes());
        assert_eq!(fault.code.as_str(), code, "{row}");
        assert!(
            fault.message.contains(words),
            "{words} is in {}",
            fault.message
        );
    }
    let moved = headers(&[("location", "https://elsewhere/v1")]);
    let fault = Fault::refused(301, &moved, b"");
    assert!(
        fault.message.contains("https://elsewhere/v1"),
        "{}",
        fault.message
    );
}

/// What servers say of a prompt that is too long: the status, how long it is (with `+` together with
/// the answer), how long it may be, the sentence.
const TOO_LONG: &str = "400 | 27423 | 8192 | request (27423 tokens) exceeds the available context size (8192 tokens), try increasing it
400 | 27423 | 8192 | This model's maximum context length is 8192 tokens. However, your messages resulted in 27423 tokens.
400 | 4700+ | 4096 | This model's maximum context length is 4096 tokens. However, you requested 4700 tokens (4200 in the messages, 500 in the completion).
400 | 210000 | 200000 | prompt is too long: 210000 tokens > 200000 maximum
400 | 1200000 | 1048576 | The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).
400 | 140000 | 131072 | This model's maximum prompt length is 131072 but the request contains 140000 tokens.
400 | 5000 | 4096 | Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.
400 | 208310 | 199999 | prompt is too long: 208310 tokens > 199999 maximum. Received Model Group=claude-3-5-sonnet-20241022 Available Model Group Fallbacks=None (request 20261123)
400 | - | 4096 | 'max_tokens' is too large: 4096. This model's maximum context length is 4096 tokens and your request has 104 input tokens (4096 > 4096 - 104).
500 | - | 4096 | the model is loaded with a context length of only 4096 tokens
413 | - | - | Please reduce the length: the context window is full";

// proves AS-15
#[test]
fn a_prompt_that_is_too_long_is_told_with_its_numbers() {
    for row in TOO_LONG.lines() {
        let cells: Vec<_> = row.splitn(4, " | ").collect();
        let [status, used, limit, words] = cells.try_into().unwrap();
        let body = serde_json::json!({ "error": { "message": words } }).to_string();
        let status = status.parse().unwrap();
        let fault = Fault::refused(status, &HeaderMap::new(), body.as_bytes());
        assert_eq!(fault.code, FaultCode::ContextFull, "{row}");
        let numbers = fault.context;
        assert_eq!(numbers.has_answer, used.ends_with('+'), "{row}");
        let used = used.trim_end_matches('+').parse().ok();
        assert_eq!(
            (numbers.used, numbers.limit),
            (used, limit.parse().ok()),
            "{row}"
        );
    }
    let busy = r#"{"error":{"message":"tokens per minute: limit 30000, requested 40000 for this context length"}}"#;
    let fault = Fault::refused(429, &HeaderMap::new(), busy.as_bytes());
    assert_eq!(fault.code, FaultCode::ProviderRateLimited, "a rate passes");
}

#[test]
fn an_error_inside_an_answer_is_told_by_the_name_that_the_server_gives_it() {
    use FaultCode::{
        ContextFull, ModelNotFound, ProviderAuth, ProviderError, ProviderRateLimited,
        ProviderRejected,
    };
    for (error, code) in [
        (r#"{"message":"m","type":"server_error"}"#, ProviderError),
        (
            r#"{"message":"m","code":"rate_limit_exceeded"}"#,
            ProviderRateLimited,
        ),
        (r#"{"message":"m","code":429}"#, ProviderRateLimited),
        (r#"{"message":"m","code":502}"#, ProviderError),
        (r#"{"message":"m","code":401}"#, ProviderAuth),
        (
            r#"{"message":"m","type":"insufficient_quota"}"#,
            ProviderRejected,
        ),
        (r#"{"message":"m","code":"invalid_api_key"}"#, ProviderAuth),
        (
            r#"{"message":"m","type":"authentication_error"}"#,
            ProviderAuth,
        ),
        (
            r#"{"message":"m","code":"context_length_exceeded"}"#,
            ContextFull,
        ),
        (
            r#"{"message":"m","type":"BadRequestError","code":400}"#,
            ProviderRejected,
        ),
        (r#"{"message":"m","code":"model_not_found"}"#, ModelNotFound),
        (r#""m""#, ProviderError),
        ("m", ProviderError),
        (r#"{"error":{"message":"m"}}"#, ProviderError),
    ] {
        let fault = Fault::inside(error);
        assert_eq!(fault.code, code, "{error}");
        assert!(fault.message.ends_with(": m"), "{}", fault.message);
    }
}

#[test]
fn the_types_of_errors_that_anthropic_names_are_known() {
    use FaultCode::{
        ProviderAuth, ProviderError, ProviderRateLimited, ProviderRejected, ProviderTimeout,
    };
    for (kind, code) in [
        ("overloaded_error", ProviderError),
        ("api_error", ProviderError),
        ("rate_limit_error", ProviderRateLimited),
        ("timeout_error", ProviderTimeout),
        ("authentication_error", ProviderAuth),
        ("permission_error", ProviderAuth),
        ("invalid_request_error", ProviderRejected),
        ("not_found_error", ProviderRejected),
        ("request_too_large", ProviderRejected),
        ("billing_error", ProviderRejected),
    ] {
        let error = format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}}}}"#);
        assert_eq!(Fault::inside(&error).code, code, "{kind}");
    }
}

#[test]
fn foreign_words_are_one_short_line_without_control_characters() {
    assert_eq!(clean("a\u{1b}[31mb\r\n\tc\u{0}d  e"), "a [31mb c d e");
    assert_eq!(clean(&"ж".repeat(10_000)).chars().count(), WORDS);
    let fault = Fault::refused(400, &HeaderMap::new(), "x\n".repeat(10_000).as_bytes());
    assert!(fault.message.len() < 2 * WORDS);
}
#[test]
fn retry_after_is_read_as_seconds_or_as_a_date_on_the_servers_own_clock() {
    let date = ("date", "Sat, 21 Nov 2026 10:00:00 GMT");
    for (rows, wanted) in [
        (&[("retry-after", "7")][..], Some(7.0)),
        (&[("retry-after", " 0.5 ")], Some(0.5)),
        (
            &[("retry-after", "Sat, 21 Nov 2026 10:01:30 GMT"), date],
            Some(90.0),
        ),
        (
            &[("retry-after", "Sat, 21 Nov 2026 09:00:00 GMT"), date],
            Some(0.0),
        ),
        (&[("retry-after", "Sat, 21 Nov 2026 10:01:30 GMT")], None),
        (&[("retry-after", "-1")], None),
        (&[("retry-after", "inf")], None),
        (&[("retry-after", "soon")], None),
        (&[date], None),
    ] {
        let fault = Fault::refused(429, &headers(rows), b"");
        assert_eq!(
            fault.retry_after,
            wanted.map(Duration::from_secs_f64),
            "{rows:?}"
        );
    }
}
