//! Scripts as JSON.

use std::{num::NonZeroUsize, time::Duration};

use samovar_model_server::{
    Ending, Failure, Finish, Gate, Index, ModelServer, Newline, Part, Point, Reply, Rule, Script,
    TokenCounts, ToolCall, When, call, endless, fail, hang_up, page, reset, say, silent, think,
};
use serde_json::json;

use crate::client::{ask, prompt};

#[tokio::test]
async fn a_script_can_be_a_json_file() {
    let script: Script = serde_json::from_value(json!([
        {
            "when": {"last_user_contains": "tea"},
            "times": "forever",
            "reply": {
                "answer": {"said": {
                    "parts": [
                        {"reasoning": "Hm."},
                        {"text": "Looking."},
                        {"call": {"name": "list_dir", "arguments": {"path": "."}}},
                    ],
                    "usage": {"input": 7, "output": 2},
                }},
                "delivery": {"delta_chars": 3, "pace": {"every_ms": 1}},
            },
        },
        {"reply": {"answer": {"failed": {"status": 503, "message": "busy"}}}},
    ]))
    .unwrap();

    let expected = Script::new()
        .then(
            think("Hm.")
                .and_say("Looking.")
                .and_call("list_dir", json!({"path": "."}))
                .usage(TokenCounts {
                    input: 7,
                    output: 2,
                    ..TokenCounts::default()
                })
                .deltas_of(3)
                .pace(Duration::from_millis(1))
                .when(When::user("tea"))
                .forever(),
        )
        .then(fail(Failure::new(503, "busy")));
    assert_eq!(script, expected);
    let server = ModelServer::start(script).await.unwrap();
    assert_eq!(ask(&server, &prompt("no")).await.head.status, 503);
    assert_eq!(ask(&server, &prompt("tea")).await.said(), "Looking.");
}

#[test]
fn every_word_of_a_script_survives_json() {
    let gate = Gate::new("g");
    let delivered = say("x")
        .deltas_of(0)
        .bursts(NonZeroUsize::new(3).unwrap(), Duration::from_millis(5))
        .delay(Duration::from_millis(9))
        .hold_head(&gate)
        .hold_after(2, &gate)
        .split_at(Point::IntoDelta {
            deltas: 1,
            bytes: 2,
        })
        .cut_at(Point::InsideCharacter(3), Ending::Reset)
        .byte_by_byte()
        .newline(Newline::CrLf)
        .bom()
        .without_terminal()
        .content_type("text/plain")
        .header("a", "b");
    let calls = vec![
        ToolCall::new("a", json!({"b": [1]}))
            .id("c")
            .index(Index::Fixed(2)),
        ToolCall::new("a", json!({}))
            .raw_arguments("{")
            .without_id()
            .index(Index::Missing),
    ];
    let failure = Failure::rate_limited(Duration::from_secs(2)).param("p");
    let parts = Reply::of(Part::Interleaved(calls))
        .and(Part::RedactedReasoning("h".to_owned()))
        .and(Part::Comment("c".to_owned()))
        .and(Part::Raw("r".to_owned()))
        .and(Part::Failure(failure.clone()))
        .finish(Finish::Other("odd".to_owned()))
        .without_usage();
    let when = When::All(vec![
        When::Any(vec![When::model("m"), When::user("u")]),
        When::Not(Box::new(When::SystemContains("s".to_owned()))),
        When::LastToolResultContains("r".to_owned()),
        When::ToolResults(1),
        When::ToolResultsSinceUser(1),
        When::OffersTool("t".to_owned()),
    ]);
    let script = Script::from([
        delivered.when(when).times(4),
        parts.forever(),
        call("a", json!({})).finish(Finish::Length).into(),
        Rule::from(fail(failure)),
        page(200, "text/html", "x").into(),
        endless("text/plain", "x").into(),
        silent().into(),
        hang_up().into(),
        reset().into(),
    ]);

    let text = serde_json::to_string(&script).unwrap();

    assert_eq!(serde_json::from_str::<Script>(&text).unwrap(), script);
}

#[test]
fn a_word_that_no_script_has_is_refused() {
    let table = [
        json!([{"reply": {"answer": {"said": {"part": []}}}}]),
        json!([{"reply": {"delivery": {"pace_ms": 5}}}]),
        json!([{"when": {"last_user_is": "x"}}]),
        json!([{"often": 2}]),
        json!([{"times": "twice"}]),
    ];
    for script in table {
        let read = serde_json::from_value::<Script>(script.clone());
        assert!(read.is_err(), "{script}");
    }
}
