//! The queue, clients that go away, cancel, messages that are sent again, deletion.

use samovar_core::{Accepted, Action, Bounds, Delivery, Effect};
use samovar_model_server::{Ended, Gate, When, call, say};
use samovar_testkit::{App, AppBuilder, TestTool};
use serde_json::{Value, json};

use crate::outside::command;
use crate::shown::{kinds, results, text, told};

// proves AS-11
#[tokio::test]
async fn a_second_message_waits_in_the_queue_and_its_stream_shows_its_own_turn() {
    let gate = Gate::new("first");
    let app = App::start([
        say("one two")
            .hold_after(1, &gate)
            .when(When::user("first")),
        say("three").when(When::user("second")),
    ])
    .await;
    let session = app.session().await;

    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let mut second = app.say(&session, "second").await;
    app.model.open(&gate).unwrap();
    let (first, second) = (first.rest().await, second.rest().await);

    assert!(kinds(&first).ends_with(&["completed", "[DONE]"]));
    assert_eq!(text(&second), "three");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let said: Vec<_> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["content"].clone())
        .collect();
    assert_eq!(said, ["first", "one two", "second", "three"]);
    let prompts = app.model.prompts();
    assert_eq!(
        prompts[1].body()["messages"].as_array().unwrap().len(),
        4,
        "system and three"
    );
}

// proves AS-9
#[tokio::test]
async fn a_client_that_goes_away_does_not_stop_the_turn() {
    let gate = Gate::new("mid");
    let app = App::start([say("a long answer").hold_after(1, &gate), say("ok")]).await;
    let session = app.session().await;

    let mut stream = app.say(&session, "go").await;
    stream.until("text_delta").await;
    drop(stream);
    app.model.open(&gate).unwrap();

    assert_eq!(
        app.model.prompt(0).await.unwrap().end().await,
        Ended::Complete
    );
    app.turn(&session, "more").await;
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "a long answer");
}

// proves AS-9
#[tokio::test]
async fn cancel_closes_the_models_stream_and_keeps_what_was_said() {
    let gate = Gate::new("never");
    let app = App::start([say("some words").hold_after(1, &gate), say("again")]).await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    stream.until("text_delta").await;

    let cancelled = app.ok("cancel", json!({"sessionId": session})).await;

    assert_eq!(cancelled, json!({"cancelled": true}));
    assert_eq!(
        app.model.prompt(0).await.unwrap().end().await,
        Ended::ClientLeft
    );
    let rest = stream.rest().await;
    assert_eq!(rest[rest.len() - 2].data["finishReason"], "cancelled");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "some");
    let again = app.ok("cancel", json!({"sessionId": session})).await;
    assert_eq!(again, json!({"cancelled": false}));
    assert_eq!(text(&app.turn(&session, "next").await), "again");
}

#[tokio::test]
async fn cancel_stops_running_tools_and_owns_up_to_what_may_have_happened() {
    let hang = TestTool::new("hang", |_, _| std::future::pending()).effect(Effect::Unsafe);
    let asked = call("hang", json!({}));
    let app = AppBuilder::new()
        .tools(hang.build())
        .start([asked, say("I see")])
        .await;
    let session = app.session().await;
    let mut stream = app.say(&session, "go").await;
    stream.until("tool_call_start").await;

    let cancelled = app.ok("cancel", json!({"sessionId": session})).await;

    assert_eq!(cancelled, json!({"cancelled": true}));
    let rest = stream.rest().await;
    assert_eq!(kinds(&rest), ["tool_call_result", "completed", "[DONE]"]);
    let result = results(&rest)[0];
    assert!(
        result.contains("outcome unknown") || result.contains("stopped"),
        "{result}"
    );
    app.turn(&session, "next").await;
    assert_eq!(
        told(app.model.prompts()[1].body()).len(),
        1,
        "the call has its result"
    );
}

#[tokio::test]
async fn a_queued_message_can_be_cancelled_by_its_turn() {
    let gate = Gate::new("first");
    let app = App::start([say("one two").hold_after(1, &gate)]).await;
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let second = Action::Post {
        message: None,
        text: samovar_core::command::Text::new("second".to_owned()).unwrap(),
        bounds: Bounds::default(),
        delivery: Delivery::Queue,
    };
    let Ok(Accepted::Posted { turn, .. }) = command(&app, &session, second).await else {
        panic!()
    };

    let params = json!({"sessionId": session, "turnId": turn.as_str()});
    assert_eq!(
        app.ok("cancel", params.clone()).await,
        json!({"cancelled": true})
    );
    assert_eq!(app.ok("cancel", params).await, json!({"cancelled": false}));

    app.model.open(&gate).unwrap();
    first.rest().await;
    assert_eq!(app.model.prompts().len(), 1);
}

// proves SA-10
#[tokio::test]
async fn a_message_that_is_sent_again_joins_its_turn_and_another_content_is_refused() {
    let app = App::start([say("once")]).await;
    let session = app.session().await;
    let params = json!({"sessionId": session, "content": "hi", "messageId": "m-1"});

    let first = app.ok("sendMessage", params.clone()).await;
    let again = app.ok("sendMessage", params).await;
    let other = json!({"sessionId": session, "content": "ho", "messageId": "m-1"});
    let refused = app.call("sendMessage", other).await;
    let elsewhere = json!({"sessionId": app.session().await, "content": "hi", "messageId": "m-1"});
    let foreign = app.call("sendMessage", elsewhere).await;

    assert_eq!(first, again);
    assert_eq!((refused.status, refused.code()), (409, "message_conflict"));
    assert_eq!((foreign.status, foreign.code()), (409, "message_conflict"));
    assert_eq!(app.model.prompts().len(), 1);
}

// proves AS-19
#[tokio::test]
async fn a_deleted_session_is_gone_while_its_turn_runs_and_can_be_made_anew() {
    let gate = Gate::new("never");
    let app = App::start([say("some words").hold_after(1, &gate), say("fresh")]).await;
    let made = json!({"sessionId": "s", "metadata": {"title": "old"}});
    app.ok("createSession", made).await;
    let mut stream = app.say("s", "go").await;
    stream.until("text_delta").await;

    assert_eq!(
        app.ok("deleteSession", json!({"sessionId": "s"})).await,
        Value::Null
    );

    assert_eq!(kinds(&stream.rest().await).last(), Some(&"[DONE]"));
    for method in ["getSession", "getMessages", "deleteSession", "cancel"] {
        let answer = app.call(method, json!({"sessionId": "s"})).await;
        assert_eq!(
            (answer.status, answer.code()),
            (404, "unknown_session"),
            "{method}"
        );
    }
    assert_eq!(app.ok("getStats", json!({})).await["sessions"], 0);

    app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        app.ok("getMessages", json!({"sessionId": "s"})).await,
        json!([])
    );
    let frames = app.turn("s", "hello").await;
    assert_eq!(text(&frames), "fresh");

    let app = app.restart().await;
    let rows = app.ok("getMessages", json!({"sessionId": "s"})).await;
    assert_eq!(rows.as_array().unwrap().len(), 2);
}
