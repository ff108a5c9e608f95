//! A turn that waits for a person is seen by every client: in a comment, in events, in the answer.

use std::time::Duration;

use reqwest::Method;
use samovar_core::Approval;
use samovar_model_server::{call, say};
use samovar_server::ChatAgent;
use samovar_testkit::{App, AppBuilder, Frame};
use serde_json::{Value, json};

use crate::raw::Request;
use crate::resume::anew::frames;
use crate::resume::{STREAM, back};

fn supervised() -> AppBuilder {
    AppBuilder::new().with(|config| {
        config.settings.approval = Approval::Supervised;
        config.chat.agent = ChatAgent::Nobody;
        config.server.ping_every = Duration::from_millis(50);
    })
}

/// A server whose agent calls another, which writes a file, and then asks the person.
async fn busy() -> App {
    let task = json!({"name": "scribe", "task": "below"});
    let write = json!({"path": "w.txt", "content": "b"});
    let app = supervised()
        .start([
            call("subAgent", task),
            call("write_file", write),
            say("written"),
            call("ask_user", json!({"question": "Why?"})),
            say("thanks"),
        ])
        .await;
    let agent = json!({"name": "scribe", "systemPrompt": "x", "toolKeys": ["write_file"]});
    post(&app, "/api/agents", agent).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    app
}

async fn wait(app: &App, seconds: u32) -> Value {
    let said = json!({"sessionId": "s", "messageId": "m", "content": "go", "waitSeconds": seconds});
    app.ok("sendMessage", said).await
}

async fn post(app: &App, path: &str, body: Value) {
    let answer = app
        .answer(app.request(Method::POST, path).json(&body))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

// proves AS-2, AS-8, AS-26
#[tokio::test]
async fn every_client_sees_what_a_turn_and_the_agents_below_it_wait_for() {
    let app = busy().await;

    let first = wait(&app, 0).await;
    assert_eq!(first["finishReason"], "waiting");
    let approval = &first["waits"]["approvals"][0];
    assert_eq!(
        (&approval["tool"], &approval["path"]),
        (&json!("write_file"), &json!(["master", "scribe"]))
    );
    assert_eq!(first["waits"]["calls"], json!([]));
    let id = approval["id"].as_str().unwrap();
    let mut response = app
        .request(Method::GET, &format!("{STREAM}?sessionId=s"))
        .send()
        .await
        .unwrap();
    let mut read = String::new();
    // At once, and with a ping.
    let comment = format!(": waits for approval {id}\n");
    while !(read.contains(&comment) && read.ends_with(&format!(": ping\n{comment}"))) {
        read += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    post(
        &app,
        &format!("/api/approvals/{id}"),
        json!({"decision": "once"}),
    )
    .await;

    // The same message waits again, for the next.
    let second = wait(&app, 0).await;
    assert_eq!(second["turnId"], first["turnId"]);
    assert_eq!(second["waits"]["approvals"], json!([]));
    let question = &second["waits"]["calls"][0];
    assert_eq!(
        (&question["tool"], &question["args"]),
        (&json!("ask_user"), &json!({"question": "Why?"}))
    );
    let call = question["id"].as_str().unwrap();
    while !read.contains(&format!(": waits for call {call}\n")) {
        read += std::str::from_utf8(&response.chunk().await.unwrap().unwrap()).unwrap();
    }
    post(
        &app,
        &format!("/api/calls/{call}"),
        json!({"result": "because"}),
    )
    .await;

    let last = wait(&app, 1800).await;
    assert_eq!(
        (&last["finishReason"], &last["text"]),
        (&json!("stop"), &json!("thanks"))
    );
    assert!(last.get("waits").is_none());
    assert_eq!(
        std::fs::read_to_string(app.workspace().join("w.txt")).unwrap(),
        "b"
    );
    shows_the_waits_of_the_full_profile(&app).await;
}

/// With `approvals` a stream has the default profile's frames, those of the full one about what waited,
/// and no others.
async fn shows_the_waits_of_the_full_profile(app: &App) {
    let stream = async |query: &str| frames(&back(app, "s", query).send().await.body);
    let over = back(app, "s", "").send().await.body;
    assert!(
        !over.contains(": waits for"),
        "nothing waits any longer: {over}"
    );
    let (plain, shown) = (stream("").await, stream("&approvals=true").await);
    let full = stream("&profile=full").await;
    let is_in = |frames: &[Frame], data: &Value| frames.iter().any(|frame| frame.data == *data);
    let (old, more): (Vec<_>, Vec<_>) = shown.iter().partition(|frame| is_in(&plain, &frame.data));
    assert_eq!(old.len(), plain.len());
    let kinds: Vec<_> = more.iter().map(|frame| frame.kind()).collect();
    let waits = [
        "approval_asked",
        "call_approved",
        "call_started",
        "call_closed",
    ];
    assert_eq!(kinds, waits);
    assert!(more.iter().all(|frame| is_in(&full, &frame.data)));
    // Every id of it can be resumed from.
    for frame in more {
        let id = frame.id.as_deref().unwrap();
        let rest = stream(&format!("&approvals=true&after={id}")).await;
        let at = shown
            .iter()
            .position(|other| other.id.as_deref() == Some(id))
            .unwrap();
        assert_eq!(rest.len(), shown.len() - at - 1, "after {id}");
    }
}

// proves AS-5
#[tokio::test]
async fn a_result_says_how_its_call_ended() {
    let write = || call("write_file", json!({"path": "w.txt", "content": "b"}));
    let read = call("read_file", json!({"path": "none.txt"}));
    let list = call("list_dir", json!({"path": "."}));
    let app = supervised().start([write(), read, list, say("done")]).await;
    let session = app.session().await;
    let said = json!({"sessionId": session, "messageId": "m", "content": "go", "waitSeconds": 0});
    let waits = app.ok("sendMessage", said.clone()).await;
    let id = waits["waits"]["approvals"][0]["id"].as_str().unwrap();
    post(
        &app,
        &format!("/api/approvals/{id}"),
        json!({"decision": "deny"}),
    )
    .await;

    let whole = app.ok("sendMessage", said).await;

    let events = whole["events"].as_array().unwrap().iter();
    let status: Vec<_> = events
        .filter_map(|event| event["status"].as_str())
        .collect();
    assert_eq!(status, ["denied", "failed", "done"]);
}

// proves AS-2
#[tokio::test]
async fn a_wait_has_a_bound() {
    let app = App::start([say("never asked")]).await;
    let session = app.session().await;
    for seconds in [json!(1_000_000_000), json!(-1), json!(1801), json!("soon")] {
        let said = json!({"sessionId": session, "content": "go", "waitSeconds": seconds});
        let refused = app.call("sendMessage", said).await;
        assert_eq!(
            (refused.status, refused.code()),
            (400, "invalid_params"),
            "{seconds}"
        );
    }
}

// proves AS-9
#[tokio::test]
async fn a_header_that_names_the_last_frame_of_a_turn_gets_204_and_nothing_else_does() {
    let app = App::start([say("one"), say("two")]).await;
    let session = app.session().await;
    app.turn(&session, "one").await;
    let body = back(&app, &session, "").send().await.body;
    let frames = frames(&body);
    let ids: Vec<_> = frames
        .iter()
        .filter_map(|frame| frame.id.as_deref())
        .collect();
    let (last, before) = ids.split_last().unwrap();
    let last_before = before[before.len() - 2];
    app.turn(&session, "two").await;

    let status = async |request: Request| request.send().await.status;
    for query in ["", "&profile=full", "&approvals=true"] {
        let request = || back(&app, &session, query);
        assert_eq!(
            status(request().with("last-event-id", *last)).await,
            204,
            "{query}"
        );
        assert_eq!(
            status(request().with("last-event-id", last_before)).await,
            200,
            "{query}"
        );
        assert_eq!(
            status(request().with("last-event-id", "")).await,
            200,
            "{query}"
        );
        assert_eq!(
            status(back(&app, &session, &format!("{query}&after={last}"))).await,
            200
        );
    }
    // Another session's log has other ids.
    let other = app.session().await;
    app.ok("createSession", json!({"sessionId": other})).await;
    let elsewhere = back(&app, &other, "")
        .with("last-event-id", *last)
        .send()
        .await;
    assert_eq!(elsewhere.status, 200, "{}", elsewhere.body);
    assert!(elsewhere.body.contains("reset"), "{}", elsewhere.body);
}
