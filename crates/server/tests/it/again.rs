//! A message that is sent again: it joins its turn, and there is never a second one.

use std::time::Duration;

use futures_util::future::join_all;
use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};

use crate::shown::{last, text};

fn sent(session: &str, id: &str, content: &str) -> Value {
    json!({"sessionId": session, "messageId": id, "content": content})
}

// proves AS-9, SA-10
#[tokio::test]
async fn whoever_sends_again_streams_the_turn_from_its_first_event_before_and_after_its_end() {
    let gate = Gate::new("half");
    let app = App::start([
        say("one two").deltas_of(3).hold_after(1, &gate),
        say("three"),
    ])
    .await;
    let session = app.session().await;
    let mut first = app.stream(sent(&session, "m-1", "go")).await;
    let mut frames = first.until("text_delta").await;
    let mut again = app.stream(sent(&session, "m-1", "go")).await;
    let mut waits = app.stream(sent(&session, "m-2", "and?")).await;
    let mut waits_again = app.stream(sent(&session, "m-2", "and?")).await;
    app.model.open(&gate).unwrap();

    frames.extend(first.rest().await);
    assert_eq!(again.rest().await, frames);
    let queued = waits.rest().await;
    assert_eq!(text(&queued), "three");
    assert_eq!(waits_again.rest().await, queued);
    // The turns are over.
    assert_eq!(
        app.stream(sent(&session, "m-1", "go")).await.rest().await,
        frames
    );

    let app = app.restart().await;
    for _ in 0..3 {
        let joined = app.stream(sent(&session, "m-1", "go")).await.rest().await;
        assert_eq!(joined, frames);
        let joined = app.stream(sent(&session, "m-2", "and?")).await.rest().await;
        assert_eq!(joined, queued);
    }
    for (id, content) in [("m-1", "and?"), ("m-2", "go")] {
        let refused = app.call("sendMessage", sent(&session, id, content)).await;
        assert_eq!((refused.status, refused.code()), (409, "message_conflict"));
    }
    let elsewhere = app.session().await;
    let refused = app.call("sendMessage", sent(&elsewhere, "m-1", "go")).await;
    assert_eq!((refused.status, refused.code()), (409, "message_conflict"));
    assert_eq!(app.model.prompts().len(), 2);
}

// proves SA-10
#[tokio::test]
async fn what_is_sent_again_while_a_killed_server_goes_on_joins_the_same_turn() {
    let never = Gate::new("never");
    let held = say("one two").deltas_of(3).hold_after(1, &never);
    let app = App::start([held, say("all of it")]).await;
    let session = app.session().await;
    let mut first = app.stream(sent(&session, "m-1", "go")).await;
    first.until("text_delta").await;

    let app = app.restart().await;
    let joined = join_all((0..20).map(|_| async {
        let mut stream = app.stream(sent(&session, "m-1", "go")).await;
        stream.rest().await
    }))
    .await;

    for frames in &joined {
        assert_eq!(frames, &joined[0]);
        assert!(text(frames).ends_with("all of it"));
    }
    assert_eq!(
        app.model.prompts().len(),
        2,
        "once before the stop and once after it"
    );
}

// proves SA-10
#[tokio::test]
async fn of_many_at_once_one_begins_the_turn_and_the_others_join_it() {
    let app = App::start([say("once").forever()]).await;
    let session = app.session().await;
    for number in 0..20 {
        let id = format!("m-{number}");
        let results = join_all((0..8).map(|_| app.ok("sendMessage", sent(&session, &id, "go"))));
        let results = results.await;
        assert!(results.iter().all(|result| *result == results[0]));
    }
    assert_eq!(app.model.prompts().len(), 20);
    let info = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(info["messageCount"], 40);
}

// proves SA-10
#[tokio::test]
async fn an_id_is_one_sessions_alone_however_close_the_two_are() {
    let app = App::start([say("once").forever()]).await;
    let (one, two) = (app.session().await, app.session().await);
    for number in 0..100 {
        let id = format!("m-{number}");
        let (first, second) = tokio::join!(
            app.call("sendMessage", sent(&one, &id, "go")),
            app.call("sendMessage", sent(&two, &id, "go")),
        );
        let mut statuses = [first.status, second.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{id}");
    }
    assert_eq!(app.model.prompts().len(), 100);
    assert_eq!(app.ok("getStats", json!({})).await["messages"], 200);
}

// proves SA-10
#[tokio::test]
async fn thousands_of_duplicates_begin_no_second_turn() {
    let never = Gate::new("never");
    let held = say("held").hold_after(0, &never).when(When::user("held"));
    let script = [say("over").when(When::user("over")), held];
    let app = App::start(script).await;
    let (free, busy) = (app.session().await, app.session().await);
    app.ok("sendMessage", sent(&free, "over", "over")).await;
    let _running = app.stream(sent(&busy, "held", "held")).await;
    let _queued = app.stream(sent(&busy, "queued", "queued")).await;
    for _ in 0..30 {
        let batch = (0..50).map(|_| async {
            let over = app.ok("sendMessage", sent(&free, "over", "over")).await;
            assert_eq!(over["text"], "over");
            drop(app.stream(sent(&busy, "held", "held")).await);
            drop(app.stream(sent(&busy, "queued", "queued")).await);
        });
        join_all(batch).await;
    }
    assert_eq!(app.model.prompts().len(), 2);
    assert_eq!(app.ok("getStats", json!({})).await["messages"], 4);
}

// proves SA-10
#[tokio::test]
async fn what_is_sent_again_when_its_turn_is_kept_no_longer_begins_no_second_one() {
    let app = AppBuilder::new()
        .with(|config| {
            config.settings.retention = Duration::ZERO;
            config.settings.sync_every = Duration::from_millis(20);
            config.settings.idle = Duration::ZERO;
        })
        .start([say("once").forever()])
        .await;
    let session = app.session().await;
    let params = || sent(&session, "m-1", "go");
    assert_eq!(app.ok("sendMessage", params()).await["text"], "once");

    let mut answer = app.call("sendMessage", params()).await;
    while answer.status == 200 {
        assert_eq!(answer.body["text"], "once");
        answer = app.call("sendMessage", params()).await;
    }

    let app = app.restart().await;
    let late = app.call("sendMessage", params()).await;
    for answer in [answer, late] {
        assert_eq!((answer.status, answer.code()), (404, "unknown_turn"));
    }
    let refused = app.post_stream(params()).await;
    let body = refused.text().await.unwrap();
    assert!(body.contains("unknown_turn"), "{body}");
    let other = app.call("sendMessage", sent(&session, "m-1", "stop")).await;
    assert_eq!((other.status, other.code()), (409, "message_conflict"));
    assert_eq!(app.model.prompts().len(), 1);
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows.as_array().unwrap().len(), 2, "what was said is there");
}

// proves AS-11, SA-10
#[tokio::test]
async fn what_has_steered_a_turn_joins_that_one_when_it_is_sent_again() {
    let gate = Gate::new("call");
    let held = say("Let me look.")
        .deltas_of(0)
        .and_call("list_dir", json!({"path": "."}))
        .hold_after(1, &gate);
    let app = App::start([held, say("Quickly then.")]).await;
    let session = app.session().await;
    let mut running = app.stream(sent(&session, "m-1", "go")).await;
    let mut frames = running.until("text_delta").await;
    let mut steers = sent(&session, "m-2", "and be quick");
    steers["delivery"] = "steer".into();
    let mut steering = app.stream(steers.clone()).await;
    // It still waits.
    let mut again = app.stream(steers.clone()).await;
    app.model.open(&gate).unwrap();
    frames.extend(running.rest().await);
    assert_eq!(last(&steering.rest().await)["finishReason"], "steered");
    assert_eq!(last(&again.rest().await)["finishReason"], "steered");

    assert_eq!(app.stream(steers.clone()).await.rest().await, frames);
    let app = app.restart().await;
    assert_eq!(app.stream(steers).await.rest().await, frames);
    assert_eq!(app.model.prompts().len(), 2);
}

// proves SA-10
#[tokio::test]
async fn what_was_refused_has_not_used_its_id_up() {
    let app = AppBuilder::new()
        .with(|config| config.settings.max_queue = 0)
        .start([call("list_dir", json!({"path": "."})), say("well")])
        .await;
    let session = app.session().await;
    let refused = app.call("sendMessage", sent(&session, "m-1", "go")).await;
    assert_eq!(refused.status, 429);
    let elsewhere = app.session().await;
    let again = app.call("sendMessage", sent(&elsewhere, "m-1", "go")).await;
    assert_eq!(
        (again.status, again.code()),
        (429, "busy"),
        "and not a conflict"
    );
}
