use reqwest::header::HeaderValue;

use super::*;

fn headers(rows: &[(&'static str, &'static str)]) -> HeaderMap {
    let rows = rows.iter().map(|(name, value)| {
        let name = reqwest::header::HeaderName::from_static(name);
        (name, HeaderValue::from_static(value))
    });
    rows.collect()
}

/// A status and a body; their code, and what is in the message.
const REFUSALS: &[(u16, &str, FaultCode, &str)] = {
    use FaultCode::{
        BadResponse, ModelNotFound, ProviderAuth, ProviderError, ProviderRateLimited,
        ProviderRejected, ProviderTimeout,
    };
    &[
        (
            401,
            r#"{"error":{"message":"Incorrect key"}}"#,
            ProviderAuth,
            "(401): Incorrect key",
        ),
        (403, "nope", ProviderAuth, "(403): nope"),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist"}}"#,
            ModelNotFound,
            "`x`",
        ),
        (
            404,
            r#"{"error":"model \"x\" not found, try pulling it first"}"#,
            ModelNotFound,
            "pull",
        ),
        (
            404,
            "Not Found",
            ProviderRejected,
            "does not know the address (404): Not Found",
        ),
        (
            400,
            r#"{"error":{"code":"model_not_found","message":"no"}}"#,
            ModelNotFound,
            "no",
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT"}}]"#,
            ProviderRejected,
            "(400): Bad",
        ),
        (413, "", ProviderRejected, "refused the request (413)"),
        (
            422,
            r#"{"detail":[{"loc":["body"]}]}"#,
            ProviderRejected,
            r#"[{"loc":["body"]}]"#,
        ),
        (408, "", ProviderTimeout, "(408)"),
        (409, "", ProviderError, "(409)"),
        (
            429,
            r#"{"message":"slow down"}"#,
            ProviderRateLimited,
            "slow down",
        ),
        // No wait brings money back.
        (
            429,
            r#"{"error":{"message":"check your plan","code":"insufficient_quota"}}"#,
            ProviderRejected,
            "check your plan",
        ),
        (
            500,
            r#"{"error":{"message":"oops"}}"#,
            ProviderError,
            "(500): oops",
        ),
        (
            502,
            "<html><body>bad gateway</body></html>",
            ProviderError,
            "a web page",
        ),
        (503, "", ProviderError, "(503)"),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-x"},"request_id":"req_1"}"#,
            ModelNotFound,
            "model: claude-x (request req_1)",
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Too big"}}"#,
            ProviderRejected,
            "(413): Too big",
        ),
        (
            529,
            r#"{"error":{"type":"overloaded_error","message":"busy"}}"#,
            ProviderError,
            "busy",
        ),
        (302, "", BadResponse, "(302)"),
        (
            502,
            r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"it broke"}}}"#,
            ProviderError,
            "Provider returned error: it broke",
        ),
    ]
};
#[test]
fn a_status_becomes_a_code_and_the_servers_own_words() {
    for (status, body, code, words) in REFUSALS {
        let fault = Fault::refused(*status, &HeaderMap::new(), body.as_bytes());
        assert_eq!(fault.code, *code, "{status} {body}");
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

#[test]
fn an_error_inside_an_answer_is_told_by_the_name_that_the_server_gives_it() {
    use FaultCode::{
        ModelNotFound, ProviderAuth, ProviderError, ProviderRateLimited, ProviderRejected,
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
            ProviderRejected,
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
