//! Backups of a server in use, and what a start makes of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{Gate, When, call, say};
use samovar_testkit::{Program, Serving, Signal};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::setup::{ended_with, last, messages, program, text, with_model};

const FILES: [&str; 3] = ["audit.jsonl", "history.db", "journal/data.mdb"];

async fn backup(program: &Program, folder: &str) -> Value {
    let made = program
        .run(["backup", folder, "--data-dir", "data", "--json"])
        .await
        .exits(0);
    serde_json::from_str(&made.stdout).unwrap()
}

async fn restore(program: &Program, folder: &str, to: &str) {
    program
        .run(["restore", folder, "--data-dir", to])
        .await
        .exits(0);
}

fn post(session: &str, message: &str, content: &str) -> Value {
    json!({"sessionId": session, "messageId": message, "content": content})
}

async fn ids(server: &Serving, session: &str) -> Vec<String> {
    let params = json!({"sessionId": session, "limit": 1000});
    let rows = server.ok("getMessages", params).await;
    let rows = rows.as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

// proves DU-13
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_has_all_that_was_acknowledged_before_it_began() {
    let (program, _model) = with_model([
        call("list_dir", json!({"path": "."}))
            .when(When::user("look").and(When::ToolResultsSinceUser(0)))
            .forever(),
        say("an answer of several words").deltas_of(4).forever(),
    ])
    .await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(server.session().await);
    }
    let mut acknowledged = Vec::new();
    for (number, session) in sessions.iter().enumerate() {
        let message = format!("before {number}");
        // The answer is not waited for: what is acknowledged is kept.
        drop(server.stream(post(session, &message, "look")).await);
        acknowledged.push((session.clone(), message));
    }
    let mut load = JoinSet::new();
    for (number, session) in sessions.iter().enumerate() {
        let path = "/services/agent/sendMessage";
        for round in 0..10 {
            let params = post(session, &format!("during {number} {round}"), "look around");
            load.spawn(server.request(Method::POST, path).json(&params).send());
        }
    }
    let made = backup(&program, "saved").await;
    assert!(made["bytes"].as_u64() > Some(0), "{made}");
    while load.join_next().await.is_some() {}
    server.kill().await;
    let names = fs::read_dir(program.folder().join("saved")).unwrap();
    let names: BTreeSet<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names.len(), 4, "no token is in it: {names:?}");

    restore(&program, "saved", "elsewhere").await;
    let server = program.serve(&["--data-dir", "elsewhere"]).await;

    for (session, message) in &acknowledged {
        let kept = ids(&server, session).await;
        assert!(kept.contains(message), "{message}: {kept:?}");
        assert_eq!(kept.iter().collect::<BTreeSet<_>>().len(), kept.len());
        let frames = server.turn(session, "and now?").await;
        assert_eq!(text(&frames), "an answer of several words");
    }
    let damage = server.request(Method::GET, "/api/damage").send().await;
    let damage: Value = damage.unwrap().json().await.unwrap();
    assert_eq!(damage["items"], json!([]));
}

// proves DU-13
#[tokio::test]
async fn a_running_server_goes_back_to_a_backup_and_keeps_what_it_had_aside() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    server.turn(&session, "first").await;
    backup(&program, "saved").await;
    let later = server.turn(&session, "second").await;
    let later: BTreeSet<_> = later.iter().filter_map(|frame| frame.id.clone()).collect();

    let unsure = program
        .run(["restore", "saved", "--data-dir", "data"])
        .await;
    ended_with(&unsure, 2, "invalid_params");
    let restored = ["restore", "saved", "--data-dir", "data", "--force"];
    program.run(restored).await.exits(0);

    assert_eq!(
        messages(&server, &session).await,
        ["user: first", "assistant: an answer"]
    );
    let anew = server.turn(&session, "third").await;
    assert_eq!(text(&anew), "an answer");
    let twice = anew.iter().filter_map(|frame| frame.id.as_ref());
    assert!(twice.clone().all(|id| !later.contains(id)), "{later:?}");
    let aside = fs::read_dir(program.folder().join("data")).unwrap();
    let aside = aside.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(aside.into_iter().any(|name| name.starts_with("replaced-")));
}

// proves DU-13
#[tokio::test]
async fn a_turn_that_the_history_knows_to_be_over_is_not_continued_by_an_older_journal() {
    let gate = Gate::new("gate");
    let (program, model) = with_model([
        say("the whole answer")
            .hold_after(1, &gate)
            .when(When::user("first")),
        say("the second answer").when(When::user("second")),
    ])
    .await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    let mut stream = server.stream(post(&session, "m1", "first")).await;
    stream.until("text_delta").await;
    backup(&program, "saved").await;
    model.open(&gate).unwrap();
    let rest = stream.rest().await;
    assert_eq!(last(&rest)["type"], "completed");
    let shown = rest.iter().filter_map(|frame| frame.id.clone());
    let shown: BTreeSet<_> = shown.collect();
    server.send(samovar_testkit::Signal::TERM);
    assert_eq!(server.end().await.code, Some(0));

    restore(&program, "saved", "mixed").await;
    let folder = program.folder();
    fs::copy(
        folder.join("data/history.db"),
        folder.join("mixed/history.db"),
    )
    .unwrap();
    for _ in 0..2 {
        let server = program.serve(&["--data-dir", "mixed"]).await;
        let kept = messages(&server, &session).await;
        assert_eq!(kept[..2], ["user: first", "assistant: the whole answer"]);
        server.kill().await;
    }
    let server = program.serve(&["--data-dir", "mixed"]).await;
    let second = server.turn(&session, "second").await;
    assert_eq!(text(&second), "the second answer");
    let twice = second.iter().filter_map(|frame| frame.id.as_ref());
    assert!(twice.clone().all(|id| !shown.contains(id)));
    assert_eq!(model.prompts().len(), 2, "each was asked once");
}

// proves DU-13
#[tokio::test]
async fn what_is_no_whole_backup_changes_nothing_and_nothing_is_overwritten() {
    let program = program();
    let folder = program.folder();
    assert_eq!(
        program
            .run(["run", "hello", "--data-dir", "data"])
            .await
            .code,
        Some(0)
    );
    backup(&program, "saved").await;
    let again = program.run(["backup", "saved", "--data-dir", "data"]).await;
    ended_with(&again, 2, "backup_unusable");
    let inside = program
        .run(["backup", "data/saved", "--data-dir", "data"])
        .await;
    ended_with(&inside, 2, "backup_unusable");

    fs::create_dir(folder.join("empty")).unwrap();
    for (backup, to) in [("empty", "new"), ("missing", "new"), ("saved", "data")] {
        let refused = program.run(["restore", backup, "--data-dir", to]).await;
        ended_with(&refused, 2, "backup_unusable");
    }
    for name in FILES {
        let path = folder.join("saved").join(name);
        let whole = fs::read(&path).unwrap();
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for changed in [&whole[..whole.len() - 1], &flipped] {
            fs::write(&path, changed).unwrap();
            let refused = program.run(["restore", "saved", "--data-dir", "new"]).await;
            ended_with(&refused, 2, "backup_unusable");
        }
        fs::write(&path, whole).unwrap();
    }
    assert!(!has_stores(&folder.join("new")));
    restore(&program, "saved", "new").await;
    let listed = program
        .run(["sessions", "list", "--data-dir", "new", "--json"])
        .await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["totalCount"], 1);
}

async fn epoch(server: &Serving) -> u64 {
    let state = server.request(Method::GET, "/api/backup");
    server.answer(state).await.body["epoch"].as_u64().unwrap()
}

// proves DU-13
#[tokio::test]
async fn a_restore_whose_client_hangs_up_is_not_left_for_some_later_start() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    server.turn(&session, "first").await;
    backup(&program, "saved").await;
    server.turn(&session, "second").await;
    // Whoever copies the backup waits here for its bytes.
    let history = program.folder().join("saved/history.db");
    let bytes = fs::read(&history).unwrap();
    fs::remove_file(&history).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&history).status();
    assert!(made.unwrap().success());
    let before = epoch(&server).await;
    let saved = json!({"path": program.folder().join("saved")});
    let ask = |what: &str| server.request(Method::POST, &format!("/api/{what}"));

    let mut client = JoinSet::new();
    client.spawn(ask("restore").json(&saved).send());
    // It is being copied, and no other may begin meanwhile.
    let part = program.folder().join("data/restore.part");
    while !part.join("history.db").exists() {
        let ended = client.try_join_next();
        assert!(ended.is_none(), "{ended:?}");
        tokio::task::yield_now().await;
    }
    let elsewhere = json!({"path": program.folder().join("another")});
    for (what, params) in [("restore", &saved), ("backup", &elsewhere)] {
        let busy = server.answer(ask(what).json(params)).await;
        assert_eq!(busy.code(), "busy", "{what}: {busy:?}");
    }
    client.shutdown().await;
    let feed = tokio::task::spawn_blocking(move || fs::write(history, bytes));
    feed.await.unwrap().unwrap();

    let now = async || {
        let state = server
            .request(Method::GET, "/api/backup")
            .send()
            .await
            .ok()?;
        state.json::<Value>().await.ok()?["epoch"].as_u64()
    };
    // It starts over at once, also without a reader.
    let anew = async { while now().await.is_none_or(|now| now == before) {} };
    let anew = tokio::time::timeout(Duration::from_mins(1), anew).await;
    assert!(anew.is_ok(), "the restore waits for some later start");
    assert_eq!(
        messages(&server, &session).await,
        ["user: first", "assistant: an answer"]
    );
}

// proves DU-13
#[tokio::test]
async fn a_session_that_was_damaged_is_whole_again_when_its_backup_is_restored() {
    let (program, _model) = with_model([say("an answer").forever()]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    server.turn(&session, "this is flipped").await;
    backup(&program, "saved").await;
    server.kill().await;
    let data = program.folder().join("data");
    let journal = data.join("journal/data.mdb");
    let mut bytes = fs::read(&journal).unwrap();
    let needle = b"this is flipped";
    for at in 0..bytes.len() - needle.len() {
        if bytes[at..].starts_with(needle) {
            bytes[at] ^= 1;
        }
    }
    fs::write(&journal, bytes).unwrap();
    for name in ["history.db", "history.db-wal", "history.db-shm"] {
        fs::remove_file(data.join(name)).unwrap();
    }
    program.run(["doctor", "--fix", "--data-dir", "data"]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    for (method, params) in [
        ("getSession", json!({"sessionId": session})),
        ("getMessages", json!({"sessionId": session})),
        ("createSession", json!({"sessionId": session})),
        (
            "sendMessage",
            json!({"sessionId": session, "content": "are you there?"}),
        ),
    ] {
        let refused = server.call(method, params).await;
        assert_eq!(refused.code(), "session_damaged", "{method}");
    }
    server.kill().await;

    let restored = ["restore", "saved", "--force", "--data-dir", "data"];
    program.run(restored).await.exits(0);

    let server = program.serve(&["--data-dir", "data"]).await;
    let rows = messages(&server, &session).await;
    assert_eq!(rows, ["user: this is flipped", "assistant: an answer"]);
    let damage = server.request(Method::GET, "/api/damage");
    assert_eq!(server.answer(damage).await.body["items"], json!([]));
}

fn has_stores(data: &Path) -> bool {
    FILES.iter().any(|name| data.join(name).exists())
}

// proves DU-13
#[tokio::test]
async fn a_start_removes_the_backup_that_a_kill_cut_off_and_nothing_else() {
    let (program, _model) = with_model([say("well").forever()]).await;
    let folder = program.folder();
    for (name, is_removed) in [
        ("monday.part-17", true),
        ("monday.part-x", false),
        ("monday", false),
    ] {
        let left = folder.join(name);
        fs::create_dir_all(left.join("journal")).unwrap();
        fs::create_dir_all(folder.join("data")).unwrap();
        let note = folder.join("data/backup-under-way");
        fs::write(&note, left.to_str().unwrap()).unwrap();
        let server = program.serve(&["--data-dir", "data"]).await;
        assert_eq!(left.exists(), !is_removed, "{name}");
        assert!(!note.exists());
        server.send(Signal::TERM);
        server.end().await;
    }
    let server = program.serve(&["--data-dir", "data"]).await;
    backup(&program, "tuesday").await;
    assert!(!folder.join("data/backup-under-way").exists());
    server.send(Signal::TERM);
    server.end().await;
}
