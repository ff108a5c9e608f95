//! What a message sets for its own turn.

use samovar_core::Approval;
use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::{App, AppBuilder, Frame};
use serde_json::{Value, json};

use crate::shown::{last, results, text};

/// Says something with bounds and reads the whole turn.
async fn bounded(app: &App, session: &str, content: &str, bounds: Value) -> Vec<Frame> {
    app.stream(with(session, content, bounds))
        .await
        .rest()
        .await
}

fn with(session: &str, content: &str, bounds: Value) -> Value {
    let mut params = json!({"sessionId": session, "content": content});
    let Value::Object(bounds) = bounds else {
        panic!()
    };
    params.as_object_mut().unwrap().extend(bounds);
    params
}

fn max_iterations(frames: &[Frame]) -> &Value {
    let first = frames.iter().find(|frame| frame.kind() == "iteration");
    &first.unwrap().data["maxIterations"]
}

// proves AS-10
#[tokio::test]
async fn a_message_bounds_the_passes_and_the_tokens_of_its_turn_and_of_no_other() {
    let look = || call("list_dir", json!({}));
    let app = App::start([
        look().when(When::user("two passes")).forever(),
        look().when(When::user("few tokens")).forever(),
        say("done").forever(),
    ])
    .await;
    let session = app.session().await;

    let cut = bounded(&app, &session, "two passes", json!({"maxIterations": 2})).await;
    assert_eq!(max_iterations(&cut), 2);
    assert_eq!(last(&cut)["finishReason"], "max_iterations");
    assert_eq!(last(&cut)["totalIterations"], 2);

    let spent = bounded(&app, &session, "few tokens", json!({"budgetTokens": 1})).await;
    assert_eq!(last(&spent)["finishReason"], "budget");
    assert_eq!(last(&spent)["totalIterations"], 1);
    assert_eq!(app.model.prompts().last().unwrap().body()["max_tokens"], 1);

    let free = app.turn(&session, "go on").await;
    assert_eq!(max_iterations(&free), 20);
    assert_eq!(last(&free)["finishReason"], "stop");
}

// proves TL-4
#[tokio::test]
async fn a_message_sets_the_approval_level_of_its_turn_and_of_no_other() {
    let write = |content: &str| {
        let args = json!({"path": "note.txt", "content": content});
        let asked = When::user(content).and(When::ToolResultsSinceUser(0));
        call("write_file", args).when(asked)
    };
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = Approval::Supervised)
        .start([
            write("freely"),
            write("as usual"),
            write("not at all"),
            say("done").forever(),
        ])
        .await;
    let session = app.session().await;

    let freely = bounded(&app, &session, "freely", json!({"approval": "auto"})).await;
    assert!(results(&freely)[0].starts_with("created"), "{freely:?}");
    let note = || std::fs::read_to_string(app.workspace().join("note.txt")).unwrap();
    assert_eq!(note(), "freely");

    let usual = app.turn(&session, "as usual").await;
    assert!(results(&usual)[0].contains("needs a person's approval"));
    let never = bounded(
        &app,
        &session,
        "not at all",
        json!({"approval": "read-only"}),
    )
    .await;
    assert!(results(&never)[0].contains("level is read-only"));
    assert_eq!(note(), "freely");
}

// proves DU-16
#[tokio::test]
async fn bounds_hold_for_a_turn_that_waits_and_over_a_restart() {
    let gate = Gate::new("never");
    let write = json!({"path": "note.txt", "content": "x"});
    let second = || When::user("second");
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = Approval::ReadOnly)
        .start([
            say("some words")
                .hold_after(1, &gate)
                .when(When::user("first")),
            call("write_file", write).when(second()).forever(),
        ])
        .await;
    let session = app.session().await;
    let mut first = app.say(&session, "first").await;
    first.until("text_delta").await;
    let bounds = json!({"messageId": "m2", "maxIterations": 1, "approval": "auto"});
    drop(app.stream(with(&session, "second", bounds)).await);

    let app = app.restart().await;
    // What was accepted joins its turn, whatever bounds come with it now.
    let again = json!({"messageId": "m2", "maxIterations": 7, "approval": "read-only"});
    let again = bounded(&app, &session, "second", again).await;

    assert_eq!(max_iterations(&again), 1);
    assert_eq!(last(&again)["finishReason"], "max_iterations");
    assert!(results(&again)[0].starts_with("created"), "{again:?}");
    assert_eq!(text(&again), "");
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let said = rows
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["id"] == "m2")
        .unwrap();
    assert_eq!(said["content"], "second");
    assert_eq!(
        said["metadata"],
        json!({}),
        "bounds are no part of what was said"
    );
}

// proves AS-3
#[tokio::test]
async fn bounds_that_are_none_are_refused_and_nothing_is_kept() {
    let app = App::start([say("never")]).await;
    let session = app.session().await;
    for bounds in [
        json!({"maxIterations": 0}),
        json!({"maxIterations": 1001}),
        json!({"budgetTokens": 0}),
        json!({"approval": "yolo"}),
    ] {
        let refused = app
            .call("sendMessage", with(&session, "go", bounds.clone()))
            .await;
        assert_eq!(refused.status, 400, "{bounds}");
        assert_eq!(refused.code(), "invalid_params");
    }
    assert_eq!(
        app.ok("getMessages", json!({"sessionId": session})).await,
        json!([])
    );
}
