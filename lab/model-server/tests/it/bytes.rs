//! The bytes of good replies.

use samovar_model_server::{Index, Part, Reply, TokenCounts, ToolCall, say, think};
use serde_json::json;

use crate::client::{ANTHROPIC, BodyEnd, OPENAI, Response};
use crate::wire::{answer, streamed};

/// The events of a stream, a line each, without what all of them share: the delta or the reason
/// to finish of a chunk of Chat Completions, the index and the change of a block of Messages.
fn events(response: &Response) -> String {
    let mut lines = String::new();
    for event in response.text().split_terminator("\n\n") {
        let chunk = event.split_once(",\"choices\":[{\"index\":0,\"delta\":");
        let block = event.split_once("\ndata: {\"type\":\"content_block_");
        if let Some((_, chunk)) = chunk {
            let (delta, finish) = chunk.split_once(",\"logprobs\":null,").unwrap();
            let finish = finish
                .trim_end_matches("}]}")
                .trim_start_matches("\"finish_reason\":");
            lines += if finish == "null" { delta } else { finish };
        } else if let Some((name, block)) = block {
            let (kind, block) = block[..block.len() - 1].split_once('"').unwrap();
            assert_eq!(name, format!("event: content_block_{kind}"));
            let block = block.replace(",\"index\":", " ");
            let block = block
                .replace(",\"content_block\":", " ")
                .replace(",\"delta\":", " ");
            lines.extend([kind, &block]);
        } else {
            continue;
        }
        lines += "\n";
    }
    lines
}

/// Streams of Chat Completions and of Messages, for the replies of the test below.
const STREAMS: [[&str; 2]; 4] = [
    [
        r#"
{"role":"assistant","content":"","refusal":null}
{"reasoning_content":"Hm, "}
{"reasoning_content":"so"}
{"content":"Yes"}
"stop"
"#,
        r#"
start 0 {"type":"thinking","thinking":"","signature":""}
delta 0 {"type":"thinking_delta","thinking":"Hm, "}
delta 0 {"type":"thinking_delta","thinking":"so"}
delta 0 {"type":"signature_delta","signature":"sig0014009ce18031e6b29f6def75ca52e1cc41c63aab59f190d2c56d82071fc88f"}
stop 0
start 1 {"type":"redacted_thinking","data":"sig045993d777c3fc23c644d0a3796e2345d9f02f8cefe0069436de0161361860af68696464656e"}
stop 1
start 2 {"type":"text","text":""}
delta 2 {"type":"text_delta","text":"Yes"}
stop 2
"#,
    ],
    [
        r#"
{"role":"assistant","content":null,"refusal":null}
{"tool_calls":[{"index":0,"id":"call_0_0","type":"function","function":{"name":"read_file","arguments":""}}]}
{"tool_calls":[{"index":1,"id":"mine","type":"function","function":{"name":"list_dir","arguments":""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"{\"path"}}]}
{"tool_calls":[{"index":1,"function":{"arguments":"{}"}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"\":\"a\"}"}}]}
"tool_calls"
"#,
        r#"
start 0 {"type":"tool_use","id":"toolu_0_0","name":"read_file","input":{}}
delta 0 {"type":"input_json_delta","partial_json":""}
start 1 {"type":"tool_use","id":"mine","name":"list_dir","input":{}}
delta 1 {"type":"input_json_delta","partial_json":""}
delta 0 {"type":"input_json_delta","partial_json":"{\"path"}
delta 1 {"type":"input_json_delta","partial_json":"{}"}
stop 1
delta 0 {"type":"input_json_delta","partial_json":"\":\"a\"}"}
stop 0
"#,
    ],
    [
        r#"
{"role":"assistant","content":"","refusal":null}
{"content":"So."}
{"tool_calls":[{"index":0,"id":"call_0_0","type":"function","function":{"name":"now","arguments":""}}]}
"tool_calls"
"#,
        r#"
start 0 {"type":"text","text":""}
delta 0 {"type":"text_delta","text":"So."}
stop 0
start 1 {"type":"tool_use","id":"toolu_0_0","name":"now","input":{}}
delta 1 {"type":"input_json_delta","partial_json":""}
stop 1
"#,
    ],
    [
        r#"
{"role":"assistant","content":null,"refusal":null}
{"tool_calls":[{"index":0,"type":"function","function":{"name":"a","arguments":""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}
{"tool_calls":[{"index":0,"id":"same","type":"function","function":{"name":"b","arguments":""}}]}
{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}
{"tool_calls":[{"id":"same","type":"function","function":{"name":"c","arguments":""}}]}
{"tool_calls":[{"function":{"arguments":"{}"}}]}
{"tool_calls":[{"index":3,"id":"call_0_3","type":"function","function":{"name":"d","arguments":""}}]}
{"tool_calls":[{"index":3,"function":{"arguments":"{\"a\": "}}]}
"tool_calls"
"#,
        r#"
start 0 {"type":"tool_use","name":"a","input":{}}
delta 0 {"type":"input_json_delta","partial_json":""}
delta 0 {"type":"input_json_delta","partial_json":"{}"}
stop 0
start 0 {"type":"tool_use","id":"same","name":"b","input":{}}
delta 0 {"type":"input_json_delta","partial_json":""}
delta 0 {"type":"input_json_delta","partial_json":"{}"}
stop 0
start {"type":"tool_use","id":"same","name":"c","input":{}}
delta {"type":"input_json_delta","partial_json":""}
delta {"type":"input_json_delta","partial_json":"{}"}
stop
start 3 {"type":"tool_use","id":"toolu_0_3","name":"d","input":{}}
delta 3 {"type":"input_json_delta","partial_json":""}
delta 3 {"type":"input_json_delta","partial_json":"{\"a\": "}
stop 3
"#,
    ],
];

#[tokio::test]
async fn replies_are_exactly_these_streams() {
    let hidden = Part::RedactedReasoning("hidden".to_owned());
    let call = |name: &str, arguments| ToolCall::new(name, arguments);
    let replies = [
        think("Hm, so").and(hidden).and_say("Yes"),
        Reply::of(Part::Interleaved(vec![
            call("read_file", json!({"path": "a"})),
            call("list_dir", json!({})).id("mine"),
        ]))
        .deltas_of(6),
        say("So.").and(call("now", json!({})).raw_arguments("")),
        Reply::of(call("a", json!({})).without_id())
            .and(call("b", json!({})).id("same").index(Index::Fixed(0)))
            .and(call("c", json!({})).id("same").index(Index::Missing))
            .and(call("d", json!({})).raw_arguments("{\"a\": "))
            .deltas_of(0),
    ];
    for (reply, [openai, anthropic]) in replies.into_iter().zip(STREAMS) {
        let chunks = events(&streamed(&OPENAI, reply.clone()).await);
        assert_eq!(chunks, openai[1..]);
        let blocks = events(&streamed(&ANTHROPIC, reply).await);
        assert_eq!(blocks, anthropic[1..]);
    }
}

const COUNTS: TokenCounts = TokenCounts {
    input: 9,
    output: 3,
    cached: 4,
    cache_written: 2,
    reasoning: 1,
};

/// The bytes of a streamed text in Chat Completions.
fn chunks() -> String {
    let chunk = |choices: &str, usage: &str| {
        format!(
            "data: {{\"id\":\"chatcmpl-0\",\"object\":\"chat.completion.chunk\",\
             \"created\":1750000000,\"model\":\"m\",\"service_tier\":\"default\",\
             \"system_fingerprint\":\"fp_scripted\",\"choices\":[{choices}],\
             \"usage\":{usage}}}\n\n"
        )
    };
    let choice = |delta: &str, finish: &str| {
        let rest = format!("\"logprobs\":null,\"finish_reason\":{finish}");
        chunk(&format!("{{\"index\":0,\"delta\":{delta},{rest}}}"), "null")
    };
    [
        choice(
            r#"{"role":"assistant","content":"","refusal":null}"#,
            "null",
        ),
        choice(r#"{"content":"Héll"}"#, "null"),
        choice(r#"{"content":"o"}"#, "null"),
        choice("{}", "\"stop\""),
        chunk(
            "",
            "{\"prompt_tokens\":9,\"completion_tokens\":3,\"total_tokens\":12,\
             \"prompt_tokens_details\":{\"cached_tokens\":4,\"audio_tokens\":0},\
             \"completion_tokens_details\":{\"reasoning_tokens\":1,\"audio_tokens\":0}}",
        ),
        "data: [DONE]\n\n".to_owned(),
    ]
    .concat()
}

/// The same in Messages.
fn messages() -> String {
    let event = |name: &str, fields: &str| {
        format!("event: {name}\ndata: {{\"type\":\"{name}\"{fields}}}\n\n")
    };
    let usage = "\"usage\":{\"input_tokens\":3,\"cache_creation_input_tokens\":2,\
                 \"cache_read_input_tokens\":4,\"output_tokens\":";
    let message = "\"id\":\"msg_0\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\
                   \"content\":[],\"stop_reason\":null,\"stop_sequence\":null";
    let delta = |text: &str| {
        let delta = format!("{{\"type\":\"text_delta\",\"text\":\"{text}\"}}");
        event(
            "content_block_delta",
            &format!(",\"index\":0,\"delta\":{delta}"),
        )
    };
    [
        event(
            "message_start",
            &format!(",\"message\":{{{message},{usage}1}}}}"),
        ),
        event("ping", ""),
        event(
            "content_block_start",
            r#","index":0,"content_block":{"type":"text","text":""}"#,
        ),
        delta("Héll"),
        delta("o"),
        event("content_block_stop", ",\"index\":0"),
        event(
            "message_delta",
            &format!(
                ",\"delta\":{{\"stop_reason\":\"end_turn\",\"stop_sequence\":null}},{usage}3}}"
            ),
        ),
        event("message_stop", ""),
    ]
    .concat()
}

#[tokio::test]
async fn streamed_text_is_exactly_these_bytes() {
    let table = [
        (&OPENAI, chunks(), "x-request-id", "request-id"),
        (&ANTHROPIC, messages(), "request-id", "x-request-id"),
    ];
    for (dialect, expected, id, other) in table {
        let mut body = dialect.prompt("hi");
        if dialect.path == OPENAI.path {
            body["stream_options"] = json!({"include_usage": true});
        }
        let response = answer(dialect, say("Héllo").deltas_of(4).usage(COUNTS), &body).await;
        assert_eq!(response.text(), expected);
        let head = response.head;
        assert_eq!((head.status, response.end), (200, BodyEnd::Whole));
        let content_type = head.header("content-type");
        assert_eq!(content_type, Some("text/event-stream; charset=utf-8"));
        assert_eq!((head.header(id), head.header(other)), (Some("req_0"), None));
    }
}
