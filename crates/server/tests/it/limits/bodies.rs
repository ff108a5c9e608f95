//! Bodies: not JSON, too deep, too long.

use samovar_model_server::say;
use samovar_testkit::AppBuilder;
use serde_json::{Value, json};

use super::{app, at, check, methods, post, stored};
use crate::raw::Request;

const MIB: usize = 1024 * 1024;

// proves AS-3, TL-13
#[tokio::test]
async fn a_body_that_is_not_json_or_too_deep_is_refused_by_every_method() {
    let app = app().await;
    let before = stored(&app).await;
    let nested = |open: &str, close: &str, depth: usize| {
        format!(
            "{{\"x\":{}1{}}}",
            open.repeat(depth - 1),
            close.repeat(depth - 1)
        )
    };
    let bad: Vec<Vec<u8>> = vec![
        b"{".to_vec(),
        b"}".to_vec(),
        b"hello".to_vec(),
        b"{\"sessionId\":}".to_vec(),
        b"{\"sessionId\":\"s\",}".to_vec(),
        b"{'sessionId':'s'}".to_vec(),
        b"{\"sessionId\":\"s\"} {}".to_vec(),
        b"{\"n\":NaN}".to_vec(),
        b"{\"n\":01}".to_vec(),
        b"{\"n\":1e999}".to_vec(),
        b"{\"s\":\"a\nb\"}".to_vec(),
        b"{\"s\":\"\\ud800\"}".to_vec(),
        b"{\"s\":\"\xff\xfe\"}".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"\0".to_vec(),
        nested("[", "]", 65).into(),
        nested("[", "]", 100).into(),
        nested("{\"x\":", "}", 100).into(),
        "[".repeat(500_000).into(),
    ];
    for method in methods() {
        for body in &bad {
            let sent = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            check(&post(&app, &method, body).await, 400, "invalid_json", &sent);
        }
        for body in ["[]", "[{}]", "\"hello\"", "7", "true"] {
            check(
                &post(&app, &method, body).await,
                400,
                "invalid_params",
                body,
            );
        }
    }
    assert_eq!(stored(&app).await, before);
    let deepest = nested("[", "]", 64);
    assert_eq!(post(&app, "getStats", &deepest).await.status, 200);
    // Brackets in a text are no depth.
    let flat = json!({"x": "[{".repeat(100)}).to_string();
    assert_eq!(post(&app, "getStats", &flat).await.status, 200);
}

/// The parameters with so much white space behind them that the body has `bytes` bytes.
fn padded(params: &Value, bytes: usize) -> String {
    let mut body = params.to_string();
    body.push_str(&" ".repeat(bytes - body.len()));
    body
}

// proves AS-3, TL-13
#[tokio::test]
async fn a_body_above_the_limit_is_refused_however_it_comes() {
    let app = app().await;
    let before = stored(&app).await;
    let message = json!({"sessionId": "s", "content": "hello"});
    for bytes in [MIB + 1, 2 * MIB] {
        let body = padded(&message, bytes);
        for method in [
            "sendMessage",
            "sendMessage/stream",
            "createSession",
            "getStats",
        ] {
            let whole = Request::new(&app, "POST", &at(method)).json(&body);
            check(&whole.send().await, 413, "body_too_large", method);
            let chunked = whole.chunks_of(64 * 1024).send().await;
            check(&chunked, 413, "body_too_large", method);
        }
    }
    // A length alone is enough to be refused.
    let announced = Request::new(&app, "POST", &at("sendMessage"))
        .json("")
        .set("content-length", (1_u64 << 40).to_string());
    check(&announced.send().await, 413, "body_too_large", "announced");
    assert_eq!(stored(&app).await, before);
}

// proves TL-13
#[tokio::test]
async fn a_body_of_exactly_the_limit_is_taken() {
    let app = app().await;
    let message = json!({"sessionId": "s", "content": "hello"});
    let whole = Request::new(&app, "POST", &at("sendMessage")).json(padded(&message, MIB));
    assert_eq!(whole.send().await.json()["text"], "hi");
    assert_eq!(whole.chunks_of(10_000).send().await.json()["text"], "hi");

    let rest = json!({"sessionId": "s", "content": ""}).to_string().len();
    let long = "й".repeat((MIB - rest) / 2);
    let body = json!({"sessionId": "s", "content": long}).to_string();
    assert_eq!(post(&app, "sendMessage", body).await.json()["text"], "hi");
    let last = app.ok("getMessages", json!({"sessionId": "s", "limit": 1}));
    // It fills an answer alone.
    let before = json!({"sessionId": "s", "limit": 1, "before": last.await[0]["id"]});
    let rows = app.ok("getMessages", before).await;
    assert!(rows[0]["content"] == *long);
    let prompts = app.model.prompts();
    let told = prompts.last().unwrap().body()["messages"]
        .as_array()
        .unwrap();
    assert_eq!(told.last().unwrap()["content"], long);
}

// proves TL-13
#[tokio::test]
async fn the_limit_of_a_body_can_be_set() {
    let app = AppBuilder::new()
        .with(|config| config.server.max_body_bytes = 100)
        .start([say("hi")])
        .await;
    let fits = padded(&json!({}), 100);
    assert_eq!(post(&app, "createSession", fits).await.status, 200);
    let over = padded(&json!({}), 101);
    check(
        &post(&app, "createSession", over).await,
        413,
        "body_too_large",
        "101",
    );
}
