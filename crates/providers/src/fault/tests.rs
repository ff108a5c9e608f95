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
413 | context_full | too long for the model (413) | 
422 | provider_rejected | [{"loc":["body"]}] | {"detail":[{"loc":["body"]}]}
408 | provider_timeout | (408) | 
409 | provider_error | (409) | 
429 | provider_rate_limited | slow down | {"message":"slow down"}
429 | provider_rejected | check your plan | {"error":{"message":"check your plan","code":"insufficient_quota"}}
500 | provider_error | (500): oops | {"error":{"message":"oops"}}
502 | provider_error | a web page | <html><body>bad gateway</body></html>
503 | provider_error | (503) | 
404 | model_not_found | model: claude-x (request req_1) | {"type":"error","error":{"type":"not_found_error","message":"model: claude-x"},"request_id":"req_1"}
413 | context_full | (413): Too big | {"type":"error","error":{"type":"request_too_large","message":"Too big"}}
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
413 | - | - | Please reduce the length: the context window is full
400 | - | - | Input is too long for requested model.
400 | 140372 | 128000 | prompt token count of 140372 exceeds the limit of 128000
400 | - | - | Prompt exceeds max length
400 | - | - | tokens in request more than max tokens allowed
400 | 168074 | 131072 | Invalid request: Your request exceeded model token limit: 131072 (requested: 168074)
400 | - | 98304 | Range of input length should be [1, 98304]
400 | 131393 | 131040 | Input length 131393 exceeds the maximum allowed input length of 131040 tokens.
422 | 4096 | 4095 | Input validation error: `inputs` must have less than 4095 tokens. Given: 4096
400 | - | 4096 | total tokens exceeds the model's max of 4096
400 | - | - | invalid params, context window exceeds limit (2013)
413 | 8000 | 6000 | Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 8000, please reduce your message size
503 | - | - | upstream said: context_length_exceeded
400 | - | - | prompt too long; exceeded max context length by 1231 tokens";

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
    let over = ServerError::read(b"prompt too long; exceeded max context length by 1231 tokens");
    assert_eq!(full::numbers(&over).excess, Some(1231));
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
        ContextFull, ProviderAuth, ProviderError, ProviderRateLimited, ProviderRejected,
        ProviderTimeout,
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
        ("request_too_large", ContextFull),
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
        (&[("retry-after-ms", "2400")], Some(2.4)),
        (
            &[("retry-after", "7"), ("retry-after-ms", "2400")],
            Some(7.0),
        ),
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

// proves AS-14
#[test]
fn a_wait_is_read_in_the_fields_of_an_error_or_in_its_sentence() {
    for (body, wanted) in [
        (
            r#"[{"error":{"details":[{"@type":"x"},{"retryDelay":"2.4s"}]}}]"#,
            Some(2.4),
        ),
        (r#"{"error":{"message":"m","retry_after":3}}"#, Some(3.0)),
        (
            r#"{"error":{"message":"m","retry_after_ms":"250"}}"#,
            Some(0.25),
        ),
        (
            r#"{"error":{"message":"You exceeded your quota. Please retry in 2.4s."}}"#,
            Some(2.4),
        ),
        (
            r#"{"message":"Please try again in 1m30.5s. Visit x"}"#,
            Some(90.5),
        ),
        (r#"{"message":"try again in 20 ms"}"#, Some(0.02)),
        (r#"{"message":"retry after 5 seconds"}"#, Some(5.0)),
        (
            r#"{"message":"please wait 2 minutes, then go on"}"#,
            Some(120.0),
        ),
        (r#"{"message":"Wait for 1h"}"#, Some(3600.0)),
        (r#"{"message":"try again in a while"}"#, None),
        (r#"{"message":"retry in 1e400s"}"#, Some(1.0)),
        (r#"{"error":{"message":"m","retry_after":-1}}"#, None),
        (r#"{"error":{"message":"m","retry_after":1e300}}"#, None),
        ("slow down", None),
    ] {
        let fault = Fault::refused(429, &HeaderMap::new(), body.as_bytes());
        let wanted = wanted.map(Duration::from_secs_f64);
        assert_eq!(fault.retry_after, wanted, "{body}");
    }
}

// proves AS-14
#[test]
fn a_server_that_blames_itself_for_the_request_is_not_asked_the_same_again() {
    for (status, words, code) in [
        (
            500,
            "Failed to parse tool call arguments as JSON: [json.exception.parse_error.101]",
            "provider_rejected",
        ),
        (
            500,
            "image input is not supported - hint: provide the mmproj",
            "provider_rejected",
        ),
        (
            500,
            "tools param requires --jinja flag",
            "provider_rejected",
        ),
        (
            500,
            "Conversation roles must alternate user/assistant",
            "provider_rejected",
        ),
        (500, "out of memory", "provider_error"),
        (
            502,
            "cannot parse the answer of the server behind",
            "provider_error",
        ),
    ] {
        let body = serde_json::json!({"error": {"code": status, "message": words, "type": "server_error"}});
        let fault = Fault::refused(status, &HeaderMap::new(), body.to_string().as_bytes());
        assert_eq!(fault.code.as_str(), code, "{words}");
        assert_eq!(
            fault.refusal.is_some(),
            code == "provider_rejected",
            "{words}"
        );
    }
}

// proves AS-15
#[test]
fn a_refusal_that_may_be_about_the_prompts_length_is_marked_and_one_about_the_answers_is_not() {
    for (status, words, may_be) in [
        (400, "Request size invalid", true),
        (422, "the messages are too long", true),
        (
            400,
            "max_tokens is too large: 200000. This model supports at most 16384 completion tokens",
            false,
        ),
        (400, "bad request", false),
        (403, "token expired", false),
    ] {
        let body = serde_json::json!({"error": {"message": words}}).to_string();
        let fault = Fault::refused(status, &HeaderMap::new(), body.as_bytes());
        assert_ne!(fault.code, FaultCode::ContextFull, "{words}");
        assert_eq!(fault.context.may_be_full, may_be, "{words}");
    }
}
