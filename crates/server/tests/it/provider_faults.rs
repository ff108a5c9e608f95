//! A model's server that fails: one error, the right code, nothing lost, and the session continues.

mod answers;
mod calls;
mod retries;
mod silence;

use std::time::Duration;

use samovar_model_server::{Reply, Script, When, say};
use samovar_testkit::{App, AppBuilder, Frame};
use serde_json::json;

use crate::shown::{kinds, last, text};

/// A way to fail, and what is to come of it.
struct Row {
    /// What is said to the model that fails so.
    name: &'static str,
    reply: Reply,
    code: &'static str,
    /// What is shown, and so kept.
    shown: &'static str,
    /// What the message for a person says.
    says: &'static str,
}

fn row(
    name: &'static str,
    reply: Reply,
    code: &'static str,
    shown: &'static str,
    says: &'static str,
) -> Row {
    Row {
        name,
        reply,
        code,
        shown,
        says,
    }
}

/// Plays each row in a session of its own, says something else after it, and ends the server.
async fn check_all(builder: AppBuilder, rows: Vec<Row>) {
    let rules = rows
        .iter()
        .map(|row| row.reply.clone().when(When::user(row.name)));
    let fine = say("fine").forever().when(When::user("again"));
    let script: Script = rules.chain([fine]).collect();
    // A turn that hangs would hold the end up for good.
    let forever = Duration::from_hours(1);
    let app = builder
        .with(|config| config.server.drain = forever)
        .start(script)
        .await;
    let mut messages = 0;
    for row in &rows {
        app.ok("createSession", json!({"sessionId": row.name}))
            .await;
        let frames = app.turn(row.name, row.name).await;
        check_stream(row, &frames);
        let mut said = vec![row.name];
        said.extend(Some(row.shown).filter(|shown| !shown.is_empty()));
        check_messages(&app, row.name, &said).await;

        let again = app.turn(row.name, "again").await;
        assert_eq!(text(&again), "fine", "{}", row.name);
        said.extend(["again", "fine"]);
        check_messages(&app, row.name, &said).await;
        messages += said.len();
    }
    let stats = app.ok("getStats", json!({})).await;
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&json!(rows.len()), &json!(messages))
    );
    assert_eq!(app.model.left_over(), [0; 0], "every row was played");
    for prompt in app.model.prompts() {
        prompt.end().await;
    }
    app.stop().await;
}

fn check_stream(row: &Row, frames: &[Frame]) {
    let name = row.name;
    let mut kinds = kinds(frames);
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "error").count(),
        1,
        "{name}: {kinds:?}"
    );
    kinds.retain(|kind| *kind != "text_delta");
    assert_eq!(kinds, ["iteration", "error", "[DONE]"], "{name}");
    assert_eq!(text(frames), row.shown, "{name}");
    let error = last(frames);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("kept"), "{message}");
    assert_eq!(error["code"], row.code, "{name}: {message}");
    assert!(message.contains(row.says), "{name}: {message}");
    assert!(
        !message.contains('\n') && message.len() < 1000,
        "{name}: {message}"
    );
}

async fn check_messages(app: &App, session: &str, expected: &[&str]) {
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    let said = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["content"].as_str().unwrap());
    assert_eq!(said.collect::<Vec<_>>(), expected, "{session}");
    let info = app.ok("getSession", json!({"sessionId": session})).await;
    assert_eq!(info["messageCount"], expected.len(), "{session}");
}
