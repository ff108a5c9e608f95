//! What the real service refuses, this one refuses.

use samovar_model_server::{Answered, ModelServer, Reply, say};
use serde_json::{Value, json};

use crate::client::{CHAT, Client, Response, ask, plain};

async fn server() -> ModelServer {
    ModelServer::start([say("fine").forever()]).await.unwrap()
}

/// A good prompt with a tool, a call and its result.
fn good() -> Value {
    json!({
        "model": "m",
        "temperature": 0.7,
        "max_tokens": 100,
        "tools": [{"type": "function", "function": {
            "name": "read_file",
            "description": "Reads.",
            "parameters": {"type": "object", "properties": {}},
        }}],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "read"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "read_file", "arguments": "{}"}},
                {"id": "c2", "type": "function",
                 "function": {"name": "read_file", "arguments": "{}"}},
            ]},
            {"role": "tool", "tool_call_id": "c2", "content": "two"},
            {"role": "tool", "tool_call_id": "c1", "content": "one"},
            {"role": "assistant", "content": "", "reasoning_content": "hm"},
            {"role": "user", "content": ""},
        ],
    })
}

/// The good prompt with something else at `pointer`; `null` with the key `-` removes it.
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
        parent => drop(parent.as_object_mut().unwrap().remove(key)),
    }
    body
}

/// Checks the refusal of `body`, and returns its sentence.
async fn check(body: &Value, code: Option<&str>, param: Option<&str>) -> String {
    let server = server().await;
    let response = ask(&server, body).await;

    assert_eq!(response.head.status, 400, "{body} got {}", response.text());
    let error = &response.json()["error"];
    assert_eq!(error["type"], "invalid_request_error", "{body}");
    assert_eq!(error["code"].as_str(), code, "{body} got {error}");
    assert_eq!(error["param"].as_str(), param, "{body} got {error}");
    assert!(matches!(
        server.requests()[0].answered(),
        Answered::Refused(refusal) if refusal.status == 400
    ));
    error["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn good_prompts_are_taken() {
    let server = server().await;
    let table = [
        good(),
        plain(""),
        without("/tools"),
        with("/temperature", json!(2)),
        with("/temperature", Value::Null),
        with("/max_tokens", json!(1)),
        with("/tools/0/function/name", json!("a-B_9".repeat(12))),
        with(
            "/messages/5/content",
            json!([{"type": "text", "text": "x"}]),
        ),
        with("/stream", json!(false)),
    ];
    for body in table {
        let response = ask(&server, &body).await;
        assert_eq!(response.head.status, 200, "{body} got {}", response.text());
    }
}

#[tokio::test]
async fn wrong_parameters_are_refused() {
    let missing = Some("missing_required_parameter");
    for nameless in [without("/model"), with("/model", json!(""))] {
        check(&nameless, None, None).await;
    }
    check(&without("/messages"), missing, Some("messages")).await;
    let rows = [
        ("model", json!(7), "invalid_type"),
        ("messages", json!([]), "empty_array"),
        ("messages", json!("x"), "invalid_type"),
        ("thinking", json!({}), "unknown_parameter"),
        ("max_tokens", json!(0), "integer_below_min_value"),
        ("max_tokens", json!(1.5), "invalid_type"),
        ("n", json!(2), "integer_above_max_value"),
        ("stream", json!("yes"), "invalid_type"),
    ];
    for (param, value, code) in rows {
        let body = with(&format!("/{param}"), value);
        check(&body, Some(code), Some(param)).await;
    }
    let range = [
        (-0.1, "decimal_below_min_value"),
        (2.1, "decimal_above_max_value"),
    ];
    for (temperature, code) in range {
        let body = with("/temperature", json!(temperature));
        check(&body, Some(code), Some("temperature")).await;
    }
    let options = with("/stream_options", json!({"include_usage": true}));
    check(&options, None, Some("stream_options")).await;
    let mut both = good();
    both["max_completion_tokens"] = json!(5);
    check(
        &both,
        Some("invalid_parameter_combination"),
        Some("max_tokens"),
    )
    .await;
    let mut choice = without("/tools");
    choice["tool_choice"] = json!("auto");
    check(&choice, None, Some("tool_choice")).await;
}

#[tokio::test]
async fn wrong_tools_are_refused() {
    let name = "/tools/0/function/name";
    let param = Some("tools[0].function.name");
    check(&with(name, json!("a b")), Some("invalid_value"), param).await;
    check(&with(name, json!("файл")), Some("invalid_value"), param).await;
    check(
        &with(name, json!("a".repeat(65))),
        Some("string_above_max_length"),
        param,
    )
    .await;
    check(&with(name, json!("")), Some("empty_string"), param).await;
    check(&without(name), Some("missing_required_parameter"), param).await;
    check(
        &with("/tools", json!([])),
        Some("empty_array"),
        Some("tools"),
    )
    .await;
    let kind = with("/tools/0/type", json!("shell"));
    check(&kind, Some("invalid_value"), Some("tools[0].type")).await;
    let schema = with("/tools/0/function/parameters", json!({"type": "string"}));
    let param = Some("tools[0].function.parameters");
    check(&schema, Some("invalid_function_parameters"), param).await;
    let many = with(
        "/tools",
        Value::Array(vec![good()["tools"][0].clone(); 129]),
    );
    check(&many, Some("array_above_max_length"), Some("tools")).await;
}

#[tokio::test]
async fn wrong_messages_are_refused() {
    let role = with("/messages/0/role", json!("narrator"));
    check(&role, Some("invalid_value"), Some("messages[0].role")).await;
    let missing = Some("missing_required_parameter");
    check(
        &without("/messages/0/role"),
        missing,
        Some("messages[0].role"),
    )
    .await;
    let word = with("/messages/0", json!("hi"));
    check(&word, Some("invalid_type"), Some("messages[0]")).await;
    for content in [Value::Null, json!([])] {
        let (code, param) = if content.is_null() {
            (None, "messages.[6].content")
        } else {
            (Some("empty_array"), "messages[6].content")
        };
        check(&with("/messages/6/content", content), code, Some(param)).await;
    }
    let silent = without("/messages/5/content");
    check(&silent, None, Some("messages.[5].content")).await;
    let part = with("/messages/1/content/0", json!({"type": "smell"}));
    let param = Some("messages[1].content[0].type");
    check(&part, Some("invalid_value"), param).await;
    let field = with("/messages/1/parts", json!([]));
    check(&field, Some("unknown_parameter"), Some("messages[1].parts")).await;
    let reasoning = with("/messages/1/reasoning_content", json!("mine"));
    let param = Some("messages[1].reasoning_content");
    check(&reasoning, Some("unknown_parameter"), param).await;
}

#[tokio::test]
async fn calls_and_results_that_do_not_fit_are_refused() {
    let stranger = with("/messages/3/tool_call_id", json!("c9"));
    let sentence = check(&stranger, None, Some("messages.[3].tool_call_id")).await;
    assert!(sentence.contains("'c9' not found"), "{sentence}");
    let twice = with("/messages/4/tool_call_id", json!("c2"));
    let sentence = check(&twice, None, Some("messages.[4].tool_call_id")).await;
    assert!(sentence.contains("Duplicate"), "{sentence}");
    let unasked = without("/messages/2");
    check(&unasked, None, Some("messages.[2].role")).await;
    let unanswered = without("/messages/4");
    let sentence = check(&unanswered, None, Some("messages.[2].role")).await;
    assert!(sentence.ends_with("no response: c1"), "{sentence}");
    let mut at_the_end = good();
    at_the_end["messages"].as_array_mut().unwrap().truncate(4);
    check(&at_the_end, None, Some("messages.[2].role")).await;

    let call =
        |field: &str, value: Value| with(&format!("/messages/2/tool_calls/0/{field}"), value);
    let param = |field: &str| format!("messages[2].tool_calls[0].{field}");
    let table = [
        ("id", json!("x".repeat(41)), "string_above_max_length"),
        ("id", json!(""), "empty_string"),
        ("type", json!("tool"), "invalid_value"),
        ("function/arguments", json!({}), "invalid_type"),
        ("function/name", json!("read file"), "invalid_value"),
        ("function/extra", json!(1), "unknown_parameter"),
    ];
    for (field, value, code) in table {
        let param = param(&field.replace('/', "."));
        check(&call(field, value), Some(code), Some(&param)).await;
    }
    let none = with("/messages/2/tool_calls", json!([]));
    check(&none, Some("empty_array"), Some("messages[2].tool_calls")).await;
}

async fn send(server: &ModelServer, headers: &[(&str, &str)], body: &str) -> Response {
    let mut client = Client::connect(server).await;
    client.send("POST", CHAT, headers, body).await;
    client.response().await
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let server = server().await;
    let json = [("content-type", "application/json")];
    for body in ["", "{", "[]", "null", "\u{0}"] {
        let response = send(&server, &json, body).await;
        assert_eq!(response.head.status, 400, "{body}");
        assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    }
    let form = [("content-type", "application/x-www-form-urlencoded")];
    assert_eq!(send(&server, &form, "{}").await.head.status, 415);
    assert_eq!(send(&server, &[], "{}").await.head.status, 415);
}

#[tokio::test]
async fn a_key_is_asked_for_when_there_is_one() {
    let server = ModelServer::builder().key("sk-right");
    let server = server.start([say("in").forever()]).await.unwrap();
    let body = plain("hi").to_string();
    let with_key = |value| {
        [
            ("content-type", "application/json"),
            ("authorization", value),
        ]
    };

    let none = send(&server, &[("content-type", "application/json")], &body).await;
    assert_eq!(none.head.status, 401);
    assert_eq!(none.json()["error"]["code"], Value::Null);
    for wrong in ["Bearer sk-wrong", "Bearer sk-right2", "Bearer "] {
        let wrong = send(&server, &with_key(wrong), &body).await;
        assert_eq!(wrong.head.status, 401);
    }
    let wrong = send(&server, &with_key("Bearer sk-wrong"), &body).await;
    assert_eq!(wrong.json()["error"]["code"], "invalid_api_key");
    let right = send(&server, &with_key("Bearer sk-right"), &body).await;
    assert_eq!(right.head.status, 200);

    let mut client = Client::connect(&server).await;
    client.send("GET", "/v1/models", &[], "").await;
    assert_eq!(client.response().await.head.status, 401);
}

#[tokio::test]
async fn an_unknown_model_is_refused_when_models_are_named() {
    let server = ModelServer::builder().model("known");
    let server = server.start([say("in").forever()]).await.unwrap();

    let response = ask(&server, &plain("hi")).await;
    assert_eq!(response.head.status, 404);
    assert_eq!(response.json()["error"]["code"], "model_not_found");
    let mut known = plain("hi");
    known["model"] = json!("known");
    assert_eq!(ask(&server, &known).await.head.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_read_to_its_end() {
    let server = ModelServer::builder().max_body_bytes(1 << 16);
    let server = server.start([say("in").forever()]).await.unwrap();
    let mut client = Client::connect(&server).await;

    client.ask(&plain(&"x".repeat(1 << 18))).await;
    let response = client.response().await;
    assert_eq!(response.head.status, 413);
    assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    assert_eq!(server.requests()[0].raw().len(), 1 << 16);

    client.ask(&plain("short")).await;
    assert_eq!(client.response().await.head.status, 200);
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    let table = [
        ("POST", "/v1/completions", 404),
        ("GET", "/", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
    ];
    for (method, path, status) in table {
        let mut client = Client::connect(&server).await;
        client.send(method, path, &[], "").await;
        let response = client.response().await;
        assert_eq!(response.head.status, status, "{method} {path}");
        assert!(response.json()["error"]["message"].is_string());
    }
    assert_eq!(server.requests().len(), table.len());
    assert!(server.prompts().is_empty());
}
