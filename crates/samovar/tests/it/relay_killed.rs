//! The study log of a server that is killed: it continues in the same file, without a gap.

use samovar_testkit::{Program, Serving, Socket};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_samovar");

const PATH: &str = "/agent/ws";
const STUDY: &str = "killed-3-times";

/// Says something, and gives what comes next.
async fn asks(socket: &mut Socket, message: &Value) -> Value {
    socket.say(message.to_string()).await;
    socket.json().await.expect("an answer")
}

async fn join(server: &Serving, role: &str) -> Socket {
    let mut socket = server.socket(PATH).await;
    let join = json!({"type": "relay.join", "payload": {"role": role}});
    assert_eq!(asks(&mut socket, &join).await["type"], "relay.joined");
    socket
}

/// An agent's message is heard by the host.
async fn through(agent: &mut Socket, host: &mut Socket, message: &Value) -> Value {
    agent.say(message.to_string()).await;
    let heard = host.json().await.expect("a message");
    assert_eq!(heard["type"], message["type"]);
    heard
}

// proves RL-14, RL-28
#[tokio::test]
async fn a_study_goes_on_without_a_gap_over_three_kills() {
    let program = Program::new(BINARY);
    let mut told = Vec::new();
    for life in 0..4 {
        let server = program.serve(&[]).await;
        let (mut host, mut agent) = (join(&server, "host").await, join(&server, "agent").await);
        if life == 0 {
            let start = json!({"type": "session.start", "id": "s", "payload": {}});
            let asked = through(&mut agent, &mut host, &start).await;
            let started = json!({
                "type": "session.started", "replyTo": asked["id"],
                "payload": {"sessionId": STUDY},
            });
            host.say(started.to_string()).await;
            assert_eq!(
                agent.json().await.expect("an answer")["type"],
                "session.started"
            );
        }
        for number in 0..10 {
            let text = format!("life {life}, {number}");
            let words = json!({"type": "agent.message", "payload": {"text": text}});
            through(&mut agent, &mut host, &words).await;
            told.push(text);
        }
        server.kill().await;
    }

    let file = program
        .folder()
        .join("data/logs/study")
        .join(format!("{STUDY}.jsonl"));
    let log = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let indexes: Vec<_> = rows
        .iter()
        .map(|row| row["eventIndex"].as_u64().unwrap())
        .collect();
    assert_eq!(indexes, (0..rows.len() as u64).collect::<Vec<_>>());
    let restarts = rows.iter().filter(|row| row["type"] == "server.restarted");
    assert_eq!(restarts.count(), 3);
    // Whatever the host has heard was written before.
    let words = rows.iter().filter(|row| row["type"] == "agent.message");
    let delivered = words.filter(|row| row["direction"] == "out");
    let delivered: Vec<_> = delivered
        .map(|row| row["payload"]["text"].as_str().unwrap())
        .collect();
    assert_eq!(delivered, told);
}
