use bytes::Bytes;
use proptest::prelude::*;
use samovar_core::error::FaultCode;
use serde_json::{Value, json};

use super::*;
use crate::bounds::{MAX_ANSWER_BYTES, MAX_ARGS_BYTES, MAX_CALLS};
use crate::decoder::Decoder;
use crate::exchange::transcript::{self, AnswerEnd, code};
use crate::frames::MAX_EVENT_BYTES;
use crate::specs::spec;

fn decoder() -> Decoder {
    Decoder::new(Box::new(Reply::new(
        spec("openai").unwrap(),
        Thoughts::default(),
    )))
}

/// Feeds a body in one piece, and then its end.
fn read(body: &[u8]) -> AnswerEnd {
    transcript::read(decoder(), &[body])
}

/// One event of a stream.
fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn delta(delta: &Value) -> String {
    event(&json!({"choices": [{"index": 0, "delta": delta}]}))
}

fn finish(reason: &str) -> String {
    event(&json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_json_breaks_the_decoder(words in prop::collection::vec(word(), 0..40)) {
        let body = format!("data: {}\n\n{}", words.concat(), finish("stop"));
        read(body.as_bytes());
    }
}

/// What the JSON of this dialect is made of.
const WORDS: &str = r#"
    { } [ ] , : null 0 -1 1.5 "" "a" "choices":[{ "delta":{ "content": "tool_calls":[{
    "index":0 "id":"c" "function":{ "name":"f" "arguments":"{" "error": "usage":{
    "finish_reason":"stop" }]}
"#;

fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>())
}

// proves MD-4
#[test]
fn two_megabytes_in_one_event_are_told_once_however_small_the_pieces() {
    let text = "й".repeat(1024 * 1024);
    let body = delta(&json!({"content": text}));
    let mut decoder = self::decoder();
    let mut events = Vec::new();
    let mut told_at = Vec::new();
    let pieces: Vec<_> = body.as_bytes().chunks(7).collect();
    for (at, piece) in pieces.iter().enumerate() {
        decoder
            .read(Bytes::copy_from_slice(piece), &mut events)
            .unwrap();
        if told_at.len() < events.len() {
            told_at.push(at);
        }
    }
    assert_eq!(events, [ProviderEvent::TextDelta(text)]);
    assert_eq!(told_at, [pieces.len() - 1]);
    assert_eq!(decoder.heard(), 1);
}

#[test]
fn all_that_one_read_brought_is_told_at_once() {
    let mut decoder = self::decoder();
    let mut events = Vec::new();
    let body: String = (0..5).map(|_| delta(&json!({"content": "a"}))).collect();
    let (first, rest) = body.split_at(body.len() - 3);
    decoder
        .read(Bytes::from(first.to_owned()), &mut events)
        .unwrap();
    assert_eq!(events.len(), 4);
    decoder
        .read(Bytes::from(rest.to_owned()), &mut events)
        .unwrap();
    assert_eq!(events.len(), 5);
}

#[test]
fn a_comment_is_no_sign_of_the_model() {
    let mut decoder = self::decoder();
    let mut events = Vec::new();
    decoder
        .read(Bytes::from_static(b": still here\n\n"), &mut events)
        .unwrap();
    assert_eq!(decoder.heard(), 0);
    decoder
        .read(
            Bytes::from(delta(&json!({"role": "assistant"}))),
            &mut events,
        )
        .unwrap();
    assert_eq!((decoder.heard(), events.len()), (1, 0));
}

#[test]
fn an_error_inside_a_stream_ends_it_behind_what_was_said_before() {
    let said = delta(&json!({"content": "Hel"}));
    for (error, code) in [
        (
            event(&json!({"error": {"message": "m", "type": "server_error"}})),
            FaultCode::ProviderError,
        ),
        (
            event(&json!({"error": {"message": "m", "code": 429}})),
            FaultCode::ProviderRateLimited,
        ),
        (event(&json!({"error": "m"})), FaultCode::ProviderError),
        (
            "event: error\ndata: {\"message\":\"m\"}\n\n".to_owned(),
            FaultCode::ProviderError,
        ),
        (
            "event: error\ndata: m\n\n".to_owned(),
            FaultCode::ProviderError,
        ),
        (
            event(
                &json!({"object": "error", "message": "m", "type": "BadRequestError", "code": 400}),
            ),
            FaultCode::ProviderRejected,
        ),
        (
            event(&json!({
                "error": {"message": "m", "code": "server_error"},
                "choices": [{"delta": {"content": ""}, "finish_reason": "error"}],
            })),
            FaultCode::ProviderError,
        ),
        (finish("error"), FaultCode::ProviderError),
    ] {
        let body = format!("{said}{error}{}data: [DONE]\n\n", finish("stop"));
        let told = read(body.as_bytes());
        assert_eq!(transcript::code(&told), Some(code), "{error}");
        assert_eq!(
            told.0,
            [ProviderEvent::TextDelta("Hel".to_owned())],
            "{error}"
        );
    }
}

#[test]
fn what_is_no_piece_of_an_answer_is_a_bad_response() {
    for body in [
        "data: {\"choices\":[\n\n".to_owned(),
        "data: hello\n\n".to_owned(),
        "data: []\n\n".to_owned(),
        event(&json!({"choices": "no"})),
    ] {
        let told = read(body.as_bytes());
        assert_eq!(code(&told), Some(FaultCode::BadResponse), "{body}");
        assert!(told.0.is_empty(), "{body}");
    }
    let broken = b"data: \"\xff\xfe\"\n\n";
    assert_eq!(code(&read(broken)), Some(FaultCode::BadResponse));
    let nameless = json!({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]});
    let body = delta(&nameless) + &finish("tool_calls");
    assert_eq!(code(&read(body.as_bytes())), Some(FaultCode::BadResponse));
}

#[test]
fn nothing_grows_without_a_bound() {
    let text = |bytes: usize| delta(&json!({"content": "x".repeat(bytes)}));
    let args = |bytes: usize| {
        let function = json!({"name": "f", "arguments": "x".repeat(bytes)});
        delta(&json!({"tool_calls": [{"index": 0, "id": "a", "function": function}]}))
    };
    let calls = |count: usize| -> String {
        let call =
            |index| delta(&json!({"tool_calls": [{"index": index, "function": {"name": "f"}}]}));
        (0..count).map(call).collect()
    };
    let piece = MAX_ANSWER_BYTES / 4;
    let fits = [
        text(piece).repeat(4),
        args(MAX_ARGS_BYTES),
        calls(MAX_CALLS),
    ];
    for body in fits {
        let body = body + &finish("stop");
        assert_eq!(code(&read(body.as_bytes())), None);
    }
    let too_much = [
        (text(piece).repeat(4) + &text(1), MAX_ANSWER_BYTES),
        (text(MAX_EVENT_BYTES), MAX_EVENT_BYTES),
        (
            format!("data: {}", "x".repeat(MAX_EVENT_BYTES)),
            MAX_EVENT_BYTES,
        ),
        (args(MAX_ARGS_BYTES) + &args(1), MAX_ARGS_BYTES),
        (calls(MAX_CALLS + 1), MAX_CALLS),
    ];
    for (body, bound) in too_much {
        let fault = read(body.as_bytes()).1.unwrap();
        assert_eq!(fault.code, FaultCode::BadResponse);
        assert_eq!(fault.is_too_large, bound != MAX_EVENT_BYTES);
        assert!(
            fault.message.contains(&bound.to_string()),
            "{}",
            fault.message
        );
    }
}
