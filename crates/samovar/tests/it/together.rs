//! Commands beside each other on one data directory.

use std::io::{Read, Write};
use std::net::TcpListener;

use samovar_core::Approval;
use samovar_model_server::{Gate, When, say};
use samovar_testkit::{Finished, Program, Signal};
use samovar_wire::api::{ServerInfo, StoreInfo};
use serde_json::json;
use tokio::io::AsyncWriteExt;

use crate::setup::{ended_with, program, with_model};

// proves FC-1
#[tokio::test]
async fn a_chat_goes_on_by_itself_when_the_command_that_let_it_in_has_left() {
    let held = Gate::new("held");
    let (program, model) = with_model([
        say("the first is done")
            .hold_after(1, &held)
            .when(When::user("first")),
        say("the second is done").when(When::user("second")),
        say("the third is done").when(When::user("third")),
    ])
    .await;
    let first = program.command(["run", "first"]).spawn().unwrap();
    model.seen(1).await;

    let mut second = program.command(["chat"]);
    let mut second = second.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = second.stdin.take().unwrap();
    stdin.write_all(b"second\n").await.unwrap();
    model.seen(2).await;
    model.open(&held).unwrap();
    let first = Finished::of(first).await;
    stdin.write_all(b"third\n").await.unwrap();
    drop(stdin);
    let second = Finished::of(second).await;

    assert_eq!(first.stdout, "the first is done\n", "{first:?}");
    assert_eq!(
        second.stdout, "the second is done\nthe third is done\n",
        "{second:?}"
    );
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
}

// proves FC-1
#[tokio::test]
async fn commands_that_begin_at_once_all_get_their_answer() {
    let (program, _model) = with_model([say("done").forever()]).await;
    let started: Vec<_> = (0..6)
        .map(|_| program.command(["run", "go"]).spawn().unwrap())
        .chain((0..3).map(|_| program.command(["sessions", "list"]).spawn().unwrap()))
        .collect();
    for (number, child) in started.into_iter().enumerate() {
        let said = Finished::of(child).await;
        assert_eq!(said.code, Some(0), "{number}: {said:?}");
        if number < 6 {
            assert_eq!(said.stdout, "done\n", "{said:?}");
        }
    }
    let said = program.run(["stats", "--json"]).await;
    let stats: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&6.into(), &12.into()),
        "every message has its answer, and none is kept twice"
    );
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_server_that_stands_still_is_given_up() {
    let program = crate::setup::program();
    let server = program.serve(&[]).await;
    server.pause();
    let said = program.run(["sessions", "list"]).await;
    crate::setup::ended_with(&said, 8, "data_dir_busy");
    assert!(said.stderr.contains("waiting for it to"), "{said:?}");
    let said = program.run(["run", "--timeout", "1", "go"]).await;
    crate::setup::ended_with(&said, 124, "timeout");
    server.send(Signal::CONT);
    assert_eq!(program.run(["sessions", "list"]).await.code, Some(0));
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_turn_that_takes_too_long_is_a_document_too() {
    let never = Gate::new("never");
    let (program, _model) = with_model([say("half of it").hold_after(1, &never)]).await;
    let said = program
        .run(["run", "-o", "json", "--timeout", "1", "go"])
        .await
        .exits(124);
    let turn: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(turn["finishReason"], "cancelled");
    assert_eq!(turn["schema"], "samovar.turn/1");
}

// proves FC-1, UI-2, UI-3
#[tokio::test]
async fn a_turn_is_printed_as_the_bytes_that_a_client_of_the_sdk_reads() {
    let (held, never) = (Gate::new("held"), Gate::new("never"));
    let look = say("I look. ").and_call("list_dir", json!({"path": "."}));
    let (program, model) = with_model([
        look.when(When::user("look").and(When::ToolResultsSinceUser(0))),
        say("it is empty")
            .hold_after(1, &held)
            .when(When::user("look")),
        say("half of it")
            .hold_after(1, &never)
            .when(When::user("wait")),
    ])
    .await;
    let server = program.serve(&[]).await;
    let session = server.session().await;
    let run = |more: &[&str]| {
        let known = ["run", "-o", "ui-stream", "--session", &session];
        let mut command = program.command(known.iter().chain(more));
        command
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let printed = run(&["look"]);
    model.seen(2).await;
    let read = server.request(reqwest::Method::GET, &format!("/api/chat/{session}/stream"));
    let read = read.send().await.unwrap();
    model.open(&held).unwrap();
    let read = read.text().await.unwrap();
    let printed = Finished::of(printed).await.exits(0);
    assert_eq!(printed.stdout, read);
    assert!(read.ends_with("data: [DONE]\n\n"), "{read}");

    let late = Finished::of(run(&["--timeout", "1", "wait"]))
        .await
        .exits(124);
    for told in ["\"half\"", "\"reason\":\"cancelled\"", "data: [DONE]\n\n"] {
        assert!(late.stdout.contains(told), "{told}: {late:?}");
    }
}

/// Starts eight commands that look, at once, and waits for all.
async fn look_at_once(program: &Program) {
    let mut running = Vec::new();
    for number in 0..8 {
        let args: &[&str] = if number % 4 == 0 {
            &["stats"]
        } else {
            &["sessions", "list"]
        };
        running.push(program.command(args).spawn().unwrap());
    }
    for child in running {
        let said = Finished::of(child).await.exits(0);
        assert!(!said.stdout.is_empty(), "{said:?}");
    }
}

// proves FC-1
#[tokio::test]
async fn eight_commands_at_once_all_see_the_data_directory_beside_a_turn_and_without() {
    let held = Gate::new("held");
    let (program, model) = with_model([
        say("the first is done")
            .hold_after(1, &held)
            .when(When::user("first")),
        say("the second is done").when(When::user("second")),
    ])
    .await;
    let first = program.command(["run", "first"]).spawn().unwrap();
    model.seen(1).await;

    look_at_once(&program).await;
    let second = program.run(["run", "second"]).await;
    model.open(&held).unwrap();
    let first = Finished::of(first).await;
    look_at_once(&program).await;

    assert_eq!(second.stdout, "the second is done\n", "{second:?}");
    assert_eq!(first.stdout, "the first is done\n", "{first:?}");
    assert_eq!((first.code, second.code), (Some(0), Some(0)));
}

// proves FC-1
#[tokio::test]
async fn an_address_that_was_left_behind_is_not_believed() {
    let program = program().set("DATA_DIR", "data");
    let server = program.serve(&[]).await;
    server.kill().await;
    let left = program.folder().join("data/server.json");
    assert!(left.exists());
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    stranger.set_nonblocking(true).unwrap();
    let address = stranger.local_addr().unwrap();
    let token = "0".repeat(64);

    for content in [
        std::fs::read(&left).unwrap(),
        format!("{{\"address\":\"{address}\",\"token\":\"{token}\",\"pid\":1}}").into(),
        format!("{{\"address\":\"192.0.2.1:80\",\"token\":\"{token}\",\"pid\":1}}").into(),
        b"{\"address\":".to_vec(),
        vec![b'['; 1024 * 1024],
        vec![0xff; 32],
        Vec::new(),
    ] {
        std::fs::write(&left, &content).unwrap();
        program.run(["sessions", "list"]).await.exits(0);
        std::fs::write(&left, &content).unwrap();
        program.run(["run", "hello"]).await.exits(0);
        assert!(!left.exists(), "a command leaves no address behind");
    }
    // Nobody came, so nobody told it a prompt or a token.
    assert!(stranger.accept().is_err());
}

/// Somebody else's lock on the data directory, and an address that leads to this listener.
fn held_by_a_stranger(program: &Program, stranger: &TcpListener) -> std::fs::File {
    let address = stranger.local_addr().unwrap();
    let token = "0".repeat(64);
    program.file("data/journal/keep", "").file(
        "data/server.json",
        format!("{{\"address\":\"{address}\",\"token\":\"{token}\",\"pid\":1}}"),
    );
    let lock = std::fs::File::create(program.folder().join("data/lock")).unwrap();
    lock.lock().unwrap();
    lock
}

/// Answers everybody alike, until the test's process ends; with nothing, by saying nothing.
fn answer_all(stranger: TcpListener, answer: &'static [u8]) {
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for mut stream in stranger.incoming().flatten() {
            let mut asked = [0; 1024];
            if stream.read(&mut asked).is_err() || stream.write_all(answer).is_err() {
                return;
            }
            if answer.is_empty() {
                open.push(stream);
            }
        }
    });
}

// proves FC-1, FC-2
#[tokio::test]
async fn what_holds_a_data_directory_and_is_no_samovar_is_busy_and_not_believed() {
    let mut running = Vec::new();
    for answer in [
        &b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 6\r\n\r\n<html>"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"version\": ",
        b"\x00\x01\x02",
        b"",
    ] {
        let program = program().set("DATA_DIR", "data");
        let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
        let lock = held_by_a_stranger(&program, &stranger);
        answer_all(stranger, answer);
        let child = program.command(["sessions", "list"]).spawn().unwrap();
        running.push((child, program, lock));
    }
    for (child, _program, _lock) in running {
        let said = Finished::of(child).await;
        ended_with(&said, 8, "data_dir_busy");
        assert_eq!(said.stdout, "");
    }
}

// proves FC-1, FC-2
#[tokio::test]
async fn a_server_of_another_folder_does_not_work_in_this_one() {
    let program = program().set("DATA_DIR", "data");
    program.file("other/file", "");
    let _server = program.serve(&[]).await;

    let said = program.run(["run", "hi", "--workspace", "other"]).await;

    ended_with(&said, 8, "workspace_differs");
    assert!(
        said.stderr
            .contains(&program.folder().display().to_string()),
        "{said:?}"
    );
    program.run(["run", "hi"]).await.exits(0);
}

/// What a holder of the data directory that leaves says before it has gone: who it is as long as it
/// is asked for no more, and then this.
pub(crate) fn holder_that_leaves(
    program: &Program,
    last_words: &'static [u8],
) -> std::thread::JoinHandle<()> {
    let stranger = TcpListener::bind("127.0.0.1:0").unwrap();
    let lock = held_by_a_stranger(program, &stranger);
    let address_file = program.folder().join("data/server.json");
    let workspace = program.folder().display().to_string();
    let who = ServerInfo {
        version: "0".to_owned(),
        workspace,
        approval: Approval::Auto,
        stays: true,
        page: true,
        store: StoreInfo {
            is_full: false,
            free_bytes: None,
            journal_used_bytes: 0,
            journal_map_bytes: 0,
            journal_commits: 0,
            history_lag_sessions: 0,
            history_failed_since: None,
        },
        memory: samovar_wire::api::MemoryInfo {
            used_bytes: 0,
            budget_bytes: 0,
        },
    };
    let who = serde_json::to_string(&who).unwrap();
    let who = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{who}",
        who.len()
    );
    std::thread::spawn(move || {
        for stream in stranger.incoming() {
            let mut stream = stream.unwrap();
            let mut head = [0; 1024];
            let _asked = stream.read(&mut head).unwrap();
            if head.starts_with(b"GET /api/server ") {
                stream.write_all(who.as_bytes()).unwrap();
            } else {
                stream.write_all(last_words).unwrap();
                break;
            }
        }
        std::fs::remove_file(address_file).unwrap();
        drop(lock);
    })
}

// proves FC-1
#[tokio::test]
async fn a_holder_that_leaves_instead_of_an_answer_is_replaced_by_the_command_itself() {
    let last_words: [&[u8]; 4] = [
        b"HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\ncontent-length: 36\r\n\r\n\
          {\"error\":\"bye\",\"code\":\"unavailable\"}",
        b"HTTP/1.1 401 Unauthorized\r\nconnection: close\r\ncontent-length: 38\r\n\r\n\
          {\"error\":\"who?\",\"code\":\"unauthorized\"}",
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{",
        b"",
    ];
    for last_words in last_words {
        let commands: [(&[&str], &str); 4] = [
            (&["run", "hello"], "demo"),
            (&["sessions", "list", "--json"], "\"totalCount\":0"),
            (&["models", "list"], "demo"),
            (&["stats", "--json"], "\"sessions\":0"),
        ];
        for (command, said) in commands {
            let program = program().set("DATA_DIR", "data");
            let holder = holder_that_leaves(&program, last_words);
            let answered = program.run(command).await;
            let words = String::from_utf8_lossy(last_words);
            assert_eq!(answered.code, Some(0), "{words}: {answered:?}");
            holder.join().unwrap();
            assert!(answered.stdout.contains(said), "{words}: {answered:?}");
        }
    }
}

// proves FC-1
#[tokio::test]
async fn what_must_happen_once_is_not_asked_again_of_the_next_holder() {
    let program = program().set("DATA_DIR", "data");
    let holder = holder_that_leaves(&program, b"");
    let args = ["token", "create", "ci", "--scope", "use"];
    let said = program.run(args).await;
    ended_with(&said, 8, "server_unreachable");
    holder.join().unwrap();
    program.run(args).await.exits(0);
}
