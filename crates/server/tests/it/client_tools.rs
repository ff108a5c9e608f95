//! Tools whose calls a connected client settles.

use reqwest::Method;
use samovar_model_server::{call, say};
use samovar_testkit::{Answer, App, AppBuilder};
use serde_json::{Value, json};

use crate::shown::{results, text, told};

async fn register(app: &App, name: &str) {
    let tool = json!({
        "name": name, "description": "Asks the person.", "client": true, "effect": "read",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    });
    let request = app.request(Method::POST, "/api/tools").json(&tool);
    let made = app.answer(request).await;
    assert_eq!(
        (made.status, &made.body["client"]),
        (200, &json!(true)),
        "{}",
        made.body
    );
}

async fn open(app: &App) -> Vec<Value> {
    let answer = app.answer(app.request(Method::GET, "/api/calls")).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let items = answer.body["items"].as_array().unwrap().clone();
    assert_eq!(answer.body["totalCount"], items.len());
    items
}

async fn settle(app: &App, id: &Value, how: Value) -> Answer {
    let path = format!("/api/calls/{}", id.as_str().unwrap());
    let request = app.request(Method::POST, &path).json(&how);
    app.answer(request).await
}

/// Says something and waits until so many calls are open.
async fn asked(app: &App, session: &str, count: usize) -> Vec<Value> {
    let mut stream = app.say(session, "go").await;
    let mut starts = 0;
    while starts < count {
        let frame = stream.next().await.unwrap();
        starts += usize::from(frame.kind() == "tool_call_start");
    }
    // What waits is listed once its start is kept, which the stream does not tell.
    loop {
        let calls = open(app).await;
        if calls.len() >= count {
            return calls;
        }
        tokio::task::yield_now().await;
    }
}

// proves TL-1
#[tokio::test]
async fn a_call_waits_for_its_client_over_a_restart_and_the_turn_goes_on_with_what_it_says() {
    let app = App::start([
        call("ask", json!({"q": "when?"})).and_call("ask", json!({"q": "where?"})),
        say("see you"),
    ])
    .await;
    register(&app, "ask").await;
    let session = app.session().await;
    let calls = asked(&app, &session, 2).await;
    let questions: Vec<_> = calls.iter().map(|call| call["args"]["q"].clone()).collect();
    assert_eq!(questions, ["when?", "where?"]);
    assert!(
        calls
            .iter()
            .all(|call| call["sessionId"] == session && call["tool"] == "ask")
    );

    let app = app.restart().await;

    assert_eq!(open(&app).await, calls);
    assert_eq!(
        settle(&app, &calls[0]["id"], json!({"result": "at noon"}))
            .await
            .status,
        200
    );
    assert_eq!(open(&app).await, calls[1..]);
    let again = settle(&app, &calls[0]["id"], json!({"result": "at one"})).await;
    assert_eq!(again.code(), "unknown_call");
    let app = app.restart().await;
    let how = json!({"result": {"city": "Riga"}});
    assert_eq!(settle(&app, &calls[1]["id"], how).await.status, 200);

    let turn = json!({"sessionId": session, "content": "more"});
    app.ok("sendMessage", turn).await;
    assert!(open(&app).await.is_empty());
    let prompts = app.model.prompts();
    assert_eq!(told(prompts[1].body()), ["at noon", r#"{"city":"Riga"}"#]);
}

// proves TL-1
#[tokio::test]
async fn a_client_can_say_that_it_failed_and_must_say_one_thing() {
    let app = App::start([call("ask", json!({})), say("I see")]).await;
    register(&app, "ask").await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    let id = loop {
        if let [call] = open(&app).await.as_slice() {
            break call["id"].clone();
        }
        tokio::task::yield_now().await;
    };
    for how in [
        json!({}),
        json!({"result": 1, "error": "x"}),
        json!({"result": null}),
    ] {
        assert_eq!(settle(&app, &id, how).await.code(), "invalid_params");
    }
    assert_eq!(
        settle(&app, &"nobody".into(), json!({"result": 1}))
            .await
            .code(),
        "unknown_call"
    );

    assert_eq!(
        settle(&app, &id, json!({"error": "nobody is there"}))
            .await
            .status,
        200
    );

    let frames = stream.rest().await;
    assert_eq!(
        (results(&frames), text(&frames).as_str()),
        (vec!["nobody is there"], "I see")
    );
    let messages = app.ok("getMessages", json!({"sessionId": session})).await;
    let mut rows = messages.as_array().unwrap().iter();
    assert_eq!(
        rows.find(|row| row["role"] == "tool").unwrap()["isError"],
        true
    );
}

// proves TL-1
#[tokio::test]
async fn a_call_whose_turn_was_stopped_waits_for_nobody() {
    let app = AppBuilder::new()
        .start([call("ask", json!({})), call("ask", json!({}))])
        .await;
    register(&app, "ask").await;
    let (stopped, deleted) = (app.session().await, app.session().await);
    let first = asked(&app, &stopped, 1).await;
    app.ok("cancel", json!({"sessionId": stopped})).await;
    assert!(open(&app).await.is_empty());
    let late = settle(&app, &first[0]["id"], json!({"result": 1})).await;
    assert_eq!(late.code(), "unknown_call");

    asked(&app, &deleted, 1).await;
    app.ok("deleteSession", json!({"sessionId": deleted})).await;
    assert!(open(&app).await.is_empty());
}

// proves TL-1, DU-8
#[tokio::test]
async fn what_a_client_is_shown_of_open_calls_and_says_of_one_is_bounded() {
    let long = || json!({"q": "why? ".repeat(55_000)});
    let app = App::start([
        call("ask", long())
            .and_call("ask", long())
            .and_call("ask", long())
            .deltas_of(64 * 1024),
        say("well"),
    ])
    .await;
    register(&app, "ask").await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    for _ in 0..3 {
        stream.until("tool_call_start").await;
    }
    let calls = loop {
        let calls = app
            .answer(app.request(Method::GET, "/api/calls"))
            .await
            .body;
        if calls["totalCount"] == 3 {
            break calls;
        }
        tokio::task::yield_now().await;
    };
    let shown = calls["items"].as_array().unwrap();
    assert_eq!(shown.len(), 2, "about 768 KiB");

    let most = 64 * 1024;
    for too_much in [
        json!({"result": "x".repeat(most + 1)}),
        json!({"result": ["x".repeat(most)]}),
        json!({"error": "x".repeat(most + 1)}),
    ] {
        let refused = settle(&app, &shown[0]["id"], too_much).await;
        assert_eq!(refused.code(), "invalid_params", "{}", refused.body);
    }
    for _ in 0..3 {
        let id = &open_or_more(&app).await[0]["id"];
        let settled = settle(&app, id, json!({"result": "x".repeat(most)})).await;
        assert_eq!(settled.status, 200, "{}", settled.body);
    }
    assert_eq!(text(&stream.rest().await), "well");
}

/// The open calls that are shown, of however many.
async fn open_or_more(app: &App) -> Vec<Value> {
    let answer = app.answer(app.request(Method::GET, "/api/calls")).await;
    answer.body["items"].as_array().unwrap().clone()
}
