//! The relay over real sockets: an external agent, the host of a screen, and what is between them.

use std::path::PathBuf;

use samovar_model_server::Rule;
use samovar_server::Config;
use samovar_testkit::{App, AppBuilder, Socket, SocketMessage};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::raw::HANG;

mod codes;
mod crowd;
mod door;
mod frames;
mod joining;
mod losses;
mod messages;
mod movie;
mod secrets;
mod studies;

const PATH: &str = "/agent/ws";

/// A server with an empty relay.
async fn app() -> App {
    app_with(|_| {}).await
}

async fn app_with(change: impl FnOnce(&mut Config)) -> App {
    let builder = AppBuilder::new().with(change);
    builder.start(Vec::<Rule>::new()).await
}

/// Somebody at the other end of a socket.
struct Peer {
    socket: Socket,
}

impl Peer {
    /// In no room yet.
    async fn open(app: &App) -> Self {
        let socket = timeout(HANG, app.socket(PATH)).await.unwrap();
        Self { socket }
    }

    /// In a room.
    async fn joined(app: &App, role: &str, room: &str) -> Self {
        let mut peer = Self::open(app).await;
        let answer = peer.join(role, room).await;
        assert_eq!(answer["type"], "relay.joined", "{answer}");
        peer
    }

    async fn host(app: &App) -> Self {
        Self::joined(app, "host", "default").await
    }

    async fn agent(app: &App) -> Self {
        Self::joined(app, "agent", "default").await
    }

    /// Asks to come into a room, and gives the answer.
    async fn join(&mut self, role: &str, room: &str) -> Value {
        let payload = json!({"role": role, "sessionId": room});
        self.asks("relay.join", "join", payload).await
    }

    /// Says something under an id, and gives what comes next.
    async fn asks(&mut self, kind: &str, id: &str, payload: Value) -> Value {
        self.say(envelope(kind, id, payload)).await;
        self.hears().await
    }

    async fn say(&mut self, message: Value) {
        self.say_text(message.to_string()).await;
    }

    async fn say_text(&mut self, text: impl Into<String>) {
        timeout(HANG, self.socket.say(text.into())).await.unwrap();
    }

    /// The next message.
    async fn hears(&mut self) -> Value {
        match timeout(HANG, self.next()).await.unwrap() {
            SocketMessage::Json(json) => json,
            other => panic!("{other:?}"),
        }
    }

    /// The next message, with this type.
    async fn hears_a(&mut self, kind: &str) -> Value {
        let heard = self.hears().await;
        assert_eq!(heard["type"], kind, "{heard}");
        heard
    }

    /// The next refusal: its code, what it answers, and its sentence.
    async fn refused(&mut self) -> (String, Value, String) {
        let error = self.hears_a("error").await;
        let text = |key: &str| error["payload"][key].as_str().unwrap().to_owned();
        (text("code"), error["replyTo"].clone(), text("message"))
    }

    /// Says something, and gives the code with which it is refused.
    async fn code_of(&mut self, message: Value) -> String {
        let id = message["id"].clone();
        self.say(message).await;
        let (code, reply_to, _) = self.refused().await;
        assert_eq!(reply_to, id);
        code
    }

    /// Nothing has come to it so far, and its socket is open.
    async fn heard_nothing(&mut self) {
        self.say(json!({"type": "no.such.type", "id": "barrier"}))
            .await;
        let (code, reply_to, why) = self.refused().await;
        assert_eq!(
            (code.as_str(), &reply_to),
            ("INVALID_MESSAGE", &json!("barrier")),
            "{why}"
        );
    }

    /// How its socket is closed, behind what else comes.
    async fn end(&mut self) -> SocketMessage {
        timeout(HANG, self.socket.end()).await.unwrap()
    }

    /// Leaves, and is gone when this is done.
    async fn leave(self) {
        let answered = timeout(HANG, self.socket.leave()).await.unwrap();
        assert!(
            matches!(answered, SocketMessage::Close(1000, _)),
            "{answered:?}"
        );
    }

    async fn next(&mut self) -> SocketMessage {
        loop {
            match self.socket.next().await {
                SocketMessage::Ping => {}
                other => return other,
            }
        }
    }
}

fn envelope(kind: &str, id: &str, payload: Value) -> Value {
    let mut envelope = json!({"v": "mvp-0.2", "type": kind, "id": id});
    envelope["payload"] = payload;
    envelope
}

/// An answer of a host.
fn reply(kind: &str, to: &Value, payload: Value) -> Value {
    let mut reply = json!({"v": "mvp-0.2", "type": kind, "replyTo": to});
    reply["payload"] = payload;
    reply
}

fn call(id: &str) -> Value {
    envelope(
        "tool.call",
        id,
        json!({"toolName": "next", "params": {}, "reason": "on"}),
    )
}

fn closed(code: u16, reason: &str) -> SocketMessage {
    SocketMessage::Close(code, reason.to_owned())
}

/// Begins a study session under this id.
async fn start_study(agent: &mut Peer, host: &mut Peer, id: &str) {
    agent
        .say(envelope(
            "session.start",
            "start",
            json!({"studyId": "pilot"}),
        ))
        .await;
    let asked = host.hears_a("session.start").await;
    host.say(reply(
        "session.started",
        &asked["id"],
        json!({"sessionId": id}),
    ))
    .await;
    let started = agent.hears_a("session.started").await;
    assert_eq!(started["payload"]["sessionId"], id);
}

/// Ends it, and gives what the agent hears.
async fn end_study(agent: &mut Peer, host: &mut Peer) -> Value {
    agent
        .say(envelope("session.end", "end", json!({"reason": "done"})))
        .await;
    let asked = host.hears_a("session.end").await;
    host.say(reply("session.ended", &asked["id"], json!({})))
        .await;
    agent.hears_a("session.ended").await
}

fn study_file(app: &App, id: &str) -> PathBuf {
    app.data_dir()
        .join("logs/study")
        .join(format!("{id}.jsonl"))
}

/// The rows of a file of the log.
fn rows(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let rows: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row["eventIndex"], index, "{row}");
    }
    rows
}

/// Every file below the log, as text.
fn all_logs(app: &App) -> String {
    let mut text = String::new();
    for folder in ["study", "room"] {
        let Ok(files) = std::fs::read_dir(app.data_dir().join("logs").join(folder)) else {
            continue;
        };
        for file in files {
            text += &std::fs::read_to_string(file.unwrap().path()).unwrap();
        }
    }
    text
}
