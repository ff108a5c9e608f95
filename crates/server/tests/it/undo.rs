//! The last turn is taken back.

use samovar_core::{Accepted, Action, Bounds, Delivery, Kind, Seq, SessionId};
use samovar_model_server::{Failure, Gate, When, call, fail, say};
use samovar_testkit::{App, AppBuilder, EventStream, TestTool};
use serde_json::{Value, json};

use crate::outside::{command, open_call, settle};
use crate::shown::{kinds, last, text};

async fn undo(app: &App, session: &str) -> Value {
    app.ok("undo", json!({"sessionId": session})).await
}

/// What a session's conversation is for readers.
async fn conversation(app: &App, session: &str) -> Vec<String> {
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["content"].as_str().unwrap().to_owned())
        .collect()
}

/// What the model was shown last, without the system's words.
fn prompt(app: &App) -> Vec<String> {
    let prompt = app.model.prompts().pop().unwrap();
    let messages = prompt.body()["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["role"] != "system");
    said.map(|message| message["content"].as_str().unwrap_or_default().to_owned())
        .collect()
}

// proves AS-18
#[tokio::test]
async fn the_last_turn_leaves_the_conversation_and_its_cost_stays() {
    let app = App::start([
        call("list_dir", json!({}))
            .when(When::user("two").and(When::ToolResultsSinceUser(0)))
            .times(1),
        say("an answer").forever(),
    ])
    .await;
    let session = app.session().await;
    app.turn(&session, "one").await;
    let sent = json!({"sessionId": session, "content": "two"});
    let turn = app.ok("sendMessage", sent).await;
    let before = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(before["messageCount"], 6);

    let undone = undo(&app, &session).await;

    assert_eq!(undone["turnId"], turn["turnId"]);
    assert_eq!(undone["content"], "two");
    assert!(undone["note"].as_str().unwrap().contains("remain"));
    assert_eq!(conversation(&app, &session).await, ["one", "an answer"]);
    let after = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(after["messageCount"], 2);
    assert_eq!(after["tokens"], before["tokens"], "what was spent is spent");
    assert!(after["updatedAt"].as_i64() >= before["updatedAt"].as_i64());
    assert_eq!(app.ok("getStats", json!({})).await["messages"], 2);

    let next = app.turn(&session, "three").await;
    assert_eq!(text(&next), "an answer");
    assert_eq!(prompt(&app), ["one", "an answer", "three"]);
    assert_eq!(undo(&app, &session).await["content"], "three");
    assert_eq!(undo(&app, &session).await["content"], "one");
    assert_eq!(conversation(&app, &session).await, [""; 0]);
    let refused = app.call("undo", json!({"sessionId": session})).await;
    assert_eq!((refused.status, refused.code()), (404, "unknown_turn"));
}

// proves DU-1
#[tokio::test]
async fn what_was_taken_back_stays_away_after_a_restart() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    app.turn(&session, "one").await;
    app.turn(&session, "two").await;
    undo(&app, &session).await;
    let before = app.ok("getSession", json!({"sessionId": session})).await;

    let app = app.restart().await;

    let engine = app.server().home().engine();
    let id = SessionId::new(&session).unwrap();
    let mut reader = engine.follow(&id, Seq(0)).await.unwrap();
    let log = reader.next().await.unwrap();
    let last = log.last().map(|event| &event.kind);
    assert!(
        matches!(last, Some(Kind::TurnUndone { messages: 2, .. })),
        "nothing was left to be done: {last:?}"
    );
    drop(reader);
    let after = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(after, before);
    assert_eq!(conversation(&app, &session).await, ["one", "an answer"]);
    app.turn(&session, "three").await;
    assert_eq!(prompt(&app), ["one", "an answer", "three"]);
    let app = app.restart().await;
    assert_eq!(undo(&app, &session).await["content"], "three");
    assert_eq!(undo(&app, &session).await["content"], "one");
}

// proves SA-10
#[tokio::test]
async fn a_message_that_was_taken_back_can_be_said_again_under_its_id_as_a_new_one() {
    let app = App::start([say("first answer"), say("second answer"), say("third")]).await;
    let session = app.session().await;
    let sent = |content: &str| json!({"sessionId": session, "messageId": "m", "content": content});
    let first = app.ok("sendMessage", sent("hello")).await;
    undo(&app, &session).await;

    let second = app.ok("sendMessage", sent("hello")).await;
    assert_eq!(second["text"], "second answer");
    assert_ne!(first["turnId"], second["turnId"]);
    undo(&app, &session).await;

    let app = app.restart().await;
    let third = app.ok("sendMessage", sent("other words")).await;
    assert_eq!(third["text"], "third");
    assert_eq!(conversation(&app, &session).await, ["other words", "third"]);
    let again = app.ok("sendMessage", sent("other words")).await;
    assert_eq!(again, third, "joined, not said once more");
}

// proves AS-3
#[tokio::test]
async fn nothing_is_taken_back_while_a_turn_runs_waits_or_is_queued() {
    let gate = Gate::new("go on");
    let app = AppBuilder::new()
        .tools(TestTool::asks("ask").build())
        .start([
            say("done").when(When::user("first")),
            say("one two")
                .hold_after(1, &gate)
                .when(When::user("second")),
            call("ask", json!({}))
                .when(When::user("third").and(When::ToolResultsSinceUser(0)))
                .times(1),
            say("I see").forever(),
        ])
        .await;
    let session = app.session().await;
    app.turn(&session, "first").await;
    let mut second = app.say(&session, "second").await;
    second.until("text_delta").await;
    let mut third = app.say(&session, "third").await;
    let is_refused = async || {
        let refused = app.call("undo", json!({"sessionId": session})).await;
        assert_eq!((refused.status, refused.code()), (409, "session_busy"));
    };

    is_refused().await;
    app.model.open(&gate).unwrap();
    second.rest().await;
    let open = open_call(&app, &session).await;
    is_refused().await;
    settle(&app, &session, &open, "yes").await.unwrap();
    assert_eq!(last(&third.rest().await)["type"], "completed");

    assert_eq!(undo(&app, &session).await["content"], "third");
    let unknown = app.call("undo", json!({"sessionId": "nobody"})).await;
    assert_eq!((unknown.status, unknown.code()), (404, "unknown_session"));
}

#[tokio::test]
async fn a_turn_that_failed_or_was_stopped_can_be_taken_back() {
    let gate = Gate::new("never");
    let app = App::start([
        fail(Failure::new(400, "no")).when(When::user("fails")),
        say("some words")
            .hold_after(1, &gate)
            .when(When::user("stops")),
        say("fine").forever(),
    ])
    .await;
    let session = app.session().await;
    let failed = app.turn(&session, "fails").await;
    assert_eq!(last(&failed)["type"], "error");
    assert_eq!(undo(&app, &session).await["content"], "fails");
    let mut stopped = app.say(&session, "stops").await;
    stopped.until("text_delta").await;
    app.ok("cancel", json!({"sessionId": session})).await;
    stopped.rest().await;

    assert_eq!(undo(&app, &session).await["content"], "stops");

    app.turn(&session, "fine").await;
    assert_eq!(prompt(&app), ["fine"]);
}

#[tokio::test]
async fn a_message_that_was_cancelled_while_it_waited_is_shown_to_no_model() {
    let gate = Gate::new("first");
    let app = App::start([
        say("one two")
            .hold_after(1, &gate)
            .when(When::user("first")),
        say("fine").forever(),
    ])
    .await;
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
    app.ok(
        "cancel",
        json!({"sessionId": session, "turnId": turn.as_str()}),
    )
    .await;
    app.model.open(&gate).unwrap();
    first.rest().await;

    app.turn(&session, "third").await;
    assert_eq!(prompt(&app), ["first", "one two", "third"]);
    let app = app.restart().await;
    app.turn(&session, "fourth").await;
    assert_eq!(
        prompt(&app),
        ["first", "one two", "third", "fine", "fourth"]
    );
    let said = conversation(&app, &session).await;
    assert!(said.contains(&"second".to_owned()), "people still see it");
}

// proves AS-8
#[tokio::test]
async fn streams_of_both_profiles_go_on_after_an_undo_as_if_nothing_had_been() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    let frames = app.turn(&session, "one").await;
    undo(&app, &session).await;
    let again = app.turn(&session, "one").await;
    assert_eq!(kinds(&again), kinds(&frames));

    let path = "/services/agent/sendMessage/stream?profile=full";
    let body = json!({"sessionId": session, "content": "two"});
    let request = app.request(reqwest::Method::POST, path).json(&body);
    let full = EventStream::new(request.send().await.unwrap()).rest().await;
    assert_eq!(full[0].kind(), "message_finished");
    assert_eq!(last(&full)["type"], "turn_finished");
}
