//! A killed server on a disk that is full when it starts again.

use std::fs;

use reqwest::Method;
use rustix::process::{Resource, Rlimit, prlimit};
use samovar_model_server::{Gate, call, say};
use samovar_testkit::{EventStream, Signal, SmallDisk};
use serde_json::{Value, json};

use crate::setup::{last, messages, text, with_model};

const MIB: u64 = 1 << 20;

// proves DU-6, DU-12
#[tokio::test]
async fn a_turn_that_a_kill_cut_waits_on_a_full_disk_and_goes_on_when_there_is_room() {
    let name = "full::a_turn_that_a_kill_cut_waits_on_a_full_disk_and_goes_on_when_there_is_room";
    let Some(disk) = SmallDisk::of_test(name, 48 * MIB) else {
        return;
    };
    let never = Gate::new("never");
    let (program, model) = with_model([
        say("half of it").deltas_of(4).hold_after(1, &never),
        say("the whole answer"),
        say("another answer"),
    ])
    .await;
    let data = disk.path().join("data");
    let program = program.set("DATA_DIR", data.to_str().unwrap());
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let mut stream = server.say(&session, "first").await;
    let shown = stream.until("text_delta").await;
    server.kill().await;
    drop(stream);
    disk.fill();

    let server = program.serve(&[]).await;

    let ask = async |path: &str| server.answer(server.request(Method::GET, path)).await.body;
    // It was taken up, and waits before it touches the world.
    while ask("/api/recovery").await["continued"] != 1 {}
    assert_eq!(ask("/api/server").await["store"]["isFull"], true);
    let refused = server.call("createSession", json!({})).await;
    assert_eq!((refused.status, refused.code()), (507, "store_full"));
    assert_eq!(messages(&server, &session).await, ["user: first"]);
    assert_eq!(model.prompts().len(), 1, "nobody is asked yet");
    let told = program.run(["doctor", "--json"]).await.exits(1);
    let told: Value = serde_json::from_str(&told.stdout).unwrap();
    let mut findings = told["findings"].as_array().unwrap().iter();
    let found = findings.find(|finding| finding["what"] == "disk").unwrap();
    assert_eq!(found["ok"], false, "{found}");

    disk.make_room();
    let after = shown.last().unwrap().id.clone().unwrap();
    let path = format!("/services/agent/sendMessage/stream?sessionId={session}&after={after}");
    let again = server.request(Method::GET, &path).send().await.unwrap();
    let again = EventStream::new(again).rest().await;
    assert_eq!(last(&again)["type"], "completed", "{again:?}");
    assert_eq!(text(&again), "the whole answer");
    let rows = messages(&server, &session).await;
    assert_eq!(rows, ["user: first", "assistant: the whole answer"]);
}

// proves DU-12
#[tokio::test]
async fn a_limit_on_the_size_of_files_is_a_full_disk_and_ends_no_server() {
    let (program, _model) = with_model([say("well").forever()]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    let used = fs::metadata(program.folder().join("data/journal/data.mdb")).unwrap();
    let limited = |current| {
        let limit = Rlimit {
            current,
            maximum: None,
        };
        prlimit(Some(server.pid()), Resource::Fsize, limit).unwrap();
    };
    limited(Some(used.len()));
    let pad = "x".repeat(9000);
    let mut refused = None;
    for n in 0..2_000 {
        let params = json!({"sessionId": format!("filled {n}"), "metadata": {"pad": pad}});
        let answer = server.call("createSession", params).await;
        if answer.status != 200 {
            refused = Some((answer.status, answer.code().to_owned()));
            break;
        }
    }
    assert_eq!(refused, Some((507, "store_full".to_owned())));
    assert_eq!(messages(&server, &session).await, [""; 0]);
    limited(None);
    while server.call("createSession", json!({})).await.status != 200 {}
    server.send(Signal::TERM);
    server.end().await;
}

// proves TL-2, DU-12
#[tokio::test]
async fn a_command_runs_where_the_disk_has_no_room_for_its_record_and_undo_names_what_remains() {
    let name = "full::a_command_runs_where_the_disk_has_no_room_for_its_record_and_undo_names_what_remains";
    let Some(disk) = SmallDisk::of_test(name, 48 * MIB) else {
        return;
    };
    let command = json!({"command": "echo new > a.txt"});
    let (program, _model) = with_model([call("exec", command), say("done")]).await;
    let program = program.set("DATA_DIR", disk.path().join("data").to_str().unwrap());
    fs::write(disk.path().join("more"), vec![1; 24 << 20]).unwrap();
    let mut noise = 1_u64;
    let bytes = std::iter::repeat_with(|| {
        noise ^= noise << 13;
        noise ^= noise >> 7;
        noise ^= noise << 17;
        noise.to_le_bytes()
    });
    let bytes: Vec<u8> = bytes.take(4 << 17).flatten().collect();
    program.file("a.txt", "old");
    for at in 0..7_u8 {
        program.file(format!("big-{at}"), [&bytes[..], &[at]].concat());
    }

    let said = program.run(["run", "go"]).await;

    assert_eq!((said.code, &*said.stdout), (Some(0), "done\n"), "{said:?}");
    assert!(
        said.stderr.contains("the folder could not be recorded"),
        "{said:?}"
    );
    let content = fs::read_to_string(program.folder().join("a.txt")).unwrap();
    assert_eq!(content, "new\n");
    let listed = program.run(["sessions", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let id = listed["items"][0]["id"].as_str().unwrap();
    let undone = program.run(["sessions", "undo", id, "--files"]).await;
    assert!(
        undone.stdout.contains("other effects remain: exec"),
        "{undone:?}"
    );
}

// proves DU-2, DU-12
#[tokio::test]
async fn a_history_on_another_disk_that_is_full_lags_and_catches_up() {
    let name = "full::a_history_on_another_disk_that_is_full_lags_and_catches_up";
    let Some(disk) = SmallDisk::of_test(name, 8 * MIB) else {
        return;
    };
    let (program, _model) = with_model([say("well").forever()]).await;
    let server = program.serve(&["--data-dir", "data"]).await;
    server.send(Signal::TERM);
    server.end().await;
    let file = program.folder().join("data/history.db");
    fs::copy(&file, disk.path().join("history.db")).unwrap();
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(disk.path().join("history.db"), &file).unwrap();
    let server = program.serve(&["--data-dir", "data"]).await;
    let session = server.session().await;
    disk.fill();
    let ask = async |path: &str| server.answer(server.request(Method::GET, path)).await.body;
    let said = "x".repeat(20_000);
    let mut accepted = 0;
    while ask("/api/server").await["store"]["historyFailedSince"].is_null() {
        let params = json!({"sessionId": session, "content": said});
        let answer = server.call("sendMessage", params).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        accepted += 1;
    }
    let store = ask("/readyz?verbose").await["store"].clone();
    assert_eq!(store["historyLagSessions"], 1, "{store}");
    assert_eq!(messages(&server, &session).await.len(), 2 * accepted);
    let told = program.run(["doctor", "-v", "--data-dir", "data"]).await;
    assert!(told.stdout.contains("cannot be written since"), "{told:?}");
    disk.make_room();
    while ask("/api/server").await["store"]["historyLagSessions"] != 0 {}
    assert_eq!(messages(&server, &session).await.len(), 2 * accepted);
    server.send(Signal::TERM);
    server.end().await;
}
