//! A server with few file descriptors, and one that has none left for a while.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use samovar_descriptors::limit;
use samovar_model_server::{Gate, Rule, When, call, hang_up, say};
use samovar_testkit::{EventStream, Program, Serving, Signal};
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::hook::Hook;
use crate::setup::{ended_with, last, program, text, with_model};

/// A test that waits longer than this has hung.
const HANG: Duration = Duration::from_secs(20);

/// How long a server that cannot go on is watched.
const WHILE: Duration = Duration::from_millis(300);

/// How long the descriptors of an idle server stay the same before they are taken away.
const SETTLED: Duration = Duration::from_millis(50);

const CONTENT: &str = "as it was written";

const INSTRUCTIONS: &str = "Speak of tea.";

const SKILL: &str = "---\nname: brew\ndescription: How tea is brewed.\n---\nBoil water.";

#[tokio::test]
async fn a_limit_that_is_too_low_for_a_server_is_refused() {
    let program = program().limited(64, 64);
    let refused = program.try_serve(&[]).await.err().unwrap();
    ended_with(&refused, 3, "descriptors_few");
    let told = program.run(["doctor", "-v"]).await.exits(3);
    assert!(told.stdout.contains("fail descriptors: 64"), "{told:?}");
}

// proves TL-13
#[tokio::test]
async fn the_soft_limit_is_raised_and_the_start_says_what_the_hard_one_allows() {
    for (hard, wanted) in [(256, true), (20_000, false)] {
        let program = program().limited(200, hard);
        let server = program.serve(&[]).await;
        let unchanged = Rlimit {
            current: Some(hard.into()),
            maximum: Some(hard.into()),
        };
        let found = prlimit(Some(server.pid()), Resource::Nofile, unchanged);
        assert_eq!(found.unwrap(), unchanged);
        server.send(Signal::TERM);
        let said = server.end().await.stderr;
        let line = "the limit of 256 file descriptors allows 48 connections";
        assert_eq!(said.contains(line), wanted, "{said}");
    }
}

// proves TL-13
#[tokio::test]
async fn silent_sockets_at_a_low_limit_harm_no_turn() {
    let calls = call("read_file", json!({"path": "f1.txt"}))
        .and_call("read_file", json!({"path": "f2.txt"}))
        .when(When::ToolResults(0))
        .forever();
    let ends = say("the end").when(When::ToolResults(2)).forever();
    let (program, model) = with_model([calls, ends]).await;
    program.file("f1.txt", CONTENT).file("f2.txt", CONTENT);
    let program = program.limited(256, 256);
    let server = program.serve(&[]).await;
    let mut sessions = Vec::new();
    for _ in 0..40 {
        sessions.push(server.session().await);
    }
    let mut silent = Vec::new();
    for _ in 0..256 {
        silent.push(TcpStream::connect(&server.address).await.unwrap());
    }

    let mut turns = JoinSet::new();
    for session in sessions {
        let params = json!({"sessionId": session, "content": "go"});
        let stream = server.post_stream(params).await;
        turns.spawn(async move { EventStream::new(stream).rest().await });
    }
    let ready = timeout(HANG, server.get("/readyz")).await.unwrap();

    assert_eq!(ready.status, 200);
    while let Some(frames) = turns.join_next().await {
        let frames = frames.unwrap();
        assert_eq!(last(&frames)["finishReason"], "stop", "{frames:?}");
        assert_eq!(text(&frames), "the end");
        let results = frames
            .iter()
            .filter(|frame| frame.kind() == "tool_call_result");
        for result in results {
            assert!(result.data.to_string().contains(CONTENT), "{result:?}");
        }
    }
    assert_eq!(model.prompt_count(), 80);
    drop(silent);
}

// proves TL-13, AS-14, DU-12
#[tokio::test]
async fn a_turn_waits_while_there_is_no_descriptor_and_then_ends_as_usual() {
    let (head, calls) = (Gate::new("head"), Gate::new("calls"));
    let hook = Hook::open().await;
    let (program, model) = with_model([
        Rule::from(hang_up()),
        Rule::from(
            say("a word")
                .and_call("read_file", json!({"path": "f1.txt"}))
                .and_call("search_files", json!({"pattern": "written"}))
                .and_call("hook", json!({"n": 1}))
                .hold_head(&head)
                .hold_after(1, &calls),
        ),
        Rule::from(say("the end")),
    ])
    .await;
    let (program, server) = serve(program, &hook).await;
    // A turn that has looked at the folder, and has left neither a connection nor a file open.
    let session = server.session().await;
    let cut = server.turn(&session, "hello").await;
    assert_eq!(text(&cut), "");

    // The look at what tells agents how to work, and the connection to the model.
    let limit = starve(server.pid()).await;
    program.file("skills/pour.md", SKILL.replace("brew", "pour"));
    let accepted = timeout(HANG, server.say(&session, "go")).await;
    let mut stream = accepted.expect("what was read last is told");
    assert!(timeout(WHILE, stream.until("text_delta")).await.is_err());
    assert_eq!(model.prompt_count(), 1);
    turned_away(&server).await;
    feed(server.pid(), limit);
    while model.prompt_count() == 1 {
        tokio::task::yield_now().await;
    }
    let told = model.prompts()[1].body().to_string();
    assert!(told.contains(INSTRUCTIONS) && told.contains("How tea is brewed"));
    assert!(
        !told.contains("How tea is poured"),
        "it was not there at the last look"
    );
    // The file of the spool.
    let limit = starve(server.pid()).await;
    model.open(&head).unwrap();
    assert!(timeout(WHILE, stream.until("text_delta")).await.is_err());
    feed(server.pid(), limit);
    timeout(HANG, stream.until("text_delta")).await.unwrap();
    // The tools' files, and the connection to the webhook.
    let limit = starve(server.pid()).await;
    model.open(&calls).unwrap();
    assert!(
        timeout(WHILE, stream.until("tool_call_result"))
            .await
            .is_err()
    );
    feed(server.pid(), limit);

    let frames = timeout(HANG, stream.rest()).await.unwrap();

    assert_eq!(last(&frames)["finishReason"], "stop", "{frames:?}");
    assert_eq!(text(&frames), "the end");
    let prompts = model.prompts();
    let messages = prompts[2].body()["messages"].as_array().unwrap();
    let results = messages.iter().filter(|message| message["role"] == "tool");
    let results: Vec<_> = results
        .map(|result| result["content"].to_string())
        .collect();
    assert_eq!(results.len(), 3);
    assert!(results[0].contains(CONTENT), "{results:?}");
    assert!(results[1].contains(CONTENT), "{results:?}");
    assert!(!results[2].contains("descriptor"), "{results:?}");
    assert_eq!(hook.keys().len(), 1);
    let report = server.get("/api/damage").await;
    assert_eq!(report.body["items"], json!([]));
}

/// Serves a folder with files, and offers the hook to agents.
async fn serve(program: Program, hook: &Hook) -> (Program, Serving) {
    program
        .file("f1.txt", CONTENT)
        .file("AGENTS.md", INSTRUCTIONS)
        .file("skills/brew.md", SKILL);
    let program = program
        .set("SAMOVAR__TOOLS__APPROVAL", "auto")
        .set("SAMOVAR__EGRESS__ALLOW", "127.0.0.1/32");
    let server = program.serve(&[]).await;
    let tool = json!({
        "name": "hook", "description": "Takes a number.", "url": hook.url(), "effect": "unsafe",
        "parameters": {"type": "object", "properties": {"n": {"type": "number"}}},
    });
    let added = server
        .request(reqwest::Method::POST, "/api/tools")
        .json(&tool);
    assert_eq!(server.answer(added).await.status, 200);
    (program, server)
}

/// Takes every free descriptor of a process away, once none has come or gone for a moment (the server
/// may be about to close one); answers with the limit that it had.
async fn starve(process: Pid) -> Rlimit {
    let mut open = descriptors(process);
    loop {
        sleep(SETTLED).await;
        let now = descriptors(process);
        if now == open {
            break;
        }
        open = now;
    }
    let first_free = (0..limit()).find(|number| !open.contains(number)).unwrap();
    let none = Rlimit {
        current: Some(first_free),
        maximum: rustix::process::getrlimit(Resource::Nofile).maximum,
    };
    prlimit(Some(process), Resource::Nofile, none).unwrap()
}

/// The numbers of the descriptors that a process has open.
fn descriptors(process: Pid) -> BTreeSet<u64> {
    let open = fs::read_dir(format!("/proc/{}/fd", process.as_raw_pid())).unwrap();
    let number = |name: OsString| name.to_str().unwrap().parse().unwrap();
    open.map(|entry| number(entry.unwrap().file_name()))
        .collect()
}

/// Gives them back.
fn feed(process: Pid, limit: Rlimit) {
    prlimit(Some(process), Resource::Nofile, limit).unwrap();
}

/// Holds that a client which comes now hears at once that there is no place.
async fn turned_away(server: &Serving) {
    let mut stream = TcpStream::connect(&server.address).await.unwrap();
    let mut answer = String::new();
    let read = timeout(HANG, stream.read_to_string(&mut answer)).await;
    read.unwrap().unwrap();
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\r\nretry-after: 1\r\n"), "{answer}");
    assert!(answer.contains(r#""code":"unavailable""#), "{answer}");
}
