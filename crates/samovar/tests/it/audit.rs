//! The record of decisions: what is in it after kills, after a cut, and after a restore.

use std::fs;
use std::path::Path;

use samovar_model_server::{ModelServer, When, call, say};
use samovar_testkit::{Program, Serving};
use serde_json::{Value, json};

use crate::setup::{last, with_model};

const SERVE: [&str; 4] = ["--approval", "auto", "--data-dir", "data"];

/// A turn that reads, and then writes a file.
async fn writing() -> (Program, ModelServer) {
    let write = json!({"path": "notes.txt", "content": "tea, in secret"});
    with_model([
        call("list_dir", json!({"path": "."}))
            .and_call("write_file", write)
            .when(When::ToolResultsSinceUser(0))
            .forever(),
        say("written").forever(),
    ])
    .await
}

pub(crate) async fn audit(program: &Program, args: &[&str]) -> (Option<i32>, Value) {
    let args = [&["audit"], args, &["--data-dir", "data", "--json"]].concat();
    let shown = program.run(args).await;
    let json = serde_json::from_str(&shown.stdout);
    (shown.code, json.unwrap_or_else(|_| panic!("{shown:?}")))
}

/// The events of calls in the audit, with their tools and results.
async fn calls(program: &Program) -> Vec<String> {
    let (_, shown) = audit(program, &["show", "--limit", "500"]).await;
    let items = shown["items"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    items
        .filter(|record| record["callId"].is_string())
        .map(|record| {
            [&record["event"], &record["tool"], &record["result"]]
                .map(text)
                .join(" ")
        })
        .collect()
}

async fn turn(server: &Serving) -> Option<String> {
    let post = json!({"sessionId": "s", "messageId": "m", "content": "write"});
    let mut stream = server.stream(post).await;
    let frames = stream.rest().await;
    Some(last(&frames)["type"].as_str()?.to_owned())
}

async fn is_whole(program: &Program) {
    let (code, verdict) = audit(program, &["verify"]).await;
    assert_eq!((code, &verdict["ok"]), (Some(0), &json!(true)), "{verdict}");
}

const WRITTEN: [&str; 2] = ["call_started write_file -", "call_closed write_file done"];

// proves TL-15
#[cfg(feature = "failpoints")]
#[tokio::test]
async fn a_call_is_recorded_once_wherever_a_kill_falls() {
    for point in [
        "audit.append.before",
        "audit.append.after",
        "file.sync.before",
        "history.commit.before:2",
        "history.commit.after:2",
    ] {
        let (program, _model) = writing().await;
        let armed = program.set("SAMOVAR_FAILPOINT", point);
        let server = armed.serve(&SERVE).await;
        server.ok("createSession", json!({"sessionId": "s"})).await;
        let post = json!({"sessionId": "s", "messageId": "m", "content": "write"});
        let path = "/services/agent/sendMessage/stream";
        let request = server.request(reqwest::Method::POST, path).json(&post);
        let _answer = request.send().await;
        assert_eq!(server.end().await.code, None, "{point}: it was killed");

        let program = armed.set("SAMOVAR_FAILPOINT", "");
        let server = program.serve(&SERVE).await;
        assert_eq!(turn(&server).await.as_deref(), Some("completed"), "{point}");
        let told = calls(&program).await;
        let told: Vec<_> = told
            .iter()
            .filter(|call| call.contains("write_file"))
            .collect();
        assert_eq!(told, WRITTEN, "{point}");
        is_whole(&program).await;
        server.kill().await;
        is_whole(&program).await;
    }
}

// proves TL-15
#[tokio::test]
async fn a_call_whose_turn_was_over_when_the_kill_came_is_recorded_once() {
    for _ in 0..4 {
        let (program, _model) = writing().await;
        let server = program.serve(&SERVE).await;
        server.ok("createSession", json!({"sessionId": "s"})).await;
        assert_eq!(turn(&server).await.as_deref(), Some("completed"));
        server.kill().await;

        // The first command makes up for it, the second finds nothing to do.
        for _ in 0..2 {
            let told = calls(&program).await;
            let told: Vec<_> = told
                .iter()
                .filter(|call| call.contains("write_file"))
                .collect();
            assert_eq!(told, WRITTEN);
        }
        is_whole(&program).await;
    }
}

// proves TL-15
#[tokio::test]
async fn calls_that_a_power_cut_takes_from_the_end_are_recorded_again() {
    let (program, _model) = writing().await;
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(turn(&server).await.as_deref(), Some("completed"));
    // A read waits until the history, and before it the audit, has everything.
    server.ok("getMessages", json!({"sessionId": "s"})).await;
    server.kill().await;
    let file = program.folder().join("data/audit.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    // The start of the server was synced at once, the calls are not yet.
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    assert_eq!(lines.len(), 3, "{text}");
    fs::write(&file, lines[0]).unwrap();

    let told = calls(&program).await;

    let told: Vec<_> = told
        .iter()
        .filter(|call| call.contains("write_file"))
        .collect();
    assert_eq!(told, WRITTEN);
}

// proves TL-15
#[tokio::test]
async fn what_only_reads_is_not_recorded_and_no_argument_is() {
    let (program, _model) = writing().await;
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(turn(&server).await.as_deref(), Some("completed"));

    assert_eq!(calls(&program).await, WRITTEN);
    server.kill().await;
    let kept = calls(&program).await;
    let kept: Vec<_> = kept
        .iter()
        .filter(|call| call.contains("write_file"))
        .collect();
    assert_eq!(kept, WRITTEN, "without a server");
    let text = fs::read_to_string(program.folder().join("data/audit.jsonl")).unwrap();
    assert!(
        !text.contains("tea") && !text.contains("notes.txt"),
        "{text}"
    );
    let (code, _) = audit(&program, &["show", "--tool", "list_dir"]).await;
    assert_eq!(code, Some(0));
}

// proves TL-15
#[tokio::test]
async fn a_cut_or_edited_audit_is_reported_with_its_record_and_keeps_no_server_from_starting() {
    let (program, _model) = writing().await;
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    turn(&server).await;
    let (_, head) = audit(&program, &["show", "--head"]).await;
    server.send(samovar_testkit::Signal::TERM);
    assert_eq!(server.end().await.code, Some(0));
    let file = program.folder().join("data/audit.jsonl");
    let whole = fs::read_to_string(&file).unwrap();
    let hash = head["hash"].as_str().unwrap();
    let (code, _) = audit(&program, &["verify", "--head", hash]).await;
    assert_eq!(code, Some(0));
    let (code, verdict) = audit(&program, &["verify", "--head", &"0".repeat(64)]).await;
    assert_eq!(code, Some(1));
    assert_eq!(verdict["problems"][0]["kind"], "anchor");

    let edited = whole.replacen("write_file", "read_files", 1);
    fs::write(&file, edited).unwrap();
    let (code, verdict) = audit(&program, &["verify"]).await;
    assert_eq!(
        (code, &verdict["problems"][0]["kind"]),
        (Some(1), &json!("changed"))
    );
    assert_eq!(verdict["problems"][0]["record"], 2);
    let found = program
        .run(["doctor", "-v", "--data-dir", "data"])
        .await
        .exits(1);
    assert!(found.stdout.contains("record 2 was changed"), "{found:?}");

    let lines: Vec<_> = whole.split_inclusive('\n').collect();
    fs::write(&file, lines[..lines.len() - 2].concat()).unwrap();
    let server = program.serve(&SERVE).await;
    assert_eq!(turn(&server).await.as_deref(), Some("completed"));
    server.kill().await;
    program
        .run(["audit", "verify", "--data-dir", "data"])
        .await
        .exits(1);
    let (_, shown) = audit(&program, &["show"]).await;
    let told = shown["items"].as_array().unwrap().iter();
    let broken: Vec<_> = told
        .filter(|record| record["event"] == "chain_broken")
        .collect();
    let missing = format!("records {} to {} are missing", lines.len() - 1, lines.len());
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0]["about"], missing);
}

// proves TL-15
#[tokio::test]
async fn a_restored_backup_has_its_audit_which_goes_on_with_a_record_of_the_restore() {
    let (program, _model) = writing().await;
    let server = program.serve(&SERVE).await;
    server.ok("createSession", json!({"sessionId": "s"})).await;
    turn(&server).await;
    // A backup of a history that lags has its calls recorded again.
    server.ok("getMessages", json!({"sessionId": "s"})).await;
    let saved = program.folder().join("saved");
    let saved = saved.to_str().unwrap();
    program
        .run(["backup", saved, "--data-dir", "data"])
        .await
        .exits(0);
    server.ok("createSession", json!({"sessionId": "t"})).await;
    let post = json!({"sessionId": "t", "messageId": "n", "content": "again"});
    server.stream(post).await.rest().await;
    assert_eq!(calls(&program).await.len(), 4);
    server.kill().await;

    let restored = ["restore", saved, "--data-dir", "data", "--force"];
    program.run(restored).await.exits(0);
    assert!(Path::new(saved).join("audit.jsonl").exists());
    let server = program.serve(&SERVE).await;
    assert_eq!(calls(&program).await, WRITTEN);
    let (_, shown) = audit(&program, &["show"]).await;
    let told = shown["items"].as_array().unwrap().iter();
    let notes = told.filter(|record| record["event"] == "restored");
    assert_eq!(notes.count(), 1);
    is_whole(&program).await;
    server.kill().await;
}
