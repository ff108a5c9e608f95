//! What is refused before the prompt is read: keys, versions, models, lengths, paths.

use samovar_model_server::{ModelServer, Reply, say};
use serde_json::json;

use super::{HEADERS, MESSAGES, ask, plain, send};
use crate::client::Client;

#[tokio::test]
async fn what_is_no_json_is_refused() {
    let server = ModelServer::start([say("fine")]).await.unwrap();
    for body in ["", "{", "[]", "null", "\u{0}"] {
        let response = send(&server, &HEADERS, body).await;
        assert_eq!(response.head.status, 400, "{body}");
        assert_eq!(response.json()["error"]["type"], "invalid_request_error");
    }
}

#[tokio::test]
async fn key_and_version_are_asked_for() {
    let server = ModelServer::builder().key("sk-right");
    let server = server.start([say("in").forever()]).await.unwrap();
    let version = ("anthropic-version", "2023-06-01");
    let key = ("x-api-key", "sk-right");
    let bearer = ("authorization", "Bearer sk-right");
    let (unauthentic, invalid) = ("authentication_error", "invalid_request_error");
    let table = [
        (
            vec![version],
            401,
            unauthentic,
            "x-api-key header is required",
        ),
        (
            vec![version, bearer],
            401,
            unauthentic,
            "x-api-key header is required",
        ),
        (
            vec![version, ("x-api-key", "sk-wrong")],
            401,
            unauthentic,
            "invalid x-api-key",
        ),
        (
            vec![version, ("x-api-key", "sk-right2")],
            401,
            unauthentic,
            "invalid x-api-key",
        ),
        (
            vec![key],
            400,
            invalid,
            "anthropic-version: header is required",
        ),
        (
            vec![key, ("anthropic-version", "2")],
            400,
            invalid,
            "anthropic-version: \"2\" is not a valid version",
        ),
    ];
    for (headers, status, kind, message) in table {
        let response = send(&server, &headers, &plain("hi").to_string()).await;
        assert_eq!(response.head.status, status, "{headers:?}");
        let error = json!({"type": kind, "message": message});
        assert_eq!(response.json()["error"], error, "{headers:?}");
    }
    let response = send(&server, &[key, version], &plain("hi").to_string()).await;
    assert_eq!(response.head.status, 200);

    let mut client = Client::connect(&server).await;
    client.send("GET", "/v1/models", &[version], "").await;
    let response = client.response().await;
    assert_eq!(response.head.status, 401);
    assert_eq!(response.json()["error"]["type"], unauthentic);
}

#[tokio::test]
async fn an_unknown_model_is_refused_when_models_are_named() {
    let server = ModelServer::builder().model("known");
    let server = server.start([say("in").forever()]).await.unwrap();

    let response = ask(&server, &plain("hi")).await;
    assert_eq!(response.head.status, 404);
    let error = json!({"type": "not_found_error", "message": "model: m"});
    assert_eq!(response.json()["error"], error);
    let mut known = plain("hi");
    known["model"] = json!("known");
    assert_eq!(ask(&server, &known).await.head.status, 200);
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_and_read_to_its_end() {
    let server = ModelServer::builder().max_body_bytes(1 << 16);
    let server = server.start([say("in").forever()]).await.unwrap();
    let mut client = Client::connect(&server).await;

    let long = plain(&"x".repeat(1 << 18)).to_string();
    client.send("POST", MESSAGES, &HEADERS, &long).await;
    let response = client.response().await;
    assert_eq!(response.head.status, 413);
    assert_eq!(response.json()["error"]["type"], "request_too_large");
    assert_eq!(server.requests()[0].raw().len(), 1 << 16);

    client
        .send("POST", MESSAGES, &HEADERS, &plain("short").to_string())
        .await;
    assert_eq!(client.response().await.head.status, 200);
}

#[tokio::test]
async fn other_paths_and_methods_are_refused() {
    let server = ModelServer::start(Vec::<Reply>::new()).await.unwrap();
    let table = [
        ("GET", "/v1/messages", 405, "invalid_request_error"),
        ("POST", "/messages", 404, "not_found_error"),
        ("POST", "/v1/v1/messages", 404, "not_found_error"),
        ("POST", "/v1/messages/count", 404, "not_found_error"),
        ("POST", "/v1/models", 405, "invalid_request_error"),
    ];
    for (method, path, status, kind) in table {
        let mut client = Client::connect(&server).await;
        client.send(method, path, &HEADERS, "").await;
        let response = client.response().await;
        assert_eq!(response.head.status, status, "{method} {path}");
        assert_eq!(response.json()["error"]["type"], kind, "{method} {path}");
    }
    assert!(server.prompts().is_empty());
}
