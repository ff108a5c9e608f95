//! A message that is sent again: it joins its turn, and there is never a second one.

use std::time::Duration;

use samovar_model_server::{Gate, say};
use samovar_testkit::{App, AppBuilder};
use serde_json::{Value, json};

use crate::shown::text;

fn sent(session: &str, id: &str, content: &str) -> Value {
    json!({"sessionId": session, "messageId": id, "content": content})
}

// proves AS-9, SA-10, SA-22
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
