//! Messages that a client appends: no turn begins, and models see them at their place.

use reqwest::Method;
use samovar_model_server::{Gate, say};
use samovar_testkit::{Answer, App};
use serde_json::{Value, json};

use crate::shown::told;

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn asking(calls: &[&str]) -> Value {
    let call = |id: &&str| json!({"id": id, "name": "look", "args": {"at": "sky"}});
    json!({"role": "assistant", "content": "", "toolCalls": calls.iter().map(call).collect::<Vec<_>>()})
}

fn result(call: &str, text: &str) -> Value {
    json!({"role": "tool", "toolCallId": call, "content": text})
}

async fn append(app: &App, session: &str, message: &Value) -> Answer {
    let body = json!({"sessionId": session, "message": message});
    app.call("appendMessage", body).await
}

async fn rows(app: &App, session: &str) -> Vec<Value> {
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    rows.as_array().unwrap().clone()
}

// proves AS-17, AS-18, AS-25, SA-10
#[tokio::test]
async fn an_appended_message_is_kept_once_counted_shown_to_the_model_and_starts_no_turn() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    let mut said = user("what is up there?");
    said["id"] = json!("mine");
    let first = append(&app, &session, &said).await;
    assert_eq!(first.body["id"], "mine", "{first:?}");
    assert_eq!(append(&app, &session, &said).await.body, first.body);
    append(&app, &session, &asking(&["c1", "c2"])).await;
    let answer = append(&app, &session, &result("c1", "blue")).await;
    assert_eq!((&answer.body["name"], answer.status), (&json!("look"), 200));
    let again = append(&app, &session, &result("c1", "blue")).await;
    assert_eq!(again.body, answer.body);
    let usage = json!({"sessionId": session, "message": {"role": "assistant", "content": "Blue."},
        "tokenUsage": {"input": 10, "output": 3}});
    assert_eq!(app.ok("appendMessage", usage).await["tokenUsage"], 13);
    app.ok(
        "updateTokenUsage",
        json!({"sessionId": session, "input": 5, "output": 2}),
    )
    .await;

    let app = app.restart().await;

    let info = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(
        (&info["messageCount"], &info["tokens"]["total"]),
        (&json!(4), &json!(20))
    );
    assert_eq!(info["tainted"], true, "a result is text from outside");
    let stats = app.ok("getStats", json!({})).await;
    assert_eq!(stats["tokens"]["input"], 15);
    assert_eq!(app.model.prompt_count(), 0);
    app.turn(&session, "and now?").await;
    let prompt = app.model.prompts()[0].body().clone();
    let roles = prompt["messages"].as_array().unwrap().iter();
    let roles: Vec<_> = roles
        .filter_map(|message| message["role"].as_str())
        .collect();
    assert_eq!(
        roles,
        [
            "system",
            "user",
            "assistant",
            "tool",
            "tool",
            "assistant",
            "user"
        ]
    );
    let told = told(&prompt);
    assert_eq!(told[0], "blue");
    assert!(told[1].starts_with("outcome unknown: "), "{told:?}");

    // A turn is taken back without them.
    app.ok("undo", json!({"sessionId": session})).await;
    assert_eq!(rows(&app, &session).await.len(), 4);
    app.stop().await;
}

// proves AS-17
#[tokio::test]
async fn two_sessions_may_number_their_calls_alike() {
    let app = App::start([say("gone on").forever()]).await;
    for _ in 0..2 {
        let session = app.session().await;
        append(&app, &session, &user("begin")).await;
        for text in ["first", "second"] {
            for message in [asking(&["call_0"]), result("call_0", text)] {
                let answer = append(&app, &session, &message).await;
                assert_eq!(answer.status, 200, "{answer:?}");
            }
        }
        let rows = rows(&app, &session).await;
        let texts: Vec<_> = rows.iter().map(|row| &row["content"]).collect();
        assert_eq!((texts[2], texts[4]), (&json!("first"), &json!("second")));
        app.ok(
            "sendMessage",
            json!({"sessionId": session, "content": "go on"}),
        )
        .await;
        let prompts = app.model.prompts();
        let shown = prompts.last().unwrap().body()["messages"].to_string();
        let (first, second) = (shown.find("first"), shown.find("second"));
        assert!(first.is_some() && first < second, "{shown}");
    }
}

// proves AS-17
#[tokio::test]
async fn what_cannot_be_appended_is_refused_and_nothing_is_kept() {
    let gate = Gate::new("held");
    let app = App::start([say("an answer").hold_head(&gate)]).await;
    let session = app.session().await;
    let call = |id: &str, name: &str| json!({"role": "assistant", "toolCalls": [{"id": id, "name": name, "args": {}}]});
    let mut twice = asking(&["c1", "c1"]);
    twice["content"] = json!("two");
    for (message, code) in [
        (user(" \u{200b}"), "blank_content"),
        (json!({"role": "assistant", "content": ""}), "blank_content"),
        (json!({"role": "robot", "content": "hi"}), "invalid_params"),
        (result("c9", "for no call"), "invalid_params"),
        (
            json!({"role": "tool", "content": "no call"}),
            "invalid_params",
        ),
        (
            json!({"role": "user", "content": "x", "toolCallId": "c1"}),
            "invalid_params",
        ),
        (
            json!({"role": "user", "content": "x", "isError": true}),
            "invalid_params",
        ),
        (
            json!({"role": "user", "content": "x", "name": "look"}),
            "invalid_params",
        ),
        (
            json!({"role": "user", "content": "x", "toolCalls": [{"id": "a", "name": "b"}]}),
            "invalid_params",
        ),
        (call("c 1", "look"), "invalid_params"),
        (call(&"c".repeat(41), "look"), "invalid_params"),
        (call("c1", "look at"), "invalid_params"),
        (twice, "invalid_params"),
    ] {
        let refused = append(&app, &session, &message).await;
        assert_eq!(refused.code(), code, "{message}: {refused:?}");
        assert!(refused.status < 500, "{message}: {refused:?}");
    }
    let negative = json!({"sessionId": session, "input": -1, "output": 0});
    assert_eq!(
        app.call("updateTokenUsage", negative).await.code(),
        "invalid_params"
    );
    assert_eq!(
        append(&app, "nowhere", &user("x")).await.code(),
        "unknown_session"
    );
    assert_eq!(rows(&app, &session).await, [] as [Value; 0]);

    let mut mine = user("mine");
    mine["id"] = json!("mine");
    assert_eq!(append(&app, &session, &mine).await.status, 200);
    let other = app.session().await;
    assert_eq!(append(&app, &other, &mine).await.code(), "message_conflict");
    mine["content"] = json!("other");
    assert_eq!(
        append(&app, &session, &mine).await.code(),
        "message_conflict"
    );

    let _stream = app.say(&session, "go").await;
    app.model.seen(1).await;
    let busy = append(&app, &session, &user("meanwhile")).await;
    assert_eq!((busy.status, busy.code()), (409, "session_busy"));
    app.model.open(&gate).unwrap();
    app.stop().await;
}

// proves AS-17, TL-10
#[tokio::test]
async fn a_long_appended_conversation_moves_the_window_as_turns_would() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    for number in 0..70 {
        append(&app, &session, &user(&format!("line {number}"))).await;
    }
    app.turn(&session, "one").await;
    let app = app.restart().await;
    app.turn(&session, "two").await;

    let prompts = app.model.prompts();
    let first = |at: usize| prompts[at].body()["messages"][1]["content"].to_string();
    assert_eq!(first(0), first(1), "the window is the same after a restart");
    assert!(!first(0).contains("line 0"), "{}", first(0));
    let read = app.request(Method::GET, "/api/turns").send().await.unwrap();
    let turns: Vec<Value> = read.json().await.unwrap();
    assert_eq!(turns.len(), 2);
    app.stop().await;
}
