//! What the real services refuse, this server refuses.
//!
//! A row of a table changes a good prompt: a pointer and its value, or `-` to remove it; `a*9`
//! is a string of nine letters. After the arrow is what is refused, or `taken`.

mod anthropic;
mod openai;

use samovar_model_server::{Answered, ModelServer, Reply, say};
use serde_json::{Value, json};

use crate::client::{ANTHROPIC, Client, DIALECTS, Dialect, OPENAI, Response};

/// The changes of a row, and what comes of them.
fn rows(table: &str) -> impl Iterator<Item = (&str, &str)> {
    let rows = table.lines().filter(|row| !row.is_empty());
    rows.map(|row| row.split_once(" -> ").unwrap())
}

fn changed(good: &Value, changes: &str) -> Value {
    let mut body = good.clone();
    for change in changes.split(" & ").filter(|change| !change.is_empty()) {
        let (pointer, value) = change.split_once(' ').unwrap();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = body.pointer_mut(parent).unwrap();
        match (parent, key.parse::<usize>()) {
            (Value::Array(items), Ok(index)) if value == "-" => drop(items.remove(index)),
            (Value::Array(items), Ok(index)) if index < items.len() => items[index] = read(value),
            (Value::Array(items), _) => items.push(read(value)),
            (parent, _) if value == "-" => {
                parent.as_object_mut().unwrap().shift_remove(key).unwrap();
            }
            (parent, _) => parent[key] = read(value),
        }
    }
    body
}

fn read(value: &str) -> Value {
    match value
        .split_once('*')
        .map(|(text, count)| (text, count.parse()))
    {
        Some((text, Ok(count))) => text.repeat(count).into(),
        _ => serde_json::from_str(value).unwrap_or_else(|error| panic!("{value}: {error}")),
    }
}

/// Checks that `body` is taken, or refused by the server itself; returns the error.
async fn check(dialect: &Dialect, body: &Value, is_taken: bool) -> Value {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    let response = dialect.ask(&server, body).await;
    let status = if is_taken { 200 } else { 400 };
    assert_eq!(
        response.head.status,
        status,
        "{body} got {}",
        response.text()
    );
    let requests = server.requests();
    let refused = matches!(
        requests[0].answered(),
        Answered::Refused(refusal) if refusal.status == 400
    );
    assert_eq!(refused, !is_taken);
    assert_eq!(server.left_over().is_empty(), is_taken);
    let error = response.json()["error"].clone();
    assert!(
        is_taken || error["type"] == "invalid_request_error",
        "{error}"
    );
    error
}

async fn send(
    server: &ModelServer,
    dialect: &Dialect,
    headers: &[(&str, &str)],
    body: &str,
) -> Response {
    let mut client = Client::connect(server).await;
    client.send("POST", dialect.path, headers, body).await;
    client.response().await
}

#[tokio::test]
async fn what_is_not_json_is_refused() {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    for dialect in DIALECTS {
        for body in ["", "{", "[]", "null", "\u{0}"] {
            let response = send(&server, dialect, dialect.headers, body).await;
            assert_eq!(response.head.status, 400, "{body}");
            assert_eq!(response.json()["error"]["type"], "invalid_request_error");
        }
    }
    let form: &[_] = &[("content-type", "application/x-www-form-urlencoded")];
    for headers in [form, &[]] {
        let response = send(&server, &OPENAI, headers, "{}").await;
        assert_eq!(response.head.status, 415);
    }
}

/// Headers, and the status and the code or sentence that follow.
const KEYS: &str = r#"
content-type=application/json -> 401 null
content-type=application/json|authorization=Bearer sk-wrong -> 401 "invalid_api_key"
content-type=application/json|authorization=Bearer sk-right2 -> 401 "invalid_api_key"
content-type=application/json|authorization=Bearer  -> 401 null
content-type=application/json|authorization=Bearer sk-right -> 200 null
anthropic-version=2023-06-01 -> 401 "x-api-key header is required"
anthropic-version=2023-06-01|authorization=Bearer sk-right -> 401 "x-api-key header is required"
anthropic-version=2023-06-01|x-api-key=sk-wrong -> 401 "invalid x-api-key"
anthropic-version=2023-06-01|x-api-key=sk-right2 -> 401 "invalid x-api-key"
x-api-key=sk-right -> 400 "anthropic-version: header is required"
x-api-key=sk-right|anthropic-version=2 -> 400 "anthropic-version: \"2\" is not a valid version"
x-api-key=sk-right|anthropic-version=2023-06-01 -> 200 null
"#;

#[tokio::test]
async fn key_and_version_are_required() {
    let server = ModelServer::builder().key("sk-right");
    let server = server.start([say("in").forever()]).await.unwrap();
    for (headers, outcome) in rows(KEYS) {
        let dialect = if headers.starts_with("content") {
            &OPENAI
        } else {
            &ANTHROPIC
        };
        let headers = headers
            .split('|')
            .map(|header| header.split_once('=').unwrap());
        let headers: Vec<_> = headers.collect();
        let body = dialect.plain("hi").to_string();
        let response = send(&server, dialect, &headers, &body).await;
        let (status, what) = outcome.split_once(' ').unwrap();
        assert_eq!(response.head.status.to_string(), status, "{headers:?}");
        let error = &response.json()["error"];
        let what: Value = serde_json::from_str(what).unwrap();
        assert_eq!(
            error.get("code").unwrap_or(&error["message"]),
            &what,
            "{headers:?}"
        );
        let kind = match (status, dialect.path == OPENAI.path) {
            ("200", _) => Value::Null,
            ("401", false) => "authentication_error".into(),
            _ => "invalid_request_error".into(),
        };
        assert_eq!(error["type"], kind, "{headers:?}");
    }
    for headers in [&[][..], &[("anthropic-version", "2023-06-01")]] {
        let mut client = Client::connect(&server).await;
        client.send("GET", "/v1/models", headers, "").await;
        assert_eq!(client.response().await.head.status, 401);
    }
}

#[tokio::test]
async fn unknown_model_is_refused_when_models_are_named() {
    let server = ModelServer::builder().model("known");
    let server = server.start([say("in").forever()]).await.unwrap();
    for dialect in DIALECTS {
        let mut body = dialect.plain("hi");
        let response = dialect.ask(&server, &body).await;
        assert_eq!(response.head.status, 404);
        let error = &response.json()["error"];
        let what = [&error["type"], &error["code"]];
        assert!(
            what.contains(&&json!("not_found_error")) || what.contains(&&json!("model_not_found"))
        );
        body["model"] = "known".into();
        assert_eq!(dialect.ask(&server, &body).await.head.status, 200);
    }
}

#[tokio::test]
async fn body_over_the_limit_is_refused_and_read_to_its_end() {
    for (dialect, kind) in [
        (&OPENAI, "invalid_request_error"),
        (&ANTHROPIC, "request_too_large"),
    ] {
        let server = ModelServer::builder().max_body_bytes(1 << 16);
        let server = server.start([say("in").forever()]).await.unwrap();
        let mut client = dialect
            .asking(&server, &dialect.plain(&"x".repeat(1 << 18)))
            .await;
        let response = client.response().await;
        assert_eq!(response.head.status, 413);
        assert_eq!(response.json()["error"]["type"], kind);
        assert_eq!(server.requests()[0].raw().len(), 1 << 16);

        let short = dialect.plain("short").to_string();
        client
            .send("POST", dialect.path, dialect.headers, &short)
            .await;
        assert_eq!(client.response().await.head.status, 200);
    }
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    let (invalid, unknown) = ("invalid_request_error", "not_found_error");
    let table = [
        (&OPENAI, "POST", "/v1/completions", 404, invalid),
        (&OPENAI, "GET", "/", 404, invalid),
        (&OPENAI, "GET", "/v1/chat/completions", 405, invalid),
        (&OPENAI, "POST", "/v1/models", 405, invalid),
        (&ANTHROPIC, "GET", "/v1/messages", 405, invalid),
        (&ANTHROPIC, "POST", "/messages", 404, unknown),
        (&ANTHROPIC, "POST", "/v1/v1/messages", 404, unknown),
        (&ANTHROPIC, "POST", "/v1/messages/count", 404, unknown),
        (&ANTHROPIC, "POST", "/v1/models", 405, invalid),
    ];
    for (dialect, method, path, status, kind) in table {
        let mut client = Client::connect(&server).await;
        client.send(method, path, dialect.headers, "").await;
        let response = client.response().await;
        assert_eq!(response.head.status, status, "{method} {path}");
        let error = &response.json()["error"];
        assert_eq!(error["type"], kind, "{method} {path}");
        assert!(error["message"].is_string());
    }
    assert_eq!(server.requests().len(), table.len());
    assert!(server.prompts().is_empty());
}
