//! Good replies: usage, reasons to finish, framing, pace.

use std::time::Duration;

use samovar_model_server::{Finish, ModelServer, Newline, Part, Reply, ToolCall, call, say, think};
use serde_json::{Value, json};

use crate::client::{ANTHROPIC, Client, Dialect, OPENAI, Response};

pub(crate) async fn answer(dialect: &Dialect, reply: Reply, body: &Value) -> Response {
    let server = ModelServer::start([reply]).await.unwrap();
    dialect.ask(&server, body).await
}

pub(crate) async fn streamed(dialect: &Dialect, reply: Reply) -> Response {
    answer(dialect, reply, &dialect.prompt("hi")).await
}

async fn whole(dialect: &Dialect, reply: Reply) -> Value {
    answer(dialect, reply, &dialect.plain("hi")).await.json()
}

/// The content that a client gathers from a stream of Messages by the indexes of its blocks.
pub(crate) fn gathered(response: &Response) -> Vec<Value> {
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for event in response.data() {
        let index = event["index"].as_u64();
        let index = index.map(|index| usize::try_from(index).unwrap());
        if event["type"] == "content_block_start" {
            assert_eq!(index, Some(blocks.len()));
            blocks.push((event["content_block"].clone(), String::new()));
        } else if event["type"] == "content_block_delta" {
            let (block, input) = &mut blocks[index.unwrap()];
            let delta = &event["delta"];
            for field in ["text", "thinking", "signature"] {
                if let Some(more) = delta[field].as_str() {
                    block[field] = (block[field].as_str().unwrap().to_owned() + more).into();
                }
            }
            input.push_str(delta["partial_json"].as_str().unwrap_or_default());
        }
    }
    let finished = blocks.into_iter().map(|(mut block, input)| {
        if !input.is_empty() {
            block["input"] = serde_json::from_str(&input).unwrap();
        }
        block
    });
    finished.collect()
}

#[tokio::test]
async fn usage_is_counted_asked_for_and_kept_back() {
    let mut body = OPENAI.prompt("hi");
    let response = answer(&OPENAI, say("Hi"), &body).await;
    assert!(!response.text().contains("usage"));
    assert_eq!(response.data().len(), 3);
    body["stream_options"] = json!({"include_usage": true});
    let response = answer(&OPENAI, say("Hi").without_usage(), &body).await;
    assert!(!response.text().contains("prompt_tokens"));
    let response = answer(&OPENAI, say("12345"), &body).await;
    let last = response.data().pop().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 2);
    let bytes = u64::try_from(body.to_string().len()).unwrap();
    assert_eq!(last["usage"]["prompt_tokens"], bytes.div_ceil(4));

    for body in [ANTHROPIC.prompt("hi"), ANTHROPIC.plain("hi")] {
        let response = answer(&ANTHROPIC, say("Hi").without_usage(), &body).await;
        assert!(!response.text().contains("usage"));
        assert_eq!(response.said(), "Hi");
    }
}

#[tokio::test]
async fn reasons_to_finish_are_in_the_words_of_the_dialect() {
    let call = || call("a", json!({}));
    let other = |word: &str| say("x").finish(Finish::Other(word.to_owned()));
    let table = [
        (say("x"), Some(("stop", "end_turn"))),
        (call(), Some(("tool_calls", "tool_use"))),
        (call().finish(Finish::Stop), Some(("stop", "end_turn"))),
        (
            say("x").finish(Finish::ToolCalls),
            Some(("tool_calls", "tool_use")),
        ),
        (
            say("x").finish(Finish::Length),
            Some(("length", "max_tokens")),
        ),
        (
            say("x").finish(Finish::ContentFilter),
            Some(("content_filter", "refusal")),
        ),
        (other("eos"), Some(("eos", "eos"))),
        (say("x").finish(Finish::Absent), None),
    ];
    for (reply, words) in table {
        let chunks = streamed(&OPENAI, reply.clone()).await.data();
        let mut reasons = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0]["finish_reason"]);
        let streamed_reason = reasons.find_map(Value::as_str);
        assert_eq!(streamed_reason, words.map(|(openai, _)| openai));
        let whole_reply = whole(&OPENAI, reply.clone()).await;
        let reason = whole_reply["choices"][0]["finish_reason"].as_str();
        assert_eq!(reason, streamed_reason);

        let events = streamed(&ANTHROPIC, reply.clone()).await.data();
        let last = &events[events.len() - 2];
        assert_eq!(last["type"], "message_delta");
        let streamed_reason = last["delta"]["stop_reason"].as_str();
        assert_eq!(streamed_reason, words.map(|(_, anthropic)| anthropic));
        let whole_reply = whole(&ANTHROPIC, reply).await;
        assert_eq!(whole_reply["stop_reason"].as_str(), streamed_reason);
    }
}

#[tokio::test]
async fn prompt_without_stream_gets_one_body() {
    let reply = think("Hm")
        .and_say("One")
        .and_say(" two")
        .and_call("a", json!({"b": 1}));
    let response = answer(&OPENAI, reply.clone(), &OPENAI.plain("hi")).await;
    assert_eq!(
        response.head.header("content-type"),
        Some("application/json")
    );
    let mut completion = response.json();
    assert!(completion["usage"].take()["total_tokens"].as_u64() > Some(0));
    let call = json!({"type": "function", "function": {"name": "a", "arguments": "{\"b\":1}"}, "id": "call_0_0"});
    let message = json!({"role": "assistant", "content": "One two", "refusal": null, "reasoning_content": "Hm", "tool_calls": [call]});
    let expected = json!({
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 1_750_000_000,
        "model": "m",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": "tool_calls"}],
        "service_tier": "default",
        "system_fingerprint": "fp_scripted",
        "usage": null,
    });
    assert_eq!(completion, expected);

    let body = ANTHROPIC.plain("hi");
    let mut message = answer(&ANTHROPIC, reply, &body).await.json();
    let signature = message["content"][0]["signature"].take();
    assert!(!signature.as_str().unwrap().is_empty());
    let expected = json!({
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
            "input_tokens": body.to_string().len().div_ceil(4),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 4,
        },
    });
    assert_eq!(message, expected);
}

/// What a completion or a stream of chunks says: text, reasoning, and the arguments of its calls.
fn chunked(response: &Response) -> (String, String, Vec<String>) {
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::new());
    for data in response.data() {
        let choice = &data["choices"][0];
        let said = choice.get("delta").unwrap_or(&choice["message"]);
        text += said["content"].as_str().unwrap_or_default();
        reasoning += said["reasoning_content"].as_str().unwrap_or_default();
        for (place, call) in said["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
            .enumerate()
        {
            let index = call["index"]
                .as_u64()
                .map_or(place, |index| usize::try_from(index).unwrap());
            calls.resize(calls.len().max(index + 1), String::new());
            calls[index] += call["function"]["arguments"].as_str().unwrap();
        }
    }
    (text, reasoning, calls)
}

#[tokio::test]
async fn stream_and_whole_reply_say_the_same_in_both_dialects() {
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
        Reply::of(ToolCall::new("d", json!({})).raw_arguments("")),
    ];
    for reply in table {
        let server = ModelServer::start([reply.deltas_of(1).times(4)])
            .await
            .unwrap();
        let chunks = OPENAI.ask(&server, &OPENAI.prompt("hi")).await;
        let completion = OPENAI.ask(&server, &OPENAI.plain("hi")).await;
        assert_eq!(chunked(&chunks), chunked(&completion));

        let stream = ANTHROPIC.ask(&server, &ANTHROPIC.prompt("hi")).await;
        let message = ANTHROPIC.ask(&server, &ANTHROPIC.plain("hi")).await.json();
        let content = gathered(&stream);
        let unnumbered =
            |content: &Value| content.to_string().replace("_2_", "_").replace("_3_", "_");
        assert_eq!(
            unnumbered(&content.clone().into()),
            unnumbered(&message["content"])
        );

        let of = |kind: &str, name: &str| -> String {
            let blocks = content.iter().filter(|block| block["type"] == kind);
            blocks.map(|block| block[name].as_str().unwrap()).collect()
        };
        let inputs = content.iter().filter(|block| block["type"] == "tool_use");
        let inputs = inputs.map(|block| block["input"].to_string()).collect();
        let (text, reasoning, mut calls) = chunked(&chunks);
        calls
            .iter_mut()
            .filter(|call| call.is_empty())
            .for_each(|call| *call = "{}".to_owned());
        assert_eq!(
            (of("text", "text"), of("thinking", "thinking"), inputs),
            (text, reasoning, calls)
        );
        let requests = server.requests();
        assert_eq!(requests[0].deltas(), requests[2].deltas());
    }
    let wrong = Reply::of(ToolCall::new("d", json!({})).raw_arguments("{\"a\": "));
    assert_eq!(
        whole(&ANTHROPIC, wrong).await["content"][0]["input"],
        "{\"a\": "
    );
}

#[tokio::test]
async fn stream_is_framed_in_every_way_that_the_format_allows() {
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
        let middle = |name: &str| {
            format!(
                "}}{end}{end}: working{end}{end}data: not json{end}data: at all{end}{end}\
                 {name}data: {{\"type\":\"news\"}}{end}{end}data: {{\"type\":\"a\\nb\"}}{end}{end}"
            )
        };
        let news = format!("event: news{end}");
        let start = format!("event: message_start{end}");
        for (dialect, start, middle) in [
            (&OPENAI, "", middle("")),
            (&ANTHROPIC, &start, middle(&news)),
        ] {
            let response = streamed(dialect, reply.clone()).await;
            let text = response.text();
            assert!(
                text.starts_with(&format!("\u{feff}{start}data: {{")),
                "{text}"
            );
            assert!(text.contains(&middle), "{text}");
            assert!(text.ends_with(&format!("{end}{end}")), "{text}");
        }
    }
}

#[tokio::test]
async fn models_are_listed() {
    let named = ModelServer::builder().model("a").model("b");
    for (builder, names) in [
        (ModelServer::builder(), json!(["scripted"])),
        (named, json!(["a", "b"])),
    ] {
        let server = builder.start(Vec::<Reply>::new()).await.unwrap();
        for (dialect, path) in [
            (&OPENAI, "/v1/models"),
            (&OPENAI, "/models"),
            (&ANTHROPIC, "/v1/models"),
        ] {
            let mut client = Client::connect(&server).await;
            client.send("GET", path, dialect.headers, "").await;
            let list = client.response().await.json();
            let models = list["data"].as_array().unwrap();
            let ids: Value = models.iter().map(|model| model["id"].clone()).collect();
            assert_eq!(ids, names);
            if dialect.path == OPENAI.path {
                assert_eq!(list["object"], "list");
            } else {
                assert_eq!(models[0]["type"], "model");
                assert_eq!(list["has_more"], false);
                let ends = (&list["first_id"], &list["last_id"]);
                assert_eq!(ends, (&ids[0], &ids[models.len() - 1]));
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn paced_reply_waits_between_its_deltas_and_before_its_head() {
    let pace = Duration::from_secs(1);
    let table = [
        (say("12345").deltas_of(1), 0),
        (say("12345").deltas_of(1).pace(pace), 4),
        (say("12345").delay(pace * 7), 7),
    ];
    for (reply, seconds) in table {
        let start = tokio::time::Instant::now();
        assert_eq!(streamed(&OPENAI, reply).await.said(), "12345");
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}
