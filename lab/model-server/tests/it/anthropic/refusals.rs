//! Parameters, tools and blocks that the real service refuses, and this one too.

use samovar_model_server::{Answered, ModelServer, say};
use serde_json::{Value, json};

use super::{HEADERS, ask, plain, send};

/// A good prompt with a tool, a call and its result.
fn good() -> Value {
    json!({
        "model": "m",
        "max_tokens": 4096,
        "temperature": 0.7,
        "top_p": 0.9,
        "top_k": 40,
        "stop_sequences": ["END"],
        "metadata": {"user_id": "u"},
        "service_tier": "auto",
        "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
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

/// The good prompt with something else at `pointer`.
fn with(pointer: &str, value: Value) -> Value {
    let mut body = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    match (parent, key.parse::<usize>()) {
        (Value::Array(items), Ok(index)) if index < items.len() => items[index] = value,
        (Value::Array(items), Ok(_)) => items.push(value),
        (parent, _) => parent[key] = value,
    }
    body
}

fn without(pointer: &str) -> Value {
    let mut body = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Array(items) => drop(items.remove(key.parse().unwrap())),
        parent => drop(parent.as_object_mut().unwrap().shift_remove(key)),
    }
    body
}

/// Checks that `body` is refused with exactly this sentence.
pub(super) async fn check(body: &Value, message: &str) {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    let response = ask(&server, body).await;

    assert_eq!(response.head.status, 400, "{body} got {}", response.text());
    let expected = json!({
        "type": "error",
        "error": {"type": "invalid_request_error", "message": message},
        "request_id": "req_0",
    });
    assert_eq!(response.json(), expected, "{body}");
    assert_eq!(response.head.header("request-id"), Some("req_0"));
    assert!(matches!(
        server.requests()[0].answered(),
        Answered::Refused(refusal) if refusal.status == 400
    ));
    assert_eq!(server.left_over(), [0]);
}

/// Checks that `body` is taken.
pub(super) async fn check_taken(body: &Value) {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    let response = ask(&server, body).await;
    assert_eq!(response.head.status, 200, "{body} got {}", response.text());
}

#[tokio::test]
async fn good_prompts_are_taken() {
    let table = [
        good(),
        plain("hi"),
        with("/system", json!("Be brief.")),
        with("/system", json!("")),
        with("/system", Value::Null),
        with("/temperature", json!(0)),
        with("/temperature", json!(1)),
        with("/temperature", Value::Null),
        with("/max_tokens", json!(1)),
        with("/tools/0/name", json!("a-B_9".repeat(25))),
        with("/tools/0/type", json!("custom")),
        with(
            "/tools/1",
            json!({"type": "web_search_20250305", "name": "web_search"}),
        ),
        with("/tool_choice", json!({"type": "tool", "name": "read_file"})),
        with("/tool_choice", json!({"type": "none"})),
        with("/thinking", json!({"type": "disabled"})),
        with(
            "/messages/2/content/1/content",
            json!([{"type": "image", "source": {}}]),
        ),
        with("/messages/2/content/0/content", json!("")),
        with("/messages/2/content/0/content", json!([])),
        without("/messages/2/content/0/content"),
        without("/messages/2/content/2"),
        with("/stream", json!(false)),
    ];
    for body in table {
        check_taken(&body).await;
    }
}

#[tokio::test]
async fn wrong_parameters_are_refused() {
    for name in ["model", "max_tokens", "messages"] {
        let body = without(&format!("/{name}"));
        check(&body, &format!("{name}: Field required")).await;
    }
    let rows = [
        ("model", json!(7), "Input should be a valid string"),
        (
            "model",
            json!(""),
            "String should have at least 1 character",
        ),
        ("messages", json!("x"), "Input should be a valid list"),
        ("messages", json!([]), "at least one message is required"),
        ("max_tokens", json!(0), "must be greater than or equal to 1"),
        (
            "max_tokens",
            json!(-5),
            "must be greater than or equal to 1",
        ),
        ("max_tokens", json!(1.5), "Input should be a valid integer"),
        ("temperature", json!(-0.1), "range: 0..1"),
        ("temperature", json!(1.1), "range: 0..1"),
        (
            "temperature",
            json!("hot"),
            "Input should be a valid number",
        ),
        ("top_p", json!(2), "range: 0..1"),
        ("top_k", json!(-1), "Input should be a valid integer"),
        ("stream", json!("yes"), "Input should be a valid boolean"),
        (
            "stop_sequences",
            json!([" "]),
            "each stop sequence must contain non-whitespace",
        ),
        (
            "stop_sequences",
            json!("END"),
            "Input should be a valid list",
        ),
        (
            "service_tier",
            json!("gold"),
            "Input should be 'auto' or 'standard_only'",
        ),
        ("system", json!(7), "Input should be a valid list"),
        (
            "stream_options",
            json!({}),
            "Extra inputs are not permitted",
        ),
        (
            "max_completion_tokens",
            json!(1),
            "Extra inputs are not permitted",
        ),
        ("speed", json!("fast"), "Extra inputs are not permitted"),
        ("seed", Value::Null, "Extra inputs are not permitted"),
    ];
    for (name, value, why) in rows {
        check(&with(&format!("/{name}"), value), &format!("{name}: {why}")).await;
    }
}

#[tokio::test]
async fn wrong_items_of_parameters_are_refused() {
    let metadata = with("/metadata/session", json!(1));
    check(
        &metadata,
        "metadata.session: Extra inputs are not permitted",
    )
    .await;
    let stop = with("/stop_sequences/0", json!(1));
    check(&stop, "stop_sequences.0: Input should be a valid string").await;
    let empty = with("/system/0/text", json!(""));
    check(&empty, "system: text content blocks must be non-empty").await;
    let other = with("/system/0/type", json!("image"));
    let why = "system.0: Input tag 'image' found using 'type' does not match any of the expected \
               tags: 'text'";
    check(&other, why).await;
}

#[tokio::test]
async fn a_beta_that_is_named_brings_its_parameters() {
    let server = ModelServer::start([say("fine").forever()]).await.unwrap();
    let mut headers = HEADERS.to_vec();
    headers.push(("anthropic-beta", "fast-mode"));
    let body = with("/speed", json!("fast")).to_string();

    assert_eq!(send(&server, &headers, &body).await.head.status, 200);
    assert_eq!(send(&server, &HEADERS, &body).await.head.status, 400);
}

#[tokio::test]
async fn wrong_tools_are_refused() {
    let pattern = "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'";
    for name in ["a b", "файл", "", "a.b", &"a".repeat(129)] {
        let body = with("/tools/0/name", json!(name));
        check(&body, &format!("tools.0.custom.name: {pattern}")).await;
    }
    let rows = [
        ("/name", json!(1), "name: Input should be a valid string"),
        (
            "/description",
            json!(1),
            "description: Input should be a valid string",
        ),
        (
            "/parameters",
            json!({}),
            "parameters: Extra inputs are not permitted",
        ),
        (
            "/input_schema",
            json!([]),
            "input_schema: Input should be a valid dictionary",
        ),
        (
            "/input_schema",
            json!({}),
            "input_schema.type: Field required",
        ),
        (
            "/input_schema/type",
            json!("string"),
            "input_schema.type: Input should be 'object'",
        ),
        (
            "/input_schema/anyOf",
            json!([]),
            "input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level",
        ),
        (
            "/cache_control",
            json!(true),
            "cache_control: Input should be a valid dictionary",
        ),
        (
            "/cache_control/type",
            json!("forever"),
            "cache_control.type: Input should be 'ephemeral'",
        ),
        (
            "/cache_control/ttl",
            json!("2h"),
            "cache_control.ephemeral.ttl: Input should be '5m' or '1h'",
        ),
    ];
    for (pointer, value, why) in rows {
        let body = with(&format!("/tools/0{pointer}"), value);
        check(&body, &format!("tools.0.custom.{why}")).await;
    }
    let schemaless = without("/tools/0/input_schema");
    check(&schemaless, "tools.0.custom.input_schema: Field required").await;
    let twice = with("/tools/1", good()["tools"][0].clone());
    check(&twice, "tools: Tool names must be unique.").await;
}

#[tokio::test]
async fn a_wrong_choice_among_tools_is_refused() {
    let mut toolless = without("/tools");
    let why = "tool_choice may only be specified while providing tools.";
    check(&toolless, why).await;
    toolless["tool_choice"] = json!({"type": "none"});
    check_taken(&toolless).await;
    let unknown = with("/tool_choice", json!({"type": "tool", "name": "paint"}));
    check(&unknown, "Tool 'paint' not found in provided tools").await;
    let nameless = with("/tool_choice", json!({"type": "tool"}));
    check(&nameless, "tool_choice.tool.name: Field required").await;
    let word = with("/tool_choice", json!("auto"));
    check(&word, "tool_choice: Input should be a valid dictionary").await;
    let required = with("/tool_choice", json!({"type": "required"}));
    let why = "tool_choice: Input tag 'required' found using 'type' does not match any of the \
               expected tags: 'any', 'auto', 'none', 'tool'";
    check(&required, why).await;
}

#[tokio::test]
async fn more_marks_than_four_are_refused() {
    let mark = json!({"type": "ephemeral"});
    let mut body = good();
    body["messages"][2]["content"][1]["content"][0]["cache_control"] = mark.clone();
    body["messages"][2]["content"][2]["cache_control"] = mark.clone();
    check_taken(&body).await;
    let message = "A maximum of 4 blocks with cache_control may be provided. Found 5.";
    let mut last = body.clone();
    last["cache_control"] = mark.clone();
    check(&last, message).await;
    body["messages"][1]["content"][1]["cache_control"] = mark;
    check(&body, message).await;
}

#[tokio::test]
async fn wrong_blocks_are_refused() {
    let tags = "'document', 'image', 'redacted_thinking', 'search_result', 'text', 'thinking', \
                'tool_result', 'tool_use'";
    let smell = with("/messages/2/content/2", json!({"type": "smell"}));
    let why = format!(
        "messages.2.content.2: Input tag 'smell' found using 'type' does not match any of the \
         expected tags: {tags}"
    );
    check(&smell, &why).await;
    let rows = [
        (
            "/messages/0",
            json!("hi"),
            "messages.0: Input should be a valid dictionary",
        ),
        (
            "/messages/0/name",
            json!("x"),
            "messages.0.name: Extra inputs are not permitted",
        ),
        (
            "/messages/0/content",
            json!(7),
            "messages.0.content: Input should be a valid list",
        ),
        (
            "/messages/0/content",
            json!(["hi"]),
            "messages.0.content.0: Input should be a valid dictionary",
        ),
        (
            "/messages/0/content",
            json!([{"type": "text"}]),
            "messages.0.content.0.text.text: Field required",
        ),
        (
            "/messages/1/content/0/tone",
            json!("warm"),
            "messages.1.content.0.text.tone: Extra inputs are not permitted",
        ),
    ];
    for (pointer, value, why) in rows {
        check(&with(pointer, value), why).await;
    }
}

#[tokio::test]
async fn wrong_calls_and_results_are_refused() {
    let pattern = "String should match pattern '^[a-zA-Z0-9_-]+$'";
    let call_id = format!("messages.1.content.1.tool_use.id: {pattern}");
    let result_id = format!("messages.2.content.0.tool_result.tool_use_id: {pattern}");
    let rows = [
        (
            "/messages/1/content/1/id",
            json!("call:1"),
            call_id.as_str(),
        ),
        (
            "/messages/1/content/1/input",
            json!("{}"),
            "messages.1.content.1.tool_use.input: Input should be a valid dictionary",
        ),
        (
            "/messages/1/content/1/name",
            json!("read file"),
            "messages.1.content.1.tool_use.name: String should match pattern \
             '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (
            "/messages/1/content/1/index",
            json!(0),
            "messages.1.content.1.tool_use.index: Extra inputs are not permitted",
        ),
        ("/messages/2/content/0/tool_use_id", json!(""), &result_id),
        (
            "/messages/2/content/0/name",
            json!("read_file"),
            "messages.2.content.0.tool_result.name: Extra inputs are not permitted",
        ),
        (
            "/messages/2/content/1/content",
            json!([]),
            "messages.2.content.1.tool_result: content cannot be empty if `is_error` is true",
        ),
        (
            "/messages/2/content/1/content/0/text",
            json!(""),
            "messages: text content blocks must be non-empty",
        ),
    ];
    for (pointer, value, why) in rows {
        check(&with(pointer, value), why).await;
    }
}
