//! Agents in a room of the relay, and the log of their study, over kills of the server.

use std::path::{Path, PathBuf};

use samovar_testkit::{Program, Serving, Socket};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::setup::program;

/// The room that has the built-in host.
const ROOM: &str = "movies";
/// Replies to one agent behind which its server is killed.
const REPLIES: usize = 12;

/// The program with a room.
pub(crate) fn with_room(program: Program) -> Program {
    program
        .set("DATA_DIR", "data")
        .set("SAMOVAR__RELAY__MOVIE_ROOMS", ROOM)
}

/// An agent in that room.
pub(crate) struct Agent {
    socket: Socket,
    asked: u64,
    /// The replies that it got.
    pub(crate) got: Vec<Value>,
}

impl Agent {
    /// Comes in; none when the server is no more.
    pub(crate) async fn join(server: &Serving) -> Option<Self> {
        Self::join_room(server, ROOM).await
    }

    /// The same, into this room.
    pub(crate) async fn join_room(server: &Serving, room: &str) -> Option<Self> {
        let mut agent = Self {
            socket: server.try_socket("/agent/ws").await?,
            asked: 0,
            got: Vec::new(),
        };
        let join = json!({"role": "agent", "sessionId": room});
        let joined = agent.ask("relay.join", join).await?;
        assert_eq!(joined["type"], "relay.joined", "{joined}");
        Some(agent)
    }

    /// Asks for something, under an id that every agent uses, and gives the reply; none when the
    /// server is no more.
    pub(crate) async fn ask(&mut self, kind: &str, payload: Value) -> Option<Value> {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        let asked = json!({"v": "mvp-0.2", "type": kind, "id": id, "payload": payload});
        self.socket.say(asked.to_string()).await;
        loop {
            let heard = self.socket.json().await?;
            if let Some(replied) = heard["replyTo"].as_str() {
                assert_eq!(replied, id, "{heard}");
                self.got.push(heard.clone());
                return Some(heard);
            }
        }
    }

    /// Calls tools until the server is no more.
    async fn call_on(
        mut self,
        name: String,
        replies: watch::Sender<usize>,
    ) -> Vec<(String, Value)> {
        let mut answered = Vec::new();
        loop {
            let reason = format!("{name} for the {}. time", answered.len());
            let style = json!({"itemIds": ["m1"], "style": "glow"});
            let call = json!({"toolName": "highlight", "params": style, "reason": reason});
            let Some(reply) = self.ask("tool.call", call).await else {
                return answered;
            };
            answered.push((reason, reply));
            replies.send_replace(answered.len());
        }
    }
}

/// The rows of every log, by its path behind the data directory. Each has the index of its place.
pub(crate) fn logs(data: &Path) -> Vec<(PathBuf, Vec<Value>)> {
    let mut logs = Vec::new();
    for folder in ["logs/study", "logs/room"] {
        let entries = data.join(folder).read_dir().into_iter().flatten();
        let names = entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name()));
        for path in names.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
            let text = std::fs::read_to_string(data.join(&path)).unwrap();
            let rows = text.lines().map(|line| serde_json::from_str(line).unwrap());
            let rows: Vec<Value> = rows.collect();
            for (place, row) in rows.iter().enumerate() {
                assert_eq!(row["eventIndex"], place, "{}: {row}", path.display());
            }
            logs.push((path, rows));
        }
    }
    logs
}

/// How many of these rows are of this kind, went this way from or to an agent, and have this.
fn count(rows: &[Value], direction: &str, kind: &str, has: impl Fn(&Value) -> bool) -> usize {
    let is_it = |row: &&Value| {
        row["direction"] == direction && row["type"] == kind && row["role"] == "agent" && has(row)
    };
    rows.iter().filter(is_it).count()
}

// proves RL-14, RL-17, RL-28, DU-17
#[tokio::test]
async fn a_study_has_every_row_once_over_three_kills() {
    let program = with_room(program());
    let mut answered = Vec::new();
    let mut study = Value::Null;
    for life in 1..=3 {
        let server = program.serve(&[]).await;
        let mut first = Agent::join(&server).await.unwrap();
        if life == 1 {
            let started = first.ask("session.start", json!({"studyId": "kills"}));
            study = started.await.unwrap()["payload"]["sessionId"].clone();
        }
        let second = Agent::join(&server).await.unwrap();
        let (replies, mut count) = watch::channel(0);
        let name = |number| format!("agent {number} of life {life}");
        let mut calling = JoinSet::new();
        calling.spawn(first.call_on(name(1), replies));
        calling.spawn(second.call_on(name(2), watch::Sender::new(0)));
        count.wait_for(|count| *count >= REPLIES).await.unwrap();

        server.kill().await;

        answered.extend(calling.join_all().await.concat());
    }
    let server = program.serve(&[]).await;
    let mut last = Agent::join(&server).await.unwrap();
    let ended = last.ask("session.end", json!({"reason": "enough"})).await;
    let ended = ended.unwrap();

    assert_eq!(ended["type"], "session.ended", "{ended}");
    let named = format!("logs/study/{}.jsonl", study.as_str().unwrap());
    assert_eq!(ended["payload"]["logFile"], *named);
    let logs = logs(&program.folder().join("data"));
    let (_, rows) = logs
        .iter()
        .find(|(path, _)| path == Path::new(&named))
        .unwrap();
    let restarted = rows.iter().filter(|row| row["type"] == "server.restarted");
    assert_eq!(restarted.count(), 3);
    assert!(answered.len() >= 3 * REPLIES);
    for (reason, reply) in &answered {
        let is_said = |row: &Value| row["payload"]["reason"] == **reason;
        assert_eq!(count(rows, "in", "tool.call", is_said), 1, "{reason}");
        let kind = reply["type"].as_str().unwrap();
        let is_told =
            |row: &Value| row["replyTo"] == reply["replyTo"] && row["payload"] == reply["payload"];
        assert!(count(rows, "out", kind, is_told) >= 1, "{reply}");
    }
    let replayed = program
        .run(["relay", "replay", &format!("data/{named}")])
        .await;
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    // What was cut off is answered to nobody, but no answer came to two.
    let (asked, told) = (
        count(rows, "in", "tool.call", |_| true),
        count(rows, "out", "tool.result", |_| true) + count(rows, "out", "error", |_| true),
    );
    assert!(answered.len() <= told && told <= asked, "{told} of {asked}");
}
