//! What clients do wrong: each mistake has its answer, and leaves nothing behind.

mod bodies;
mod memory;
mod parameters;
mod state;

use std::collections::BTreeSet;

use samovar_model_server::say;
use samovar_server::route::{self, Verb};
use samovar_testkit::App;
use serde_json::{Value, json};

use crate::raw::{Request, Response};

fn at(method: &str) -> String {
    format!("/services/agent/{method}")
}

/// A server with one session, `s`, in which one turn was taken.
async fn app() -> App {
    let app = App::start([say("hi").forever()]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    app.turn("s", "hello").await;
    app
}

/// All that is stored, as clients see it.
async fn stored(app: &App) -> Value {
    json!([
        app.ok("getMessages", json!({"sessionId": "s"})).await,
        app.ok("listSessions", json!({})).await,
        app.ok("getStats", json!({})).await,
    ])
}

/// A refusal of this kind, in the shape of AS-3.
fn check(response: &Response, status: u16, code: &str, sent: &str) {
    let body = response.json();
    assert_eq!(
        (response.status, body["code"].as_str()),
        (status, Some(code)),
        "{sent}: {body}"
    );
    assert_eq!(
        response.header("content-type"),
        Some("application/json"),
        "{sent}"
    );
    let names: BTreeSet<_> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert!(
        names.is_subset(&BTreeSet::from(["error", "code", "details"])),
        "{names:?}"
    );
    let sentence = body["error"].as_str().unwrap();
    assert!(sentence.len() > 10, "{sentence}");
    assert!(body.get("details").is_none_or(Value::is_object), "{body}");
}

/// Posts a body to a method.
async fn post(app: &App, method: &str, body: impl AsRef<[u8]>) -> Response {
    Request::new(app, "POST", &at(method))
        .json(body)
        .send()
        .await
}

/// The methods of the agent service, which all take a `POST`.
fn methods() -> Vec<String> {
    let rows = route::table().into_iter();
    rows.filter(|route| route.verbs.contains(&Verb::Post))
        .filter_map(|route| Some(route.path.strip_prefix("/services/agent/")?.to_owned()))
        .collect()
}
