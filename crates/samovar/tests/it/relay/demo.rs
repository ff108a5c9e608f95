//! `samovar relay demo`: a room to try, and what to type next.

use samovar_testkit::{Finished, Program, Signal, send};
use serde_json::{Value, json};
use tokio::process::Command;

use super::Agent;
use crate::setup::{ended_with, program, says};

const BINARY: &str = env!("CARGO_BIN_EXE_samovar");

/// What stands behind this in a line.
fn behind<'a>(text: &'a str, before: &str) -> &'a str {
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(before));
    found.unwrap_or_else(|| panic!("{before} is not in {text}"))
}

/// Pastes a line into a shell.
async fn pasted(program: &Program, line: &str) -> Finished {
    let folder = std::path::Path::new(BINARY).parent().unwrap();
    let mut shell = Command::new("bash");
    shell
        .args(["-euc", line])
        .env_clear()
        .current_dir(program.folder());
    shell.env("HOME", program.home());
    shell.env("PATH", format!("{}:/usr/bin:/bin", folder.display()));
    shell.stdout(std::process::Stdio::piped());
    shell.stderr(std::process::Stdio::piped());
    Finished::with_stdin(shell, None).await
}

// proves RL-5, FC-1
#[tokio::test]
async fn what_the_demo_prints_can_be_pasted_and_moves_the_room() {
    let program = program();
    let server = program.serve(&[]).await;

    let room = "it's a room";
    let shown = program
        .run(["relay", "demo", "--room", room])
        .await
        .exits(0);
    let url = format!("ws://{}/agent/ws", server.address);
    assert_eq!(behind(&shown.stdout, "address: "), url);
    let python = behind(&shown.stdout, "an agent in Python: ");
    let token = program.folder().join("data/token").canonicalize().unwrap();
    let rest = format!(
        "--url {url} --room 'it'\\''s a room' --token-file {}",
        token.display()
    );
    assert!(python.ends_with(&rest), "{python}");
    let ours = behind(&shown.stdout, "the built-in agent: ");
    assert_eq!(ours, "samovar relay agent --room 'it'\\''s a room'");
    let mut agent = Agent::join(&server, room).await;
    pasted(
        &program,
        behind(&shown.stdout, "send a message as the person: "),
    )
    .await
    .exits(0);
    let words = agent.next("user.message").await["payload"]["text"].clone();
    assert!(words.as_str().unwrap().contains("comedy"), "{words}");
    agent.next("state.updated").await;
    pasted(&program, behind(&shown.stdout, "click as the person: "))
        .await
        .exits(0);
    let screen = agent.next("state.updated").await;
    assert_eq!(screen["payload"]["uiSpec"]["state"]["selected"], "m2");
}

// proves FC-1
#[tokio::test]
async fn what_the_demo_prints_names_the_data_directory_that_was_named() {
    let program = program();
    let _server = program.serve(&["--data-dir", "else where"]).await;

    let args = ["relay", "demo", "--data-dir", "else where"];
    let shown = program.run(args).await;

    let click = behind(&shown.stdout, "click as the person: ");
    let clicked = pasted(&program, click).await;
    assert_eq!(clicked.code, Some(0), "{click}: {clicked:?}");
    for what in ["the built-in agent: ", "send a message as the person: "] {
        let line = behind(&shown.stdout, what);
        assert!(line.contains("else where"), "{line}");
    }
}

// proves FC-1
#[tokio::test]
async fn the_demo_is_one_document_for_a_program() {
    let program = program();
    let server = program.serve(&[]).await;

    let shown = program.run(["relay", "demo", "--json"]).await;

    let document: Value = serde_json::from_str(&shown.stdout).unwrap();
    assert_eq!(document["schema"], "samovar.relay_demo/1");
    assert_eq!(document["room"], "default");
    assert_eq!(document["url"], format!("ws://{}/agent/ws", server.address));
    let token = std::fs::read_to_string(document["tokenFile"].as_str().unwrap()).unwrap();
    let socket =
        samovar_testkit::Socket::open(server.address.parse().unwrap(), token.trim(), "/agent/ws");
    let _welcome = socket.await.unwrap();
}

// proves FC-1, FC-2
#[tokio::test]
async fn without_a_server_the_demo_is_one_until_it_is_stopped() {
    let program = program();
    let mut demo = program
        .command(["relay", "demo", "--port", "0"])
        .spawn()
        .unwrap();
    says(&mut demo, "approval:").await;
    let rooms = loop {
        let rooms = program.run(["relay", "rooms", "--json"]).await;
        if rooms.code == Some(0) {
            break rooms;
        }
        assert_eq!(rooms.code, Some(8), "{rooms:?}");
    };
    let rooms: Value = serde_json::from_str(&rooms.stdout).unwrap();
    let default = json!([{"room": "default", "host": "built_in", "agents": 0}]);
    assert_eq!(rooms["items"], default);
    program
        .run(["relay", "demo", "--room", "two"])
        .await
        .exits(0);

    send(Signal::INT, &demo);

    let left = Finished::of(demo).await.exits(0);
    assert!(left.stdout.starts_with("room: default, with "), "{left:?}");
}

// proves FC-2, FC-6
#[tokio::test]
async fn a_demo_for_a_room_that_cannot_be_is_refused() {
    let program = program();
    for (args, words) in [
        (&["--room", ""][..], "--room cannot be \"\""),
        (&["--port", "70000"], "--port cannot be \"70000\""),
        (&["cinema"], "unexpected argument"),
    ] {
        let said = program.run(["relay", "demo"].iter().chain(args)).await;
        ended_with(&said, 2, "invalid_params");
        assert!(said.stderr.contains(words), "{said:?}");
    }
    assert!(!program.folder().join("data").exists());
}
