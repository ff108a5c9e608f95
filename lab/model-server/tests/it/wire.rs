//! The bytes of good replies.

use std::{num::NonZeroUsize, time::Duration};

use samovar_model_server::{
    Finish, Index, ModelServer, Newline, Part, Reply, TokenCounts, ToolCall, call, say, think,
};
use serde_json::{Value, json};

use crate::client::{Client, End, Response, ask, plain, prompt};

async fn answer(reply: Reply, body: &Value) -> Response {
    let server = ModelServer::start([reply]).await.unwrap();
    ask(&server, body).await
}

#[tokio::test]
async fn a_streamed_text_is_exactly_these_bytes() {
    let counts = TokenCounts {
        input: 9,
        output: 3,
        cached: 8,
        cache_written: 0,
        reasoning: 1,
    };
    let mut body = prompt("hi");
    body["stream_options"] = json!({"include_usage": true});

    let response = answer(say("Héllo").deltas_of(4).usage(counts), &body).await;

    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\
             \"created\":1750000000,\"model\":\"m\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_scripted\",\"choices\":[{choices}],\
             \"usage\":{usage}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        format!("{{\"index\":0,\"delta\":{delta},\"logprobs\":null,\"finish_reason\":{finish}}}")
    };
    let expected = [
        chunk(
            &choice(
                r#"{"role":"assistant","content":"","refusal":null}"#,
                "null",
            ),
            "null",
        ),
        chunk(&choice(r#"{"content":"Héll"}"#, "null"), "null"),
        chunk(&choice(r#"{"content":"o"}"#, "null"), "null"),
        chunk(&choice("{}", "\"stop\""), "null"),
        chunk(
            "",
            "{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12,\
             \"prompt_tokens_details\":{\"cached_tokens\":8,\"audio_tokens\":0},\
             \"completion_tokens_details\":{\"reasoning_tokens\":1,\"audio_tokens\":0}}",
        ),
        "data: [DONE]\n\n".to_owned(),
    ];
    assert_eq!(response.text(), expected.concat());
    assert_eq!(response.end, End::Whole);
    let head = response.head;
    assert_eq!(head.status, 200);
    let content_type = head.header("content-type");
    assert_eq!(content_type, Some("text/event-stream; charset=utf-8"));
    assert_eq!(head.header("x-request-id"), Some("req_0"));
}

#[tokio::test]
async fn usage_comes_only_when_it_is_asked_for() {
    let response = answer(say("Hi"), &prompt("hi")).await;
    assert!(!response.text().contains("usage"));
    assert_eq!(response.data().len(), 4);

    let mut body = prompt("hi");
    body["stream_options"] = json!({"include_usage": true});
    let response = answer(say("Hi").without_usage(), &body).await;
    assert!(!response.text().contains("prompt_tokens"));

    let response = answer(say("12345"), &body).await;
    let last: Value = serde_json::from_str(response.data()[4]).unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["completion_tokens"], 2);
    let bytes = u64::try_from(body.to_string().len()).unwrap();
    assert_eq!(last["usage"]["prompt_tokens"], bytes.div_ceil(4));
}

#[tokio::test]
async fn reasoning_comes_before_text_in_its_own_field() {
    let response = answer(think("Hm, so").and_say("Yes"), &prompt("hi")).await;

    assert_eq!(
        response.deltas()[1..4],
        [
            json!({"reasoning_content": "Hm, "}),
            json!({"reasoning_content": "so"}),
            json!({"content": "Yes"}),
        ]
    );
}

#[tokio::test]
async fn calls_open_first_and_their_fragments_come_in_turns() {
    let calls = vec![
        ToolCall::new("read_file", json!({"path": "a"})),
        ToolCall::new("list_dir", json!({})).id("mine"),
    ];

    let reply = Reply::of(Part::Interleaved(calls)).deltas_of(6);
    let response = answer(reply, &prompt("hi")).await;

    let call = |index: usize, call: Value| {
        let mut call = call;
        call["index"] = index.into();
        json!({"tool_calls": [call]})
    };
    let opened = |index, id: &str, name: &str| {
        let function = json!({"name": name, "arguments": ""});
        call(
            index,
            json!({"id": id, "type": "function", "function": function}),
        )
    };
    let fragment = |index, text: &str| call(index, json!({"function": {"arguments": text}}));
    assert_eq!(
        response.deltas(),
        [
            json!({"role": "assistant", "content": null, "refusal": null}),
            opened(0, "call_0_0", "read_file"),
            opened(1, "mine", "list_dir"),
            fragment(0, "{\"path"),
            fragment(1, "{}"),
            fragment(0, "\":\"a\"}"),
            json!({}),
        ]
    );
    assert!(response.text().contains("\"finish_reason\":\"tool_calls\""));
}

#[tokio::test]
async fn calls_can_be_as_wrong_as_servers_make_them() {
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
    let response = answer(reply, &prompt("hi")).await;

    let deltas = response.deltas();
    let calls: Vec<_> = deltas[1..9]
        .iter()
        .map(|delta| &delta["tool_calls"][0])
        .collect();
    assert_eq!(calls[0].get("id"), None);
    assert_eq!(calls[0]["index"], 0);
    assert_eq!(
        (&calls[2]["id"], &calls[2]["index"]),
        (&json!("same"), &json!(0))
    );
    assert_eq!(calls[4]["id"], "same");
    assert_eq!(calls[4].get("index"), None);
    assert_eq!(calls[5].get("index"), None);
    assert_eq!(calls[6]["index"], 3);
    assert_eq!(calls[7]["function"]["arguments"], "{\"a\": ");
}

#[tokio::test]
async fn finish_reasons_are_in_the_words_of_the_dialect() {
    let table = [
        (say("x"), Some("stop")),
        (call("a", json!({})), Some("tool_calls")),
        (call("a", json!({})).finish(Finish::Stop), Some("stop")),
        (say("x").finish(Finish::ToolCalls), Some("tool_calls")),
        (say("x").finish(Finish::Length), Some("length")),
        (
            say("x").finish(Finish::ContentFilter),
            Some("content_filter"),
        ),
        (
            say("x").finish(Finish::Other("eos".to_owned())),
            Some("eos"),
        ),
        (say("x").finish(Finish::Absent), None),
    ];
    for (reply, expected) in table {
        let streamed = answer(reply.clone(), &prompt("hi")).await;
        let chunks = streamed.data().into_iter().filter(|data| *data != "[DONE]");
        let reasons: Vec<String> = chunks
            .filter_map(|data| {
                let chunk: Value = serde_json::from_str(data).unwrap();
                chunk["choices"][0]["finish_reason"]
                    .as_str()
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(reasons.first().map(String::as_str), expected);

        let whole = answer(reply, &plain("hi")).await.json();
        assert_eq!(whole["choices"][0]["finish_reason"].as_str(), expected);
    }
}

#[tokio::test]
async fn a_prompt_without_stream_gets_one_completion() {
    let reply = think("Hm")
        .and_say("One")
        .and_say(" two")
        .and_call("a", json!({"b": 1}));
    let response = answer(reply, &plain("hi")).await;

    assert_eq!(
        response.head.header("content-type"),
        Some("application/json")
    );
    let mut completion = response.json();
    assert!(completion["usage"]["total_tokens"].as_u64() > Some(0));
    completion.as_object_mut().unwrap().remove("usage");
    assert_eq!(
        completion,
        json!({
            "id": "chatcmpl-0",
            "object": "chat.completion",
            "created": 1_750_000_000,
            "model": "m",
            "choices": [{
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "One two",
                    "refusal": null,
                    "reasoning_content": "Hm",
                    "tool_calls": [{
                        "id": "call_0_0",
                        "type": "function",
                        "function": {"name": "a", "arguments": "{\"b\":1}"},
                    }],
                },
                "logprobs": null,
                "finish_reason": "tool_calls",
            }],
            "service_tier": "default",
            "system_fingerprint": "fp_scripted",
        })
    );
}

#[tokio::test]
async fn a_stream_may_be_framed_in_every_way_that_the_format_allows() {
    for newline in [Newline::Lf, Newline::CrLf, Newline::Cr] {
        let reply = say("x")
            .and(Part::Comment("working".to_owned()))
            .and(Part::Raw("not json\nat all".to_owned()))
            .newline(newline)
            .bom();
        let response = answer(reply, &prompt("hi")).await;

        let text = response.text();
        assert!(text.starts_with("\u{feff}data: {"), "{text}");
        let end = match newline {
            Newline::Lf => "\n",
            Newline::CrLf => "\r\n",
            Newline::Cr => "\r",
        };
        let middle = format!("}}{end}{end}: working{end}{end}data: not json{end}data: at all{end}");
        assert!(text.contains(&middle), "{text}");
        assert!(text.ends_with(&format!("data: [DONE]{end}{end}")), "{text}");
    }
}

#[tokio::test]
async fn one_connection_carries_many_replies_with_and_without_v1() {
    let server = ModelServer::start([say("one"), say("two"), say("three")])
        .await
        .unwrap();
    let mut client = Client::connect(&server).await;
    let json = [("content-type", "application/json; charset=utf-8")];

    client.ask(&prompt("hi")).await;
    assert_eq!(client.response().await.said(), "one");
    client
        .send("POST", "/chat/completions", &json, &plain("hi").to_string())
        .await;
    let second = client.response().await.json();
    assert_eq!(second["choices"][0]["message"]["content"], "two");
    client.ask(&prompt("hi")).await;
    assert_eq!(client.response().await.said(), "three");
}

#[tokio::test]
async fn models_are_listed() {
    let table = [
        (ModelServer::builder(), json!(["scripted"])),
        (
            ModelServer::builder().model("a").model("b"),
            json!(["a", "b"]),
        ),
    ];
    for (builder, names) in table {
        let server = builder.start(Vec::<Reply>::new()).await.unwrap();
        for path in ["/v1/models", "/models"] {
            let mut client = Client::connect(&server).await;
            client.send("GET", path, &[], "").await;
            let list = client.response().await.json();
            assert_eq!(list["object"], "list");
            let models = list["data"].as_array().unwrap().iter();
            let ids: Value = models.map(|model| model["id"].clone()).collect();
            assert_eq!(ids, names);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_paced_reply_waits_between_its_deltas_and_before_its_head() {
    let pace = Duration::from_secs(1);
    let two = NonZeroUsize::new(2).unwrap();
    let table = [
        (say("12345").deltas_of(1), 0),
        (say("12345").deltas_of(1).pace(pace), 4),
        (say("12345").deltas_of(1).bursts(two, pace), 2),
        (say("12345").delay(pace * 7), 7),
    ];
    for (reply, seconds) in table {
        let server = ModelServer::start([reply]).await.unwrap();
        let start = tokio::time::Instant::now();
        assert_eq!(ask(&server, &prompt("hi")).await.said(), "12345");
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}
