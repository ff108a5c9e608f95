//! A disk that is full, or read-only, under a real server: nothing new is accepted, nothing that was
//! accepted is lost, and all continues by itself when there is room again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use samovar_core::{Effect, Outcome, ToolReply};
use samovar_model_server::{Gate, Script, When, call, say};
use samovar_testkit::{App, AppBuilder, EventStream, SmallDisk, TestTool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::shown::{kinds, text};

const MIB: u64 = 1 << 20;

fn builder(disk: &SmallDisk) -> AppBuilder {
    AppBuilder::new().with(|config| config.data_dir = disk.path().join("data"))
}

async fn on(disk: &SmallDisk, script: impl Into<Script>) -> App {
    builder(disk).start(script).await
}

/// Fills the disk, and makes sessions until the store has no room for one: how that was refused.
async fn fill(disk: &SmallDisk, app: &App) -> Value {
    disk.fill();
    let pad = "x".repeat(9000);
    for n in 0..10_000 {
        let params = json!({"sessionId": format!("filled {n}"), "metadata": {"pad": pad}});
        let answer = app.call("createSession", params).await;
        if answer.status != 200 {
            assert_eq!(answer.status, 507, "{answer:?}");
            return answer.body;
        }
    }
    panic!("the disk was not full");
}

async fn store(app: &App) -> Value {
    let server = app.request(reqwest::Method::GET, "/api/server");
    app.answer(server).await.body["store"].clone()
}

/// Says something as often as it takes until it is accepted: there is room, and the store finds that
/// out by itself.
async fn accepted(app: &App, session: &str, content: &str) -> EventStream {
    loop {
        let params = json!({"sessionId": session, "content": content});
        let response = app.post_stream(params).await;
        if response.status() == 200 {
            return EventStream::new(response);
        }
        assert_eq!(response.status(), 507);
    }
}

fn ballast(dir: &Path) -> Option<u64> {
    Some(std::fs::metadata(dir.join("ballast")).ok()?.len())
}

// proves DU-12
#[tokio::test]
async fn a_full_disk_refuses_what_is_new_and_a_running_turn_goes_on_when_there_is_room() {
    let name =
        "full::a_full_disk_refuses_what_is_new_and_a_running_turn_goes_on_when_there_is_room";
    let Some(disk) = SmallDisk::of_test(name, 40 * MIB) else {
        return;
    };
    let gate = Gate::new("mid");
    let app = on(
        &disk,
        [
            say("one two three")
                .hold_after(1, &gate)
                .when(When::user("first")),
            say("an answer").forever(),
        ],
    )
    .await;
    assert_eq!(ballast(&app.config().data_dir), Some(16 * MIB));
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;

    let other = app.session().await;

    let refused = fill(&disk, &app).await;

    assert_eq!(refused["code"], "store_full");
    let message = json!({"role": "assistant", "content": "x".repeat(20_000)});
    let body = json!({"sessionId": other, "message": message});
    let appended = app.call("appendMessage", body).await;
    assert_eq!(appended.code(), "store_full", "{appended:?}");
    assert_eq!(store(&app).await["isFull"], true);
    assert_eq!(ballast(&app.config().data_dir), None, "given up");
    // The rest of the answer comes, and has nowhere to go; reads go on.
    app.model.open(&gate).unwrap();
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[0]["content"], "first");
    app.ok("listSessions", json!({})).await;

    disk.make_room();
    let first = first.rest().await;
    assert!(
        kinds(&first).ends_with(&["completed", "[DONE]"]),
        "{first:?}"
    );
    let mut next = accepted(&app, &session, "next").await;
    assert_eq!(text(&next.rest().await), "an answer");
    assert_eq!(store(&app).await["isFull"], false);
    assert_eq!(
        ballast(&app.config().data_dir),
        Some(16 * MIB),
        "made again"
    );
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "one two three", "nothing is lost");
    app.stop().await;
}

// proves DU-12
#[tokio::test]
async fn results_and_cancels_are_kept_while_the_disk_is_full() {
    let name = "full::results_and_cancels_are_kept_while_the_disk_is_full";
    let Some(disk) = SmallDisk::of_test(name, 40 * MIB) else {
        return;
    };
    let runs = Arc::new(AtomicUsize::new(0));
    let (runs_now, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let tool = {
        let (runs, runs_now, go) = (runs.clone(), runs_now.clone(), go.clone());
        TestTool::new("touch", move |_, _| {
            runs.fetch_add(1, Ordering::SeqCst);
            runs_now.notify_one();
            let go = go.clone();
            async move {
                go.notified().await;
                ToolReply::Closed(Outcome::done("touched"))
            }
        })
    };
    let gate = Gate::new("never");
    let app = builder(&disk)
        .tools(tool.effect(Effect::Unsafe).build())
        .start([
            call("touch", json!({})).when(When::user("act").and(When::ToolResultsSinceUser(0))),
            say("done").when(When::user("act")),
            say("one two").hold_after(1, &gate).when(When::user("talk")),
            say("an answer").forever(),
        ])
        .await;
    let (acting, talking) = (app.session().await, app.session().await);
    let mut act = app.say(&acting, "act").await;
    runs_now.notified().await;
    let mut talk = app.say(&talking, "talk").await;
    talk.until("text_delta").await;
    fill(&disk, &app).await;

    go.notify_one();
    act.until("tool_call_result").await;
    let cancelled = app.ok("cancel", json!({"sessionId": talking})).await;
    let talk = talk.rest().await;

    assert_eq!(cancelled, json!({"cancelled": true}));
    assert_eq!(talk[talk.len() - 2].data["finishReason"], "cancelled");
    assert_eq!(store(&app).await["isFull"], true);
    disk.make_room();
    let act = act.rest().await;
    assert_eq!(text(&act), "done");
    assert_eq!(runs.load(Ordering::SeqCst), 1, "it ran once");
    app.stop().await;
}

// proves DU-12
#[tokio::test]
async fn a_start_on_a_full_disk_serves_what_there_is() {
    let name = "full::a_start_on_a_full_disk_serves_what_there_is";
    let Some(disk) = SmallDisk::of_test(name, 40 * MIB) else {
        return;
    };
    let mut app = on(&disk, [say("an answer").forever()]).await;
    let session = app.session().await;
    app.turn(&session, "first").await;
    app.stop_now().await;
    disk.fill();

    let app = app.restart().await;

    assert_eq!(ballast(&app.config().data_dir), None, "given up");
    assert_eq!(store(&app).await["isFull"], true);
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows[1]["content"], "an answer");
    let refused = app.call("createSession", json!({})).await;
    assert_eq!((refused.status, refused.code()), (507, "store_full"));
    disk.make_room();
    let mut next = accepted(&app, &session, "next").await;
    assert_eq!(text(&next.rest().await), "an answer");
    app.stop().await;
}

// proves DU-12
#[tokio::test]
async fn a_turn_waits_while_nothing_may_be_written_and_goes_on_by_itself() {
    let name = "full::a_turn_waits_while_nothing_may_be_written_and_goes_on_by_itself";
    let Some(disk) = SmallDisk::of_test(name, 40 * MIB) else {
        return;
    };
    let app = on(&disk, [say("an answer").forever()]).await;
    let session = app.session().await;
    disk.shut();
    let mut stream = app.say(&session, "first").await;
    // The model has answered, and no piece of that can be kept.
    app.model.seen(1).await;
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows.as_array().unwrap().len(), 1, "{rows}");

    disk.open();

    let frames = stream.rest().await;
    assert_eq!(text(&frames), "an answer");
    assert!(kinds(&frames).ends_with(&["completed", "[DONE]"]));
    let config = app.config().clone();
    app.stop().await;
    disk.shut();
    let refused = samovar_server::start(config).await;
    let refused = refused.map(|_| ()).unwrap_err();
    assert_eq!(refused.code(), "data_dir_unusable", "{refused}");
    assert!(refused.to_string().contains("Read-only"), "{refused}");
}
