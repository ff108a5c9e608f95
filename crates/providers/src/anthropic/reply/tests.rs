use proptest::prelude::*;
use samovar_core::error::FaultCode;
use serde_json::json;

use super::*;
use crate::bounds::{MAX_ANSWER_BYTES, MAX_ARGS_BYTES, MAX_CALLS};
use crate::decoder::Decoder;
use crate::exchange::transcript::{self, AnswerEnd, code};
use crate::frames::MAX_EVENT_BYTES;
use crate::specs::spec;

fn read(body: &str) -> AnswerEnd {
    let reply = Reply::new(spec("anthropic").unwrap(), Fingerprint::new());
    transcript::read(Decoder::new(Box::new(reply)), &[body.as_bytes()])
}

/// One event of a stream.
fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn start(index: usize, block: &Value) -> String {
    event(&json!({"type": "content_block_start", "index": index, "content_block": block}))
}

fn delta(index: usize, delta: &Value) -> String {
    event(&json!({"type": "content_block_delta", "index": index, "delta": delta}))
}

fn stop(index: usize) -> String {
    event(&json!({"type": "content_block_stop", "index": index}))
}

fn end() -> String {
    event(&json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}))
        + &event(&json!({"type": "message_stop"}))
}

fn text_block() -> String {
    start(0, &json!({"type": "text", "text": ""}))
}

fn call_block(index: usize) -> String {
    start(index, &json!({"type": "tool_use", "id": "", "name": "f"}))
}

#[test]
fn what_is_no_piece_of_an_answer_is_a_bad_response() {
    for body in [
        "data: {\"type\":\n\n".to_owned(),
        "data: hello\n\n".to_owned(),
        "data: []\n\n".to_owned(),
        event(&json!({"kind": "odd"})),
        event(&json!({"type": 7})),
        event(&json!({"type": "content_block_start", "index": 0})),
        event(&json!({"type": "content_block_delta", "index": 0})),
        delta(0, &json!({"type": "text_delta", "text": 7})),
        delta(0, &json!({"type": "input_json_delta", "partial_json": "{"})),
        start(0, &json!({"type": "tool_use", "id": "a"})),
    ] {
        let told = read(&(body.clone() + &end()));
        assert_eq!(code(&told), Some(FaultCode::BadResponse), "{body}");
        assert!(told.0.is_empty(), "{body}");
    }
}

#[test]
fn nothing_grows_without_a_bound() {
    let text = |bytes: usize| delta(0, &json!({"type": "text_delta", "text": "x".repeat(bytes)}));
    let args = |bytes: usize| {
        let json = "x".repeat(bytes);
        delta(
            0,
            &json!({"type": "input_json_delta", "partial_json": json}),
        )
    };
    let hidden = |bytes: usize| {
        let data = "x".repeat(bytes);
        start(0, &json!({"type": "redacted_thinking", "data": data})) + &stop(0)
    };
    let calls = |count: usize| (0..count).map(|at| call_block(at) + &stop(at)).collect();
    let blocks = |count: usize| (text_block() + &stop(0)).repeat(count);
    let piece = MAX_ANSWER_BYTES / 4;
    let fits: [String; 4] = [
        call_block(0) + &args(MAX_ARGS_BYTES) + &stop(0),
        hidden(piece).repeat(4),
        calls(MAX_CALLS),
        blocks(MAX_BLOCKS),
    ];
    for body in fits {
        assert_eq!(code(&read(&(body + &end()))), None);
    }
    let too_much = [
        (
            text_block() + &text(piece).repeat(4) + &text(1),
            MAX_ANSWER_BYTES,
        ),
        (text_block() + &text(MAX_EVENT_BYTES), MAX_EVENT_BYTES),
        (
            call_block(0) + &args(MAX_ARGS_BYTES) + &args(1),
            MAX_ARGS_BYTES,
        ),
        (calls(MAX_CALLS + 1), MAX_CALLS),
        (blocks(MAX_BLOCKS + 1), MAX_BLOCKS),
    ];
    for (body, bound) in too_much {
        let fault = read(&body).1.unwrap();
        assert_eq!(fault.code, FaultCode::BadResponse);
        let said = &fault.message;
        assert!(said.contains(&bound.to_string()), "{said}");
    }
}

#[test]
fn the_word_why_the_model_stopped_is_one_short_line() {
    let long = format!("a\nb\u{1b}[2J{}", "c".repeat(100_000));
    let body = event(&json!({"type": "message_delta", "delta": {"stop_reason": long}}))
        + &event(&json!({"type": "message_stop"}));
    let (events, _) = read(&body);
    let Some(ProviderEvent::MessageComplete { finish_reason, .. }) = events.last() else {
        panic!("{events:?}");
    };
    assert!(finish_reason.starts_with("a b [2Jccc"), "{finish_reason}");
    assert!(finish_reason.len() < 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_json_breaks_the_reader(words in prop::collection::vec(word(), 0..40)) {
        read(&format!("data: {}\n\n{}", words.concat(), end()));
    }

    #[test]
    fn no_order_of_events_breaks_the_reader(order in prop::collection::vec(0..8_usize, 0..40)) {
        let events = [
            text_block(),
            call_block(1),
            start(2, &json!({"type": "thinking", "thinking": "a"})),
            delta(0, &json!({"type": "text_delta", "text": "a"})),
            delta(1, &json!({"type": "input_json_delta", "partial_json": "{}"})),
            stop(0),
            stop(1),
            stop(2),
        ];
        let body: String = order.iter().map(|at| events[*at].as_str()).collect();
        let (events, fault) = read(&(body + &end()));
        let is_complete = matches!(events.last(), Some(ProviderEvent::MessageComplete { .. }));
        prop_assert_eq!(is_complete, fault.is_none());
    }
}

/// What the JSON of this dialect is made of.
const WORDS: &str = r#"
    { } [ ] , : null 0 -1 "" "a" "type":"content_block_start" "type":"content_block_delta"
    "type":"message_delta" "type":"message_start" "index":0 "content_block":{"type":"text"
    "content_block":{"type":"tool_use" "delta":{"type":"text_delta" "delta":{"stop_reason":
    "text": "usage":{ "error":
"#;
fn word() -> impl Strategy<Value = &'static str> {
    prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>())
}
