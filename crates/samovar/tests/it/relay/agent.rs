//! `samovar relay agent`: our own agent in a room, from a terminal.

use samovar_model_server::{call, say};
use samovar_testkit::{Finished, Signal, send};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{Agent, cinema};
use crate::setup::{ended_with, program, says, with_model};

/// What the person wants, in a sentence.
const WORDS: &str = "book me the first comedy after six, two seats side by side";

// proves RL-23, FC-1
#[tokio::test]
async fn our_agent_books_what_the_person_asks_for_and_says_what_it_does() {
    let (program, server) = cinema().await;
    let mut watcher = Agent::join(&server, "cinema").await;
    let mut agent = program
        .command(["relay", "agent", "--room", "cinema"])
        .spawn()
        .unwrap();
    says(&mut agent, " has started\n").await;

    program
        .run(["relay", "say", "--room", "cinema", WORDS])
        .await
        .exits(0);

    let receipt = loop {
        let screen = watcher.next("state.updated").await["payload"].clone();
        let history = screen["messageHistory"].as_array().unwrap();
        let last = history
            .iter()
            .rfind(|entry| entry["type"] == "system")
            .unwrap();
        if last["spec"]["meta"]["bookingNumber"].is_string() {
            break last["spec"].clone();
        }
    };
    let booking = &receipt["state"]["booking"];
    assert_eq!(booking["movie"]["id"], "m2");
    assert_eq!(booking["seats"].as_array().unwrap().len(), 2);
    send(Signal::INT, &agent);
    let left = Finished::of(agent).await.exits(0);
    assert!(left.stderr.contains("calls next {}: "), "{left:?}");
}

// proves RL-23, FC-1
#[tokio::test]
async fn our_agent_does_what_its_model_says_and_tells_of_it() {
    let words = "This one is funny.";
    let select = call("select", json!({"itemId": "m2"}));
    let (program, _model) = with_model([select, say(words)]).await;
    let program = program.set("SAMOVAR__RELAY__MOVIE_ROOMS", "cinema");
    let server = program.serve(&[]).await;
    let mut watcher = Agent::join(&server, "cinema").await;
    let args = ["relay", "agent", "--room", "cinema"];
    let mut agent = program.command(args).spawn().unwrap();
    says(&mut agent, " has started\n").await;

    program
        .run(["relay", "say", "--room", "cinema", "a comedy"])
        .await
        .exits(0);

    says(
        &mut agent,
        "the person says: a comedy\ncalls select {\"itemId\":\"m2\"}: ",
    )
    .await;
    let history = loop {
        let screen = watcher.next("state.updated").await["payload"].clone();
        let history = screen["messageHistory"].as_array().unwrap().clone();
        if history.last().unwrap()["text"] == words {
            assert_eq!(screen["uiSpec"]["state"]["selected"], "m2");
            break history;
        }
    };
    assert_eq!(history.last().unwrap()["type"], "agent");
    send(Signal::INT, &agent);
    let left = Finished::of(agent).await;
    assert_eq!(
        (left.code, &*left.stdout),
        (Some(0), "This one is funny.\n"),
        "{left:?}"
    );
    assert!(left.stderr.contains("leaving the room"), "{left:?}");
    let rooms = program.run(["relay", "rooms", "--json"]).await;
    let rooms: Value = serde_json::from_str(&rooms.stdout).unwrap();
    assert_eq!(rooms["items"][0]["agents"], 1, "only who watches is left");
}

// proves RL-10, RL-23
#[tokio::test]
async fn our_agent_comes_back_when_its_server_does() {
    let (program, server) = cinema().await;
    let mut agent = program
        .command(["relay", "agent", "--room", "cinema"])
        .spawn()
        .unwrap();
    says(&mut agent, "joined room cinema").await;

    server.kill().await;
    says(&mut agent, "lost the connection to the relay: ").await;
    let server = program.serve(&[]).await;
    says(&mut agent, "joined room cinema").await;

    drop(server);
    send(Signal::TERM, &agent);
    assert_eq!(Finished::of(agent).await.code, Some(0));
}

// proves RL-5, FC-2, FC-6
#[tokio::test]
async fn a_relay_that_cannot_be_joined_is_told_at_once() {
    let (program, server) = cinema().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("ws://{}/agent/ws", listener.local_addr().unwrap());
    drop(listener);
    let url = format!("ws://{}/agent/ws", server.address);
    let elsewhere = format!("ws://{}/agent/nothing", server.address);
    let tls = url.replace("ws://", "wss://");
    program.file("wrong", "a-token-that-nobody-made\n");
    program.file("short", "short");
    program.file("bytes", [0xff; 20]);
    program.file("large", vec![b'x'; 5000]);
    std::fs::create_dir(program.folder().join("folder")).unwrap();
    for (address, file, exit, words) in [
        (&*nobody, "data/token", 8, "cannot join the relay"),
        (&url, "wrong", 2, "HTTP status 401"),
        (&elsewhere, "data/token", 8, "HTTP status 404"),
        (&tls, "data/token", 2, "--url cannot be \"wss://"),
        ("http://127.0.0.1/", "data/token", 2, "--url cannot be"),
        ("nonsense", "data/token", 2, "--url cannot be"),
        (&url, "missing", 2, "missing cannot be used as"),
        (&url, "folder", 2, "folder cannot be used"),
        (&url, "short", 2, "no token of at least"),
        (&url, "bytes", 2, "no token of at least"),
        (&url, "large", 2, "no token of at least"),
    ] {
        let args = ["relay", "agent", "--url", address, "--token-file", file];
        let said = program.run(args).await;
        assert_eq!(said.code, Some(exit), "{address} {file}: {said:?}");
        assert!(said.stderr.contains(words), "{address} {file}: {said:?}");
    }
}

// proves FC-2, FC-6
#[tokio::test]
async fn half_of_a_way_to_a_relay_or_a_model_that_is_none_is_told() {
    let program = program();
    let url = "ws://127.0.0.1:1/agent/ws";
    for half in [["--url", url], ["--token-file", "data/token"]] {
        let said = program.run(["relay", "agent"].iter().chain(&half)).await;
        ended_with(&said, 2, "invalid_params");
        assert!(said.stderr.contains(" is missing; "), "{said:?}");
    }
    let unknown = program
        .run(["relay", "agent", "--model", "no-such/model"])
        .await;
    ended_with(&unknown, 4, "unusable_model");
}

// proves RL-5, RL-23
#[tokio::test]
async fn our_agent_joins_a_relay_elsewhere_with_a_token_for_its_room() {
    let (program, server) = cinema().await;
    let scope = "relay:cinema:agent";
    let made = program
        .run(["token", "create", "ours", "--scope", scope])
        .await;
    program.file("token", made.stdout);
    let url = format!("ws://{}/agent/ws", server.address);
    let at_home = crate::setup::program();
    let token = program.folder().join("token").display().to_string();
    let args = [
        "relay",
        "agent",
        "--url",
        &url,
        "--token-file",
        &token,
        "--room",
    ];

    let mut agent = at_home
        .command(args.iter().chain(&["cinema"]))
        .spawn()
        .unwrap();
    says(&mut agent, "joined room cinema").await;
    let mut other = at_home
        .command(args.iter().chain(&["kitchen"]))
        .spawn()
        .unwrap();
    says(&mut other, "refused: SESSION_NOT_ACTIVE").await;

    for agent in [agent, other] {
        send(Signal::INT, &agent);
        assert_eq!(Finished::of(agent).await.code, Some(0));
    }
    assert!(program.folder().join("data").exists());
    assert!(
        !at_home.folder().join("data").exists(),
        "it keeps nothing where it is"
    );
}
