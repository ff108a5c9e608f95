//! A kill at every named point of the code. The points are found in the sources, so that none is
//! forgotten.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Method;
use samovar_model_server::{ModelServer, Rule, When, call, say};
use samovar_testkit::{EventStream, Frame, Program, Serving, Signal};
use serde_json::json;
use tokio::task::JoinSet;

use crate::setup::{last, text, with_model};

/// Each point is stopped at when it is reached for the first time, the second, and so on.
const VISITS: u32 = 3;
/// How long one kill and all that comes after may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);
const SESSION: &str = "s";

/// The names of all points, from the sources.
fn points() -> BTreeSet<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for member in crates.read_dir().unwrap() {
        collect(&member.unwrap().path().join("src"), &mut names);
    }
    names
}

fn collect(path: &PathBuf, names: &mut BTreeSet<String>) {
    if let Ok(entries) = path.read_dir() {
        entries.for_each(|entry| collect(&entry.unwrap().path(), names));
    } else if let Ok(source) = std::fs::read_to_string(path) {
        let code = source
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        let marks = code.filter_map(|line| line.split_once("failpoint!(\""));
        names.extend(marks.filter_map(|(_, mark)| Some(mark.split_once('"')?.0.to_owned())));
    }
}

fn script() -> [Rule; 3] {
    // What was said last may stand behind the message of a turn that the kill cut off.
    let last = When::Not(Box::new(When::user("the last")));
    let file = || When::user("file").and(last.clone());
    let write = json!({"path": "out.txt", "content": "x"});
    [
        call("write_file", write)
            .when(file().and(When::ToolResultsSinceUser(0)))
            .forever(),
        say("it is written").when(file()).forever(),
        say("a spoken answer").deltas_of(4).forever(),
    ]
}

/// A client that remembers what it was told.
#[derive(Default)]
struct Client {
    /// What it said and the server accepted.
    posts: Vec<Post>,
}

/// A message that was accepted, and what was seen of its turn.
struct Post {
    id: &'static str,
    content: &'static str,
    frames: Vec<Frame>,
}

impl Client {
    /// Says something; none when the server is no more.
    async fn post(
        &mut self,
        server: &Serving,
        id: &'static str,
        content: &'static str,
    ) -> Option<EventStream> {
        let response = send(server, id, content).await.ok()?;
        assert_eq!(response.status(), 200, "{id}");
        let frames = Vec::new();
        self.posts.push(Post {
            id,
            content,
            frames,
        });
        Some(EventStream::new(response))
    }

    /// Reads the stream of a message as far as it goes.
    async fn read(&mut self, id: &str, stream: Option<EventStream>) {
        if let Some(mut stream) = stream {
            let mut posts = self.posts.iter_mut();
            posts.find(|post| post.id == id).unwrap().frames = stream.rest().await;
        }
    }

    /// Talks until all is said or the server is no more.
    async fn talk(&mut self, server: &Serving) {
        let opened = server.request(Method::POST, "/services/agent/createSession");
        let opened = opened.json(&json!({"sessionId": SESSION})).send();
        if opened.await.is_err() {
            return;
        }
        let first = self.post(server, "m1", "say something").await;
        self.read("m1", first).await;
        let second = self.post(server, "m2", "write a file").await;
        let waiting = self.post(server, "m3", "say more").await;
        self.read("m2", second).await;
        self.read("m3", waiting).await;
    }

    /// Holds a new server against what the one before it told.
    async fn check(mut self, server: &Serving) {
        server
            .ok("createSession", json!({"sessionId": SESSION}))
            .await;
        let stream = self.post(server, "m4", "say the last").await;
        self.read("m4", stream).await;
        let after = self.posts.pop().unwrap();
        assert_eq!(last(&after.frames)["type"], "completed");
        assert_eq!(text(&after.frames), "a spoken answer");
        let ids = |frames: &[Frame]| -> Vec<_> { frames.iter().filter_map(position).collect() };
        let before: Vec<_> = self
            .posts
            .iter()
            .flat_map(|post| ids(&post.frames))
            .collect();
        for new in ids(&after.frames) {
            let is_later = |old: &(u64, u64)| new.0 > old.0 && new.1 > old.1;
            assert!(before.iter().all(is_later), "{new:?} {before:?}");
        }
        self.check_messages(server).await;
        for post in self.posts {
            post.check(server).await;
        }
    }

    async fn check_messages(&self, server: &Serving) {
        let rows = server
            .ok("getMessages", json!({"sessionId": SESSION}))
            .await;
        let rows = rows.as_array().unwrap();
        let of = |role: &'static str| rows.iter().filter(move |row| row["role"] == role);
        // A message may be kept whose acceptance the kill cut off; none may be missing.
        let mut said: Vec<_> = of("user").map(|row| row["id"].as_str().unwrap()).collect();
        let accepted: Vec<_> = self.posts.iter().map(|post| post.id).collect();
        said.retain(|id| accepted.contains(id));
        assert_eq!(said, accepted, "{rows:#?}");
        let results = self.posts.iter().flat_map(|post| &post.frames);
        let results = results.filter(|frame| frame.kind() == "tool_call_result");
        assert!(of("tool").count() >= results.count(), "{rows:#?}");
        for post in self.posts.iter().filter(|post| post.is_complete()) {
            let is_kept = of("assistant").any(|row| row["content"] == *text(&post.frames));
            assert!(is_kept, "{:?} in {rows:#?}", post.frames);
        }
        let ids: BTreeSet<_> = rows.iter().map(|row| row["id"].as_str()).collect();
        assert_eq!(ids.len(), rows.len());
        let session = server.ok("getSession", json!({"sessionId": SESSION}));
        assert_eq!(session.await["messageCount"], rows.len());
    }
}

impl Post {
    fn is_complete(&self) -> bool {
        self.frames.iter().any(|frame| frame.kind() == "completed")
    }

    /// Says it again: what was shown of its turn is told again, word for word.
    async fn check(&self, server: &Serving) {
        let again = send(server, self.id, self.content).await.unwrap();
        // The history knows a turn that was over; its stream is no longer kept for this.
        if again.status() != 409 {
            assert_eq!(again.status(), 200);
            let again = EventStream::new(again).rest().await;
            assert!(
                again.starts_with(&self.frames),
                "{again:#?} {:#?}",
                self.frames
            );
        }
    }
}

async fn send(
    server: &Serving,
    id: &str,
    content: &str,
) -> Result<reqwest::Response, reqwest::Error> {
    let path = "/services/agent/sendMessage/stream";
    let params = json!({"sessionId": SESSION, "messageId": id, "content": content});
    server
        .request(Method::POST, path)
        .json(&params)
        .send()
        .await
}

/// The epoch and the place in the log of a frame's id.
fn position(frame: &Frame) -> Option<(u64, u64)> {
    let mut numbers = frame.id.as_deref()?.split('.').map(str::parse);
    Some((numbers.next()?.unwrap(), numbers.next()?.unwrap()))
}

/// Stops a server at a point, and holds the next one against what clients of the first were told.
/// Whether the point was reached so many times.
async fn is_reached(point: &str, visit: u32) -> bool {
    let (program, _model): (Program, ModelServer) = with_model(script()).await;
    let mut client = Client::default();
    let armed = program.set("SAMOVAR_FAILPOINT", &format!("{point}:{visit}"));
    let ended = match armed.try_serve(&["--approval", "auto"]).await {
        Err(ended) => ended,
        Ok(server) => {
            client.talk(&server).await;
            server.send(Signal::TERM);
            server.end().await
        }
    };
    let program = armed.set("SAMOVAR_FAILPOINT", "");
    let server = program.serve(&["--approval", "auto"]).await;
    client.check(&server).await;
    ended.code.is_none()
}

// proves DU-1, DU-3, DU-7
#[tokio::test]
async fn a_kill_at_any_point_loses_nothing_that_was_accepted_and_repeats_no_id() {
    let mut tasks = JoinSet::new();
    for point in points() {
        tasks.spawn(async move {
            for visit in 1..=VISITS {
                let reached = tokio::time::timeout(PATIENCE, is_reached(&point, visit)).await;
                let reached = reached.unwrap_or_else(|_| panic!("{point}:{visit} hangs"));
                assert!(reached || visit > 1, "{point} is never reached");
            }
        });
    }
    assert!(!tasks.is_empty());
    while let Some(survived) = tasks.join_next().await {
        survived.unwrap();
    }
}
