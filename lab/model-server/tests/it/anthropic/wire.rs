//! The bytes of good replies.

use samovar_model_server::{
    Finish, Index, ModelServer, Newline, Part, Reply, TokenCounts, ToolCall, call, say, think,
};
use serde_json::{Value, json};

use super::{HEADERS, ask, events, gathered, plain, prompt};
use crate::client::{self, Client, End, Response};

async fn answer(reply: Reply, body: &Value) -> Response {
    let server = ModelServer::start([reply]).await.unwrap();
    ask(&server, body).await
}

#[tokio::test]
async fn a_streamed_text_is_exactly_these_bytes() {
    let counts = TokenCounts {
        input: 9,
        output: 3,
        cached: 4,
        cache_written: 2,
        reasoning: 1,
    };

    let response = answer(say("Héllo").deltas_of(4).usage(counts), &prompt("hi")).await;

    let event = |name: &str, fields: &str| {
        format!("event: {name}\ndata: {{\"type\":\"{name}\"{fields}}}\n\n")
    };
    let usage = |output: u64| {
        format!(
            "\"usage\":{{\"input_tokens\":3,\"cache_creation_input_tokens\":2,\
             \"cache_read_input_tokens\":4,\"output_tokens\":{output}}}"
        )
    };
    let delta = |text: &str| {
        let delta = format!("{{\"type\":\"text_delta\",\"text\":\"{text}\"}}");
        event(
            "content_block_delta",
            &format!(",\"index\":0,\"delta\":{delta}"),
        )
    };
    let expected = [
        event(
            "message_start",
            &format!(
                ",\"message\":{{\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\
                 \"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,{}}}",
                usage(1)
            ),
        ),
        event("ping", ""),
        event(
            "content_block_start",
            ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}",
        ),
        delta("Héll"),
        delta("o"),
        event("content_block_stop", ",\"index\":0"),
        event(
            "message_delta",
            &format!(
                ",\"delta\":{{\"stop_reason\":\"end_turn\",\"stop_sequence\":null}},{}",
                usage(3)
            ),
        ),
        event("message_stop", ""),
    ];
    assert_eq!(response.text(), expected.concat());
    assert_eq!(response.end, End::Whole);
    let head = response.head;
    assert_eq!(head.status, 200);
    let content_type = head.header("content-type");
    assert_eq!(content_type, Some("text/event-stream; charset=utf-8"));
    assert_eq!(head.header("request-id"), Some("req_0"));
    assert_eq!(head.header("x-request-id"), None);
}

#[tokio::test]
async fn thinking_is_a_block_of_its_own_that_ends_with_its_signature() {
    let reply = think("Hm, so")
        .and(Part::RedactedReasoning("hidden".to_owned()))
        .and_say("Yes");
    let response = answer(reply, &prompt("hi")).await;

    let blocks: Vec<_> = events(&response)
        .into_iter()
        .filter(|(name, _)| name.starts_with("content_block"))
        .map(|(name, event)| {
            let index = event["index"].as_u64().unwrap();
            let what = event
                .pointer("/delta/type")
                .or(event.pointer("/content_block/type"));
            let what = what.and_then(Value::as_str).unwrap_or_default().to_owned();
            (name, index, what)
        })
        .collect();
    let row =
        |name: &str, index, what: &str| (format!("content_block_{name}"), index, what.to_owned());
    assert_eq!(
        blocks,
        [
            row("start", 0, "thinking"),
            row("delta", 0, "thinking_delta"),
            row("delta", 0, "thinking_delta"),
            row("delta", 0, "signature_delta"),
            row("stop", 0, ""),
            row("start", 1, "redacted_thinking"),
            row("stop", 1, ""),
            row("start", 2, "text"),
            row("delta", 2, "text_delta"),
            row("stop", 2, ""),
        ]
    );
    let content = gathered(&response);
    assert_eq!(content[0]["thinking"], "Hm, so");
    assert!(!content[0]["signature"].as_str().unwrap().is_empty());
    assert!(!content[1]["data"].as_str().unwrap().contains("hidden"));
    assert_eq!(content[2], json!({"type": "text", "text": "Yes"}));
}

#[tokio::test]
async fn a_call_opens_without_input_which_comes_in_pieces() {
    let reply = call("read_file", json!({"path": "a"})).deltas_of(6);
    let response = answer(reply, &prompt("hi")).await;

    let events = events(&response);
    let input = json!({"type": "tool_use", "id": "toolu_0_0", "name": "read_file", "input": {}});
    assert_eq!(events[2].1["content_block"], input);
    let pieces: Vec<_> = events[3..6]
        .iter()
        .map(|(_, event)| {
            assert_eq!(event["delta"]["type"], "input_json_delta");
            event["delta"]["partial_json"].as_str().unwrap()
        })
        .collect();
    assert_eq!(pieces, ["", "{\"path", "\":\"a\"}"]);
    assert_eq!(events[6].0, "content_block_stop");
    assert_eq!(events[7].1["delta"]["stop_reason"], "tool_use");
}

#[tokio::test]
async fn an_empty_input_may_come_without_a_piece() {
    let reply = Reply::of(ToolCall::new("now", json!({})).raw_arguments(""));
    let response = answer(reply.clone(), &prompt("hi")).await;
    let names: Vec<_> = events(&response)
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(
        names[2..5],
        [
            "content_block_start",
            "content_block_delta",
            "content_block_stop"
        ]
    );
    assert_eq!(gathered(&response)[0]["input"], json!({}));
    let whole = answer(reply, &plain("hi")).await.json();
    assert_eq!(whole["content"][0]["input"], json!({}));
}

#[tokio::test]
async fn blocks_of_interleaved_calls_are_open_at_once() {
    let calls = vec![
        ToolCall::new("read_file", json!({"path": "a"})),
        ToolCall::new("list_dir", json!({})).id("mine"),
    ];
    let reply = say("Both.").and(Part::Interleaved(calls)).deltas_of(6);
    let response = answer(reply, &prompt("hi")).await;

    let order: Vec<_> = events(&response)
        .into_iter()
        .filter(|(_, event)| event["index"].as_u64() > Some(0))
        .map(|(name, event)| {
            let kind = name.rsplit('_').next().unwrap().to_owned();
            (kind, event["index"].as_u64().unwrap())
        })
        .collect();
    let rows = [
        ("start", 1),
        ("delta", 1),
        ("start", 2),
        ("delta", 2),
        ("delta", 1),
        ("delta", 2),
        ("stop", 2),
        ("delta", 1),
        ("stop", 1),
    ];
    let rows: Vec<_> = rows.map(|(kind, index)| (kind.to_owned(), index)).into();
    assert_eq!(order, rows);
    let content = gathered(&response);
    assert_eq!(content[1]["input"], json!({"path": "a"}));
    assert_eq!(content[2]["id"], "mine");
}

#[tokio::test]
async fn calls_can_be_as_wrong_as_a_script_makes_them() {
    let reply = Reply::of(ToolCall::new("a", json!({})).without_id())
        .and(
            ToolCall::new("b", json!({}))
                .id("same")
                .index(Index::Fixed(0)),
        )
        .and(
            ToolCall::new("c", json!({}))
                .id("same")
                .index(Index::Missing),
        )
        .and(ToolCall::new("d", json!({})).raw_arguments("{\"a\": "))
        .deltas_of(0);
    let response = answer(reply.clone(), &prompt("hi")).await;

    let starts: Vec<_> = events(&response)
        .into_iter()
        .filter(|(name, _)| name == "content_block_start")
        .map(|(_, event)| event)
        .collect();
    assert_eq!(starts[0]["content_block"].get("id"), None);
    assert_eq!(starts[1]["index"], 0);
    assert_eq!(starts[2].get("index"), None);
    assert_eq!(starts[2]["content_block"]["id"], "same");
    assert_eq!(starts[3]["index"], 3);
    assert!(
        response
            .text()
            .contains("\"partial_json\":\"{\\\"a\\\": \"")
    );
    let whole = answer(reply, &plain("hi")).await.json();
    assert_eq!(whole["content"][3]["input"], "{\"a\": ");
}

#[tokio::test]
async fn a_prompt_without_stream_gets_one_message() {
    let reply = think("Hm")
        .and_say("One")
        .and_say(" two")
        .and_call("a", json!({"b": 1}));
    let response = answer(reply, &plain("hi")).await;

    let content_type = response.head.header("content-type");
    assert_eq!(content_type, Some("application/json"));
    let mut message = response.json();
    let signature = message["content"][0]["signature"].take();
    assert!(!signature.as_str().unwrap().is_empty());
    let bytes = u64::try_from(plain("hi").to_string().len()).unwrap();
    assert_eq!(
        message,
        json!({
            "id": "msg_0",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": null},
                {"type": "text", "text": "One two"},
                {"type": "tool_use", "id": "toolu_thought_0_0", "name": "a", "input": {"b": 1}},
            ],
            "stop_reason": "tool_use",
            "stop_sequence": null,
            "usage": {
                "input_tokens": bytes.div_ceil(4),
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "output_tokens": 4,
            },
        })
    );
}

#[tokio::test]
async fn a_stream_and_a_whole_message_hold_the_same_content() {
    let table = [
        say(""),
        think("").and_say("x"),
        say("a").and(Part::Comment("c".to_owned())).and_say("b"),
        say("a").and(Part::Reasoning("r".to_owned())).and_say("b"),
        think("a")
            .and(Part::Reasoning("b".to_owned()))
            .and(Part::RedactedReasoning(String::new()))
            .and(Part::Reasoning("c".to_owned())),
        say("žluť")
            .and_call("a", json!({"č": [1, 2.5, null]}))
            .and_say("then"),
        Reply::of(Part::Interleaved(vec![
            ToolCall::new("a", json!({"x": "yyyyyyyyyyyy"})),
            ToolCall::new("b", json!({})),
        ]))
        .and_call("c", json!({})),
    ];
    for reply in table {
        let reply = reply.deltas_of(1);
        let streamed = answer(reply.clone(), &prompt("hi")).await;
        let whole = answer(reply, &plain("hi")).await.json();
        assert_eq!(Value::from(gathered(&streamed)), whole["content"]);
    }
}

#[tokio::test]
async fn one_script_says_the_same_in_both_dialects() {
    let table = [
        say("Hello there"),
        think("Let me see")
            .and_say("žlutý")
            .and_call("a", json!({"b": "cc"})),
        Reply::of(Part::Interleaved(vec![
            ToolCall::new("a", json!({"x": 1})),
            ToolCall::new("b", json!({"y": 2})),
        ])),
        think("x")
            .and(Part::RedactedReasoning("y".to_owned()))
            .and_say("z"),
    ];
    for reply in table {
        let server = ModelServer::start([reply.times(2)]).await.unwrap();
        let theirs = client::ask(&server, &client::prompt("hi")).await;
        let ours = ask(&server, &prompt("hi")).await;

        let field = |name: &str| -> String {
            let deltas = theirs.deltas();
            let texts = deltas.iter().filter_map(|delta| delta[name].as_str());
            texts.collect()
        };
        let mut arguments: Vec<String> = Vec::new();
        for delta in theirs.deltas() {
            if let Some(function) = delta.pointer("/tool_calls/0/function") {
                let index = delta["tool_calls"][0]["index"].as_u64().unwrap();
                let index = usize::try_from(index).unwrap();
                arguments.resize(arguments.len().max(index + 1), String::new());
                arguments[index].push_str(function["arguments"].as_str().unwrap());
            }
        }
        let content = gathered(&ours);
        let of = |kind: &str, name: &str| -> String {
            let blocks = content.iter().filter(|block| block["type"] == kind);
            let texts = blocks.map(|block| block[name].as_str().unwrap());
            texts.collect()
        };
        assert_eq!(of("text", "text"), field("content"));
        assert_eq!(of("thinking", "thinking"), field("reasoning_content"));
        let inputs: Vec<_> = content
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .map(|block| block["input"].to_string())
            .collect();
        assert_eq!(inputs, arguments);
        let requests = server.requests();
        assert_eq!(requests[0].deltas(), requests[1].deltas());
    }
}

#[tokio::test]
async fn stop_reasons_are_in_the_words_of_the_dialect() {
    let table = [
        (say("x"), Some("end_turn")),
        (call("a", json!({})), Some("tool_use")),
        (call("a", json!({})).finish(Finish::Stop), Some("end_turn")),
        (say("x").finish(Finish::ToolCalls), Some("tool_use")),
        (say("x").finish(Finish::Length), Some("max_tokens")),
        (say("x").finish(Finish::ContentFilter), Some("refusal")),
        (
            say("x").finish(Finish::Other("pause_turn".to_owned())),
            Some("pause_turn"),
        ),
        (say("x").finish(Finish::Absent), None),
    ];
    for (reply, expected) in table {
        let streamed = answer(reply.clone(), &prompt("hi")).await;
        let events = events(&streamed);
        let (name, delta) = &events[events.len() - 2];
        assert_eq!(name, "message_delta");
        assert_eq!(delta["delta"]["stop_reason"].as_str(), expected);

        let whole = answer(reply, &plain("hi")).await.json();
        assert_eq!(whole["stop_reason"].as_str(), expected);
    }
}

#[tokio::test]
async fn usage_can_be_kept_back() {
    let streamed = answer(say("Hi").without_usage(), &prompt("hi")).await;
    assert!(!streamed.text().contains("usage"));
    assert_eq!(events(&streamed).len(), 7);
    let whole = answer(say("Hi").without_usage(), &plain("hi")).await;
    assert!(!whole.text().contains("usage"));
}

#[tokio::test]
async fn a_stream_may_be_framed_in_every_way_that_the_format_allows() {
    for (newline, end) in [
        (Newline::Lf, "\n"),
        (Newline::CrLf, "\r\n"),
        (Newline::Cr, "\r"),
    ] {
        let reply = say("x")
            .and(Part::Comment("working".to_owned()))
            .and(Part::Raw("not json\nat all".to_owned()))
            .and(Part::Raw("{\"type\":\"news\"}".to_owned()))
            .and(Part::Raw("{\"type\":\"a\\nb\"}".to_owned()))
            .newline(newline)
            .bom();
        let response = answer(reply, &prompt("hi")).await;

        let text = response.text();
        let start = format!("\u{feff}event: message_start{end}data: {{");
        assert!(text.starts_with(&start), "{text}");
        let middle = format!(
            "}}{end}{end}: working{end}{end}data: not json{end}data: at all{end}{end}\
             event: news{end}data: {{\"type\":\"news\"}}{end}{end}\
             data: {{\"type\":\"a\\nb\"}}{end}{end}event: content_block_stop{end}"
        );
        assert!(text.contains(&middle), "{text}");
    }
}

#[tokio::test]
async fn models_are_listed() {
    let builder = ModelServer::builder().model("a").model("b");
    let server = builder.start(Vec::<Reply>::new()).await.unwrap();
    let mut client = Client::connect(&server).await;
    client.send("GET", "/v1/models", &HEADERS, "").await;

    let list = client.response().await.json();

    assert_eq!(list["data"][1]["type"], "model");
    assert_eq!(list["data"][1]["id"], "b");
    assert_eq!(list["has_more"], false);
    assert_eq!(
        (&list["first_id"], &list["last_id"]),
        (&json!("a"), &json!("b"))
    );
}
