//! A turn is taken back with its files: from the command line, in a chat, over HTTP, and through a kill.

use std::fs;

use reqwest::Method;
use samovar_model_server::{ModelServer, When, call, say};
use samovar_testkit::{Program, Serving, Terminal, keys};
use serde_json::{Value, json};

use crate::setup::{ended_with, messages, with_model};

const SESSION: &str = "s";

/// A program whose model changes `a.txt` and makes `new/b.txt` when it is told to write, and only
/// talks otherwise.
async fn writing() -> (Program, ModelServer) {
    let change = json!({"path": "a.txt", "content": "new"});
    let make = json!({"path": "new/b.txt", "content": "new"});
    let writes = call("write_file", change).and_call("write_file", make);
    let read = call("read_file", json!({"path": "a.txt"}));
    let after = |results| When::user("write").and(When::ToolResultsSinceUser(results));
    let (program, model) = with_model([
        read.when(after(0)).forever(),
        writes.when(after(1)).forever(),
        say("it is done").forever(),
    ])
    .await;
    program.file("a.txt", "old");
    (program, model)
}

fn content(program: &Program, path: &str) -> Option<String> {
    fs::read_to_string(program.folder().join(path)).ok()
}

async fn serve(program: &Program) -> Serving {
    program
        .serve(&["--approval", "auto", "--data-dir", "data"])
        .await
}

/// One turn that talks and one that writes.
async fn written(server: &Serving) {
    server
        .ok("createSession", json!({"sessionId": SESSION}))
        .await;
    server.turn(SESSION, "talk").await;
    server.turn(SESSION, "write").await;
}

// proves TL-2
#[cfg(feature = "failpoints")]
#[tokio::test]
async fn an_undo_that_a_kill_cut_is_finished_by_the_next_start() {
    for point in [
        "undo.file.before:1",
        "undo.file.after:1",
        "undo.file.after:2",
    ] {
        let (program, _model) = writing().await;
        let program = program.set("SAMOVAR_FAILPOINT", point);
        let server = serve(&program).await;
        written(&server).await;
        assert_eq!(content(&program, "new/b.txt").as_deref(), Some("new"));
        // Read, it is in the history, which an undo needs.
        assert_eq!(messages(&server, SESSION).await.len(), 9, "{point}");
        let path = "/services/agent/undo";
        let params = json!({"sessionId": SESSION, "files": true});
        let sent = server
            .request(Method::POST, path)
            .json(&params)
            .send()
            .await;
        if let Ok(answer) = sent {
            panic!("{point} is not reached: {}", answer.text().await.unwrap());
        }
        assert_eq!(server.end().await.code, None, "{point}");

        let program = program.set("SAMOVAR_FAILPOINT", "");
        let server = serve(&program).await;

        let kept = ["user: talk", "assistant: it is done"];
        assert_eq!(messages(&server, SESSION).await, kept, "{point}");
        assert_eq!(
            content(&program, "a.txt").as_deref(),
            Some("old"),
            "{point}"
        );
        assert!(!program.folder().join("new").exists(), "{point}");
        assert!(
            !program.folder().join("data/undoing.json").exists(),
            "{point}"
        );
        server.kill().await;
    }
}

// proves TL-2
#[tokio::test]
async fn a_session_is_taken_back_from_the_command_line_with_its_files_or_without() {
    let (program, _model) = writing().await;
    let server = serve(&program).await;
    written(&server).await;
    let undo = async |more: &[&str]| {
        let args = ["sessions", "undo", SESSION, "--data-dir", "data"];
        program.run(args.iter().chain(more)).await
    };
    fs::write(program.folder().join("a.txt"), "mine").unwrap();

    let refused = undo(&["--files"]).await;
    ended_with(&refused, 2, "files_changed");
    assert!(refused.stderr.contains("\"a.txt\""), "{refused:?}");
    assert_eq!(content(&program, "new/b.txt").as_deref(), Some("new"));

    fs::write(program.folder().join("a.txt"), "new").unwrap();
    let undone = undo(&["--files", "--json"]).await;
    let answer: Value = serde_json::from_str(&undone.stdout).unwrap();
    let files = json!([
        {"path": "a.txt", "change": "restored"},
        {"path": "new/b.txt", "change": "removed"},
    ]);
    assert_eq!(
        (&answer["files"], &answer["content"]),
        (&files, &json!("write")),
        "{undone:?}"
    );
    assert_eq!(content(&program, "a.txt").as_deref(), Some("old"));

    server.turn(SESSION, "write").await;
    let undone = undo(&[]).await;
    let remains = "the effects of its tools, on files too, remain";
    assert!(undone.stdout.contains(remains), "{undone:?}");
    assert_eq!(content(&program, "a.txt").as_deref(), Some("new"));
    let kept = ["user: talk", "assistant: it is done"];
    assert_eq!(messages(&server, SESSION).await, kept);

    // What is kept of files goes with their session.
    server.turn(SESSION, "write").await;
    let held = || {
        fs::read_dir(program.folder().join("data/undo"))
            .unwrap()
            .count()
    };
    assert_eq!(held(), 2);
    server
        .ok("deleteSession", json!({"sessionId": SESSION}))
        .await;
    assert_eq!(held(), 0);
}

/// Enters a line, and waits until what it gives is there.
async fn enter(terminal: &Terminal, line: &str, sees: &str) {
    terminal.enters(line).await;
    terminal.sees(sees).await;
}

// proves TL-2
#[tokio::test]
async fn in_a_chat_files_come_back_unless_the_messages_alone_are_meant() {
    let (program, _model) = writing().await;
    let terminal = program.at_terminal(["chat"]);
    terminal.sees_prompt("> ").await;
    enter(&terminal, "write", "it is done").await;
    terminal.sees_prompt("> ").await;
    enter(&terminal, "/undo", "removed \"new/b.txt\"").await;
    terminal.sees_prompt("> write").await;
    assert_eq!(content(&program, "a.txt").as_deref(), Some("old"));

    // What was said stands there, and is sent once more.
    terminal.types("\r").await;
    let is_written = |_: &str| content(&program, "new/b.txt").is_some();
    terminal
        .sees_that("the files are written again", is_written)
        .await;
    terminal.sees_prompt("> ").await;
    fs::write(program.folder().join("a.txt"), "mine").unwrap();
    enter(&terminal, "/undo", "[files_changed]").await;
    terminal
        .sees("/undo messages takes back the messages alone")
        .await;
    terminal.sees_prompt("> ").await;
    enter(&terminal, "/undo messages", "on files too, remain").await;
    terminal.sees_prompt("> write").await;
    terminal.types("\u{15}").await;
    terminal.types(keys::CTRL_D).await;
    assert_eq!(terminal.leaves().await.code, Some(0));
    assert_eq!(content(&program, "a.txt").as_deref(), Some("mine"));
}
