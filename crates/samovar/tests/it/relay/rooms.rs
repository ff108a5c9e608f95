//! `samovar relay rooms`, `say` and `do`: what the person at a screen sees and does from a terminal.

use serde_json::{Value, json};

use super::{Agent, cinema};
use crate::setup::{ended_with, program};

// proves RL-6, RL-26, FC-1
#[tokio::test]
async fn what_the_person_says_and_does_at_a_terminal_reaches_the_agents_in_the_room() {
    let (program, server) = cinema().await;
    let mut agent = Agent::join(&server, "cinema").await;

    let said = program
        .run(["relay", "say", "--room", "cinema", "two", "seats"])
        .await;
    assert_eq!(
        (said.code, &*said.stdout),
        (Some(0), "done in room cinema\n"),
        "{said:?}"
    );
    let heard = agent.next("user.message").await;
    assert_eq!(
        heard["payload"],
        json!({"text": "two seats", "stage": "movie"})
    );

    program
        .run_with_stdin(
            ["relay", "say", "--room", "cinema"],
            Some(b"in the evening\n".to_vec()),
        )
        .await
        .exits(0);
    assert_eq!(
        agent.next("user.message").await["payload"]["text"],
        "in the evening"
    );
    agent.next("state.updated").await;

    let clicked = program
        .run([
            "relay",
            "do",
            "select",
            r#"{"itemId": "m2"}"#,
            "--room",
            "cinema",
            "--json",
        ])
        .await;
    let answer: Value = serde_json::from_str(&clicked.stdout).unwrap();
    let done = json!({"schema": "samovar.relay_done/1", "room": "cinema", "done": true});
    assert_eq!(answer, done, "{clicked:?}");
    let seen = agent.next("state.updated").await;
    assert_eq!(seen["payload"]["uiSpec"]["state"]["selected"], "m2");
    program
        .run(["relay", "do", "next", "--room", "cinema"])
        .await
        .exits(0);
    let seen = agent.next("state.updated").await;
    assert_eq!(seen["payload"]["uiSpec"]["stage"], "theater");
}

// proves RL-9, FC-2, FC-6
#[tokio::test]
async fn what_cannot_be_said_or_done_in_a_room_is_told_and_nobody_hears_of_it() {
    let (program, server) = cinema().await;
    let mut agent = Agent::join(&server, "cinema").await;
    let _elsewhere = Agent::join(&server, "elsewhere").await;
    let long = "r".repeat(201);
    for (args, code, words) in [
        (&["say", "  "][..], "blank_content", "blank"),
        (
            &["say", "hi", "--room", "nowhere"],
            "unknown_room",
            "nowhere",
        ),
        (
            &["say", "hi", "--room", "elsewhere"],
            "unknown_room",
            "elsewhere",
        ),
        (
            &["say", "hi", "--room", " "],
            "invalid_params",
            "--room cannot be \" \"",
        ),
        (
            &["say", "hi", "--room", &long],
            "invalid_params",
            "--room cannot be \"rrr",
        ),
        (
            &["do", "selct", "--room", "cinema"],
            "unknown_tool",
            "selct",
        ),
        (&["do", "next", "--room", "cinema"], "unknown_tool", "next"),
        (
            &["do", "select", "--room", "cinema"],
            "invalid_params",
            "select requires itemId",
        ),
        (
            &["do", "select", "{", "--room", "cinema"],
            "invalid_params",
            "JSON",
        ),
        (
            &["do", "select", "[]", "--room", "cinema"],
            "invalid_params",
            "JSON object",
        ),
        (
            &["do", "select", "{}", "{}"],
            "invalid_params",
            "unexpected argument",
        ),
    ] {
        let said = program.run(["relay"].iter().chain(args)).await;
        ended_with(&said, 2, code);
        assert!(said.stderr.contains(words), "{args:?}: {said:?}");
        assert_eq!(said.stdout, "", "{args:?}");
    }
    program
        .run(["relay", "say", "heard", "--room", "cinema"])
        .await
        .exits(0);
    // The first that it hears since it came.
    let first = agent.socket.json().await.unwrap();
    assert_eq!(first["payload"]["text"], "heard");
}

// proves FC-1
#[tokio::test]
async fn the_rooms_are_listed_with_who_is_in_them() {
    let (program, server) = cinema().await;
    let mut agent = Agent::join(&server, "cinema").await;
    let _other = Agent::join(&server, "a room").await;
    let started = agent.ask("session.start", json!({})).await;
    let study = started["payload"]["sessionId"].as_str().unwrap();

    let shown = program.run(["relay", "rooms"]).await;

    assert_eq!(
        shown.stdout,
        format!("a room  no host        1 agent\ncinema  built-in host  1 agent  {study}\n")
    );
    let listed = program.run(["relay", "rooms", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(
        listed,
        json!({"schema": "samovar.relay_room/1", "items": [
            {"room": "a room", "agents": 1},
            {"room": "cinema", "host": "built_in", "agents": 1, "study": study},
        ]})
    );
}

// proves FC-1, FC-2
#[tokio::test]
async fn without_a_server_there_are_no_rooms_and_none_is_opened_for_them() {
    let program = program();
    for args in [
        &["rooms"][..],
        &["say", "hello"],
        &["do", "next"],
        &["agent"],
    ] {
        let said = program.run(["relay"].iter().chain(args)).await;
        ended_with(&said, 8, "server_unreachable");
        assert!(said.stderr.contains("samovar serve"), "{said:?}");
    }
    assert!(!program.home().join(".local/share/samovar").exists());
}

#[tokio::test]
async fn a_server_without_rooms_says_how_one_is_opened() {
    let program = program();
    let _server = program.serve(&[]).await;

    let shown = program.run(["relay", "rooms"]).await;

    let said = "there are no rooms; open one with: samovar relay demo\n";
    assert_eq!(
        (shown.code, &*shown.stdout, &*shown.stderr),
        (Some(0), "", said)
    );
}

// proves RL-28
#[tokio::test]
async fn a_room_whose_study_a_kill_interrupted_is_opened_again_by_the_next_start() {
    let program = program();
    let server = program.serve(&[]).await;
    for room in ["open", "over", "page"] {
        program
            .run(["relay", "demo", "--room", room])
            .await
            .exits(0);
    }
    let mut agent = Agent::join(&server, "open").await;
    let study = agent.ask("session.start", json!({})).await["payload"]["sessionId"].clone();
    agent.call("select", json!({"itemId": "m2"})).await;
    Agent::join(&server, "over").await.study().await;
    // A page has taken the place of the built-in host: only that page can go on.
    let mut other = Agent::join(&server, "page").await;
    other.ask("session.start", json!({})).await;
    let mut page = server.socket("/agent/ws").await;
    let join = json!({"type": "relay.join", "payload": {"role": "host", "sessionId": "page"}});
    page.say(join.to_string()).await;
    assert_eq!(page.json().await.unwrap()["type"], "relay.joined");
    server.kill().await;

    let server = program.serve(&[]).await;

    let rooms = program.run(["relay", "rooms", "--json"]).await;
    let rooms: Value = serde_json::from_str(&rooms.stdout).unwrap();
    let opened = json!({"room": "open", "host": "built_in", "agents": 0, "study": study});
    assert_eq!(rooms["items"], json!([opened]));
    let mut agent = Agent::join(&server, "open").await;
    let seen = agent.ask("snapshot.get", json!({})).await;
    assert_eq!(seen["payload"]["sessionId"], study);
    let ended = agent.ask("session.end", json!({})).await;
    assert_eq!(ended["payload"]["sessionId"], study);
}

// proves FC-1
#[tokio::test]
async fn nothing_is_said_in_a_room_without_an_agent() {
    let (program, _server) = cinema().await;
    let said = program
        .run(["relay", "say", "--room", "cinema", "hello"])
        .await;
    ended_with(&said, 8, "no_agent");
    let command = "samovar relay agent --room cinema";
    assert!(said.stderr.contains(command), "{said:?}");
}
