//! A turn is taken back with its files, those of the agents that it called among them.

use std::fs;

use reqwest::Method;
use samovar_core::{Approval, Effect, Outcome, ToolReply};
use samovar_doubles::TestTool;
use samovar_model_server::{call, say};
use samovar_testkit::AppBuilder;
use serde_json::{Value, json};

fn write(path: &str, content: &str) -> Value {
    json!({"path": path, "content": content})
}

/// A tool whose effects nothing takes back.
fn tool(name: &str, effect: Effect) -> std::sync::Arc<dyn samovar_core::Toolset> {
    let run = |_, _| async { ToolReply::Closed(Outcome::done("done")) };
    TestTool::new(name, run).effect(effect).build()
}

// proves TL-2
#[tokio::test]
async fn files_of_called_agents_come_back_too_and_other_effects_are_named() {
    let order = json!({"name": "writer", "task": "write it"});
    let read = || call("read_file", json!({"path": "a.txt"}));
    let app = AppBuilder::new()
        .with(|config| config.settings.approval = Approval::Auto)
        .tools(tool("ring", Effect::Unsafe))
        .tools(tool("look", Effect::Read))
        .start([
            read(),
            call("write_file", write("a.txt", "1")),
            call("subAgent", order),
            read(),
            call("write_file", write("a.txt", "2")).and_call("write_file", write("b/c.txt", "2")),
            say("written"),
            read(),
            call("ring", json!({}))
                .and_call("look", json!({}))
                .and_call("write_file", write("a.txt", "3"))
                .and_call("write_file", write("../out.txt", "x")),
            say("done"),
        ])
        .await;
    let agent = json!({
        "name": "writer", "displayName": "Writer", "systemPrompt": "You write.",
        "toolKeys": ["read_file", "write_file"], "allowedSubAgents": [],
    });
    let made = app.request(Method::POST, "/api/agents").json(&agent);
    assert_eq!(app.answer(made).await.status, 200);
    fs::write(app.workspace().join("a.txt"), "0").unwrap();
    let session = app.session().await;
    app.turn(&session, "go").await;
    let content = || fs::read_to_string(app.workspace().join("a.txt")).unwrap();
    assert_eq!(content(), "3");

    let undo = json!({"sessionId": session, "files": true});
    let undone = app.ok("undo", undo).await;

    let files = json!([
        {"path": "a.txt", "change": "restored"},
        {"path": "b/c.txt", "change": "removed"},
    ]);
    assert_eq!(
        (&undone["files"], &undone["remainingTools"]),
        (&files, &json!(["ring"]))
    );
    let note = undone["note"].as_str().unwrap();
    assert!(note.contains("other effects of ring remain"), "{note}");
    assert_eq!(content(), "0");
    assert!(!app.workspace().join("b").exists());
    let rows = app.ok("getMessages", json!({"sessionId": session})).await;
    assert_eq!(rows, json!([]));
}
