//! `samovar relay`, and the tokens that open a room.

mod agent;
mod demo;
mod facts;
mod logs;
mod replay;
mod rooms;

use reqwest::{Client, StatusCode};
use samovar_testkit::{Program, Serving, Socket, install_tls};
use serde_json::{Value, json};

use crate::setup::program;

/// A program whose server has the booking of a movie in a room.
async fn cinema() -> (Program, Serving) {
    let program = program().set("SAMOVAR__RELAY__MOVIE_ROOMS", "cinema");
    let server = program.serve(&[]).await;
    (program, server)
}

/// An agent of somebody else in a room.
struct Agent {
    socket: Socket,
    asked: u64,
}

impl Agent {
    async fn join(server: &Serving, room: &str) -> Self {
        let socket = server.socket("/agent/ws").await;
        let mut agent = Self { socket, asked: 0 };
        let joined = agent
            .ask("relay.join", json!({"role": "agent", "sessionId": room}))
            .await;
        assert_eq!(joined["type"], "relay.joined", "{joined}");
        agent
    }

    /// Says something and gives the answer.
    async fn ask(&mut self, kind: &str, payload: Value) -> Value {
        self.asked += 1;
        let id = format!("r{}", self.asked);
        let said = json!({"v": "mvp-0.2", "type": kind, "id": id, "payload": payload});
        self.socket.say(said.to_string()).await;
        self.hears(|message| message["replyTo"] == id).await
    }

    /// The next message of this type.
    async fn next(&mut self, kind: &str) -> Value {
        self.hears(|message| message["type"] == kind).await
    }

    async fn hears(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.socket.json().await.unwrap();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Calls a tool, and gives the screen that shows what it did.
    async fn call(&mut self, tool: &str, params: Value) -> Value {
        let reason = format!("=because of {tool}, \"said\" so");
        let call = json!({"toolName": tool, "params": params, "reason": reason});
        let done = self.ask("tool.call", call).await;
        assert_eq!(done["type"], "tool.result", "{done}");
        self.next("state.updated").await["payload"].clone()
    }

    /// A study from its start to its end, with a call in it; its id.
    async fn study(&mut self) -> String {
        let start = json!({"studyId": "pilot", "participantId": "P07"});
        let started = self.ask("session.start", start).await;
        self.next("state.updated").await;
        self.call("select", json!({"itemId": "m2"})).await;
        self.ask("session.end", json!({})).await;
        started["payload"]["sessionId"].as_str().unwrap().to_owned()
    }
}

// proves RL-5, TL-11, FC-1
#[tokio::test]
async fn a_token_for_a_room_is_made_and_listed_by_its_scope_and_opens_nothing_else() {
    let program = program();
    let server = program.serve(&[]).await;
    let made = program
        .run([
            "token",
            "create",
            "booking",
            "--scope",
            "relay:two:halls:frontend",
        ])
        .await
        .exits(0);
    assert_eq!(
        made.stderr,
        "booking may join room two:halls as its host, and nothing else; the token is shown only once:\n"
    );
    install_tls();
    let url = format!("http://{}/api/tokens", server.address);
    let asked = Client::new().get(&url).bearer_auth(made.stdout.trim());
    assert_eq!(asked.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    let listed = program.run(["token", "list", "--json"]).await;
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["items"][0]["scope"], "relay:two:halls:host");
    let shown = program.run(["token", "list"]).await;
    assert!(
        shown.stdout.starts_with("booking  relay:two:halls:host  "),
        "{shown:?}"
    );
    let plain = program.run(["token", "create", "ci"]).await;
    assert_eq!(
        plain.stderr,
        "ci has the scope use; the token is shown only once:\n"
    );
}
