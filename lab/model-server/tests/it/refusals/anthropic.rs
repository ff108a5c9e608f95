//! What Messages refuses: how the sentence begins.

use samovar_model_server::{ModelServer, Part, Reply, call, say, think};
use serde_json::{Value, json};

use super::{changed, check, rows, send};
use crate::{client::ANTHROPIC, wire::gathered};

const FIELDS: &str = r#"
 -> taken
/system "Be brief." -> taken
/system "" -> taken
/system null -> taken
/temperature 0 -> taken
/temperature 1 -> taken
/temperature null -> taken
/max_tokens 1 -> taken
/tools/0/name a-B_9*25 -> taken
/tools/0/type "custom" -> taken
/tools/1 {"type":"web_search_20250305","name":"web_search"} -> taken
/tool_choice {"type":"tool","name":"read_file"} -> taken
/tool_choice {"type":"none"} -> taken
/tool_choice {"type":"none"} & /tools - -> taken
/thinking {"type":"disabled"} -> taken
/messages/2/content/1/content [{"type":"image","source":{}}] -> taken
/messages/2/content/0/content "" -> taken
/messages/2/content/0/content [] -> taken
/messages/2/content/0/content - -> taken
/messages/2/content/2 - -> taken
/stream false -> taken

/model - -> model:
/model 7 -> model:
/model "" -> model:
/max_tokens - -> max_tokens:
/max_tokens 0 -> max_tokens:
/max_tokens -5 -> max_tokens:
/max_tokens 1.5 -> max_tokens:
/messages - -> messages:
/messages "x" -> messages:
/messages [] -> messages:
/temperature -0.1 -> temperature:
/temperature 1.1 -> temperature:
/temperature "hot" -> temperature:
/top_p 2 -> top_p:
/top_k -1 -> top_k:
/stream "yes" -> stream:
/stop_sequences [" "] -> stop_sequences.0:
/stop_sequences "END" -> stop_sequences:
/stop_sequences/0 1 -> stop_sequences.0:
/service_tier "gold" -> service_tier:
/system 7 -> system:
/system/0/text "" -> system.0.text:
/system/0/type "image" -> system.0.type:
/metadata/session 1 -> metadata.session:
/stream_options {} -> stream_options:
/max_completion_tokens 1 -> max_completion_tokens:
/speed "fast" -> speed:
/seed null -> seed:

/tools/0/name "a b" -> tools.0.name:
/tools/0/name "файл" -> tools.0.name:
/tools/0/name "" -> tools.0.name:
/tools/0/name "a.b" -> tools.0.name:
/tools/0/name a*129 -> tools.0.name:
/tools/0/name 1 -> tools.0.name:
/tools/0/description 1 -> tools.0.description:
/tools/0/parameters {} -> tools.0.parameters:
/tools/0/input_schema - -> tools.0.input_schema:
/tools/0/input_schema [] -> tools.0.input_schema:
/tools/0/input_schema {} -> tools.0.input_schema.type:
/tools/0/input_schema/type "string" -> tools.0.input_schema.type:
/tools/0/input_schema/anyOf [] -> tools.0.input_schema.anyOf:
/tools/0/cache_control true -> tools.0.cache_control:
/tools/0/cache_control/type "forever" -> tools.0.cache_control.type:
/tools/0/cache_control/ttl "2h" -> tools.0.cache_control.ttl:
/tools/1 {"name":"read_file","input_schema":{"type":"object"}} -> tools: Tool names must be unique.

/tools - -> tool_choice may only be specified while providing tools.
/tool_choice {"type":"tool","name":"paint"} -> Tool 'paint' not found in provided tools
/tool_choice {"type":"tool"} -> tool_choice.name:
/tool_choice "auto" -> tool_choice:
/tool_choice {"type":"required"} -> tool_choice.type:
/tool_choice {"type":"none","disable_parallel_tool_use":true} -> tool_choice.disable_parallel_tool_use:

/messages/0 "hi" -> messages.0:
/messages/0/name "x" -> messages.0.name:
/messages/0/role - -> messages.0.role:
/messages/0/role "tool" -> messages.0.role:
/messages/0/role "system" -> messages.0.role:
/messages/0/content - -> messages.0.content:
/messages/0/content 7 -> messages.0.content:
/messages/0/content " " -> messages.0.content:
/messages/0/content ["hi"] -> messages.0.content.0:
/messages/0/content [{"type":"text"}] -> messages.0.content.0.text:
/messages/0/content [{"type":"text","text":""}] -> messages.0.content.0.text:
/messages/0/content [{"type":"text","text":"  \n"}] -> messages.0.content.0.text:
/messages/0/content [{"type":"tool_use","id":"1","name":"t","input":{}}] -> messages.0.content.0.type:
/messages/0/content [{"type":"thinking","thinking":"a","signature":"b"}] -> messages.0.content.0.type:
/messages/1/content [{"type":"tool_result","tool_use_id":"1"}] -> messages.1.content.0.type:
/messages/1/content [{"type":"image","source":{}}] -> messages.1.content.0.type:
/messages/1/content/0/tone "warm" -> messages.1.content.0.tone:
/messages/1/content/1/id "call:1" -> messages.1.content.1.id:
/messages/1/content/1/input "{}" -> messages.1.content.1.input:
/messages/1/content/1/name "read file" -> messages.1.content.1.name:
/messages/1/content/1/index 0 -> messages.1.content.1.index:
/messages/2/content/2 {"type":"smell"} -> messages.2.content.2.type:
/messages/2/content/0/tool_use_id "" -> messages.2.content.0.tool_use_id:
/messages/2/content/0/name "read_file" -> messages.2.content.0.name:
/messages/2/content/1/content [] -> messages.2.content.1.content:
/messages/2/content/1/content "" -> messages.2.content.1.content:
/messages/2/content/1/content - -> messages.2.content.1.content:
/messages/2/content/1/content/0/text "" -> messages.2.content.1.content.0.text:
/messages/2/content/1/content/0/type "tool_use" -> messages.2.content.1.content.0.type:
"#;

/// Messages in short: `u` and `a` say a word, `c` calls with these ids, `r` has their results.
const ORDER: &str = r#"
u:a / u:b -> taken
u:a / a:b / a:c / u:d -> taken
u:a / a:b -> taken
u:a / a: -> taken
u:a / c:1 / c:2 / r:1,2 -> taken
u:a / c:1,2 / r:2 / r:1 / u:b -> taken
u:a / c:1 / r:1 / c:2 / r:2 -> taken
a:a / u:b -> messages: first message must use the "user" role
u: -> messages.0: all messages must have non-empty content except
u:a / a: / u:b -> messages.1: all messages must have non-empty content except
u:a / c: / u:b -> messages.1: all messages must have non-empty content except
u:a / a:So  -> messages: final assistant content cannot end with trailing whitespace
u:a / c:1 -> messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1.
u:a / c:1 / u:b -> messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1.
u:a / c:1,2,3 / r:2 -> messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1, 3.
u:a / c:1 / u:b / r:1 -> messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1.
u:a / c:1 / r:2 -> messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: 1.
u:a / c:1 / r:1,2 -> messages.2.content.1: unexpected `tool_use_id` found in `tool_result` blocks: 2.
r:1 -> messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1.
u:a / a:b / r:1 -> messages.2.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1.
u:a / c:1 / r:1 / a:b / r:1 -> messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: 1.
u:a / c:1 / r:1,1 -> messages.2.content.1: each tool_use must have a single result.
u:a / c:1,1 / r:1 -> messages.1.content.1: `tool_use` ids must be unique
u:a / c:1 / r:1 / c:1 / r:1 -> messages.3.content.0: `tool_use` ids must be unique
"#;

/// Changes of a prompt with thinking switched on.
const THINKING: &str = r#"
/temperature 1 & /top_p 0.95 -> taken
/thinking {"type":"adaptive","display":"omitted"} -> taken
/temperature 0.5 -> `temperature` may only be set to 1 when thinking is enabled.
/thinking {"type":"adaptive"} & /temperature 0 -> `temperature` may only be set to 1 when thinking is enabled.
/top_k 5 -> `top_k` must be unset when thinking is enabled.
/top_p 0.9 -> `top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.
/tool_choice {"type":"any"} -> Thinking may not be enabled when tool_choice forces tool use.
/max_tokens 2048 -> `max_tokens` must be greater than `thinking.budget_tokens`.
/thinking {"type":"enabled","budget_tokens":1023} -> thinking.budget_tokens:
/thinking {"type":"enabled"} -> thinking.budget_tokens:
/thinking {"type":"adaptive","budget_tokens":2048} -> thinking.budget_tokens:
/thinking {"type":"adaptive","display":"loud"} -> thinking.display:
/thinking {"type":"high"} -> thinking.type:
"#;

/// A good prompt with a tool, a call and its result.
fn good() -> Value {
    let mark = json!({"type": "ephemeral"});
    json!({
        "model": "m",
        "max_tokens": 4096,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": mark}],
        "tools": [{
            "name": "read_file",
            "description": "Reads.",
            "input_schema": {"type": "object", "properties": {}},
            "cache_control": {"type": "ephemeral", "ttl": "1h"},
        }],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "messages": [
            {"role": "user", "content": "read"},
            {"role": "assistant", "content": [
                {"type": "text", "text": "Reading."},
                {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}},
                {"type": "tool_use", "id": "c-2", "name": "read_file", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "c-2", "content": "two"},
                {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": true,
                 "content": [{"type": "text", "text": "one"}]},
                {"type": "text", "text": "and now?"},
            ]},
        ],
    })
}

fn conversation(messages: &str) -> Value {
    let messages = messages.split(" / ").map(|message| {
        let (kind, said) = message.split_once(':').unwrap();
        let ids = said.split(',').filter(|id| !id.is_empty());
        let role = if matches!(kind, "u" | "r") {
            "user"
        } else {
            "assistant"
        };
        let content: Value = match kind {
            "c" => ids
                .map(|id| json!({"type": "tool_use", "id": id, "name": "t", "input": {}}))
                .collect(),
            "r" => ids
                .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": "r"}))
                .collect(),
            _ => said.into(),
        };
        json!({"role": role, "content": content})
    });
    json!({"model": "m", "max_tokens": 4096, "messages": messages.collect::<Vec<_>>()})
}

/// Checks that `body` is refused with a sentence that begins so, or taken.
async fn outcome(body: &Value, begin: &str) {
    let error = check(&ANTHROPIC, body, begin == "taken").await;
    if begin != "taken" {
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with(begin), "{message}, not {begin}: {body}");
    }
}

#[tokio::test]
async fn prompts_are_taken_or_refused_as_by_the_real_service() {
    for (changes, begin) in rows(FIELDS) {
        outcome(&changed(&good(), changes), begin).await;
    }
    for (messages, begin) in rows(ORDER) {
        outcome(&conversation(messages), begin).await;
    }
    let mut late = conversation("u:a / c:1 / r:1");
    let results = late["messages"][2]["content"].as_array_mut().unwrap();
    results.insert(0, json!({"type": "text", "text": "first this"}));
    outcome(&late, "messages.1: `tool_use` ids were found without").await;
    let mut thoughtful = ANTHROPIC.plain("hi");
    thoughtful["max_tokens"] = 4096.into();
    thoughtful["thinking"] = json!({"type": "enabled", "budget_tokens": 2048});
    thoughtful["tools"] = json!([{"name": "t", "input_schema": {"type": "object"}}]);
    for (changes, begin) in rows(THINKING) {
        outcome(&changed(&thoughtful, changes), begin).await;
    }
}

#[tokio::test]
async fn beta_parameter_needs_its_header() {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    let mut headers = ANTHROPIC.headers.to_vec();
    headers.push(("anthropic-beta", "fast-mode"));
    let body = changed(&good(), r#"/speed "fast""#).to_string();
    let response = send(&server, &ANTHROPIC, &headers, &body).await;
    assert_eq!(response.head.status, 200);
}

#[tokio::test]
async fn more_marks_than_four_are_refused() {
    let mark = json!({"type": "ephemeral"});
    let mut body = good();
    body["messages"][2]["content"][1]["content"][0]["cache_control"] = mark.clone();
    body["messages"][2]["content"][2]["cache_control"] = mark.clone();
    outcome(&body, "taken").await;
    let message = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
    let mut last = body.clone();
    last["cache_control"] = mark.clone();
    outcome(&last, message).await;
    body["messages"][1]["content"][1]["cache_control"] = mark;
    outcome(&body, message).await;
}

/// The content of a reply, as a client has gathered it.
async fn content(reply: Reply) -> Vec<Value> {
    let server = ModelServer::start([reply]).await.unwrap();
    gathered(&ANTHROPIC.ask(&server, &ANTHROPIC.prompt("hi")).await)
}

/// A prompt with thinking switched on that sends `content` back.
fn thoughtful(content: &[Value]) -> Value {
    let calls = content.iter().filter(|block| block["type"] == "tool_use");
    let ids: Vec<_> = calls.map(|block| block["id"].as_str().unwrap()).collect();
    let mut body = conversation(&format!("u:a / c: / r:{}", ids.join(",")));
    body["messages"][1]["content"] = content.into();
    body["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    body
}

#[tokio::test]
async fn thinking_comes_back_unchanged() {
    let reply = think("Let me see")
        .and(Part::RedactedReasoning("hidden".to_owned()))
        .and_say("Looking.")
        .and_call("t", json!({}));
    let content = content(reply).await;
    let table = [
        ("/max_tokens 4096", "taken"),
        (
            "/messages/1/content/0/thinking \"Let me seE\"",
            "messages.1.content.0: Invalid `signature`",
        ),
        (
            "/messages/1/content/0/thinking \"\"",
            "messages.1.content.0: Invalid `signature`",
        ),
        (
            "/messages/1/content/0/signature \"sig\"",
            "messages.1.content.0: Invalid `signature`",
        ),
        (
            "/messages/1/content/0/signature \"\"",
            "messages.1.content.0: Invalid `signature`",
        ),
        (
            "/messages/1/content/0/signature -",
            "messages.1.content.0.signature:",
        ),
        (
            "/messages/1/content/0/cache_control {\"type\":\"ephemeral\"}",
            "messages.1.content.0.cache_control:",
        ),
        (
            "/messages/1/content/1/data \"sig\"",
            "messages.1.content.1: Invalid `data`",
        ),
    ];
    for (changes, begin) in table {
        outcome(&changed(&thoughtful(&content), changes), begin).await;
    }
    let mut swapped = content.clone();
    swapped[1]["data"] = content[0]["signature"].clone();
    outcome(
        &thoughtful(&swapped),
        "messages.1.content.1: Invalid `data`",
    )
    .await;
}

#[tokio::test]
async fn omitted_thinking_is_missed_while_it_is_switched_on() {
    let expected = |found: &str| {
        format!(
            "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
             `{found}`."
        )
    };
    let bare = content(think("Hm").and_call("t", json!({}))).await;
    outcome(&thoughtful(&bare[1..]), &expected("tool_use")).await;
    let words = content(think("Hm").and_say("So").and_call("t", json!({}))).await;
    outcome(&thoughtful(&words[1..]), &expected("text")).await;
    let mut prefilled = conversation("u:a / a:So");
    prefilled["thinking"] = json!({"type": "enabled", "budget_tokens": 1024});
    outcome(&prefilled, &expected("text")).await;

    for kind in ["adaptive", "disabled"] {
        let mut body = thoughtful(&bare[1..]);
        body["thinking"] = json!({"type": kind});
        outcome(&body, "taken").await;
    }
    let thoughtless = content(call("t", json!({}))).await;
    outcome(&thoughtful(&thoughtless), "taken").await;
    let mut over = thoughtful(&bare);
    let messages = over["messages"].as_array_mut().unwrap();
    messages.push(json!({"role": "assistant", "content": "Done."}));
    messages.push(json!({"role": "user", "content": "and?"}));
    outcome(&over, "taken").await;
}
