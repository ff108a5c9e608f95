//! A kill at every named point of the code.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use samovar_core::failpoint::{LifeStage, POINTS, Point};
use samovar_model_server::ModelServer;
use samovar_testkit::{EventStream, Frame, Program, Serving, Signal};
use samovar_wire::agent::Attachment;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::hook::Hook;
use crate::rooms::{Agent, logs, with_room};
use crate::setup::{last, text, with_model};

use self::script::{DELTAS, held, more, script, waits};

mod script;

/// How long one kill and all that comes after may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often the chat is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Points that are tried at once.
const AT_ONCE: usize = 6;
const SESSION: &str = "s";
/// The one that is deleted.
const GONE: &str = "gone";
/// The fork.
const COPY: &str = "copy";
const SERVE: [&str; 2] = ["--approval", "auto"];
const STREAM: &str = "/services/agent/sendMessage/stream";
/// One of the webhooks is asked about.
const ASKED: &str = "[tools.policy.asked]\ntool = \"count\"\nverdict = \"ask\"\n";
/// The variable that names the point.
const ARMED: &str = "SAMOVAR_FAILPOINT";
/// The variable that says how long turns are kept that are over.
const KEEPS: &str = "SAMOVAR__STREAM__RETENTION";

/// A client that remembers what it was told.
#[derive(Default)]
struct Client {
    /// What it said and the server accepted.
    posts: Vec<Post>,
    /// What it was told in a room of the relay.
    told: Vec<Value>,
    /// The messages of the fork that it was told of, with what it appended.
    copied: Option<u64>,
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

    /// Says something, and does this once so many deltas of the answer have come.
    async fn post_and<T>(
        &mut self,
        server: &Serving,
        (id, content): (&'static str, &'static str),
        after: usize,
        act: impl Future<Output = T>,
    ) {
        let Some(mut stream) = self.post(server, id, content).await else {
            return;
        };
        let mut act = Some(act);
        let (mut frames, mut deltas) = (Vec::new(), 0);
        while let Some(frame) = stream.next().await {
            deltas += usize::from(frame.kind() == "text_delta");
            frames.push(frame);
            if deltas == after
                && let Some(act) = act.take()
            {
                act.await;
            }
        }
        self.posts.last_mut().unwrap().frames = frames;
    }

    /// Talks until all is said or the server is no more.
    async fn talk(
        &mut self,
        server: &Serving,
        model: &ModelServer,
        hooks: &[Hook; 2],
    ) -> Result<(), reqwest::Error> {
        let tools = [("count", "unsafe"), ("note", "idempotent")];
        for ((name, effect), hook) in tools.into_iter().zip(hooks) {
            let url = hook.url();
            let tool =
                json!({"name": name, "description": "Counts.", "url": url, "effect": effect});
            let tool = server.request(Method::POST, "/api/tools").json(&tool);
            tool.send().await?.error_for_status()?;
        }
        method(server, "createSession", SESSION).await?;
        let first = self.post(server, "m1", "say something").await;
        self.read("m1", first).await;
        let second = self.post(server, "m2", "write a file").await;
        let waiting = self.post(server, "m3", "say more").await;
        self.read("m2", second).await;
        self.read("m3", waiting).await;
        self.steer(server, model).await;
        let asking = self.post(server, "m11", "ask the person").await;
        tokio::select! {
            () = self.read("m11", asking) => {}
            gone = answer(server) => return gone,
        }
        let counted = self.post(server, "m8", "call the webhook").await;
        tokio::select! {
            () = self.read("m8", counted) => {}
            gone = answer(server) => return gone,
        }
        let called = self.post(server, "m12", "call the agent").await;
        self.read("m12", called).await;
        let empty = self.post(server, "m5", "say nothing").await;
        self.read("m5", empty).await;
        let go_on = async { model.open(&more()).unwrap() };
        let long = ("m6", "talk at length");
        self.post_and(server, long, DELTAS - 1, go_on).await;
        let stop = method(server, "cancel", SESSION);
        self.post_and(server, ("m7", "talk slowly"), 1, stop).await;
        self.study(server).await;
        self.copy(server).await?;
        method(server, "createSession", GONE).await?;
        show_an_image(server).await?;
        method(server, "deleteSession", GONE).await
    }

    /// Forks the session, and appends a message to the fork.
    async fn copy(&mut self, server: &Serving) -> Result<(), reqwest::Error> {
        let said = json!({"id": "appended", "role": "user", "content": "and more"});
        for (name, params) in [
            (
                "forkSession",
                json!({"sessionId": SESSION, "newSessionId": COPY}),
            ),
            ("appendMessage", json!({"sessionId": COPY, "message": said})),
        ] {
            let request = server.request(Method::POST, &format!("/services/agent/{name}"));
            let answer = request.json(&params).send().await?.error_for_status()?;
            let answer: Value = answer.json().await?;
            let forked = answer["messageCount"].as_u64();
            self.copied = forked.or(self.copied.map(|count| count + 1));
        }
        Ok(())
    }

    /// What was told of the fork is kept.
    async fn check_copy(&self, server: &Serving) {
        let Some(copied) = self.copied else {
            return;
        };
        let session = server.ok("getSession", json!({"sessionId": COPY})).await;
        // A message may be kept whose acceptance the kill cut off.
        let count = session["messageCount"].as_u64().unwrap();
        assert!((copied..=copied + 1).contains(&count), "{session}");
        let rows = server.ok("getMessages", json!({"sessionId": COPY})).await;
        let last = rows.as_array().unwrap().last().unwrap();
        let whole = server
            .ok("getMessages", json!({"sessionId": SESSION}))
            .await;
        let of = whole.as_array().unwrap().iter();
        let is_copied = of.rev().any(|row| row["content"] == last["content"]);
        assert!(is_copied || last["id"] == "appended", "{last}");
    }

    /// Goes through a whole study in a room, as far as there is a server.
    async fn study(&mut self, server: &Serving) {
        let Some(mut agent) = Agent::join(server).await else {
            return;
        };
        for (kind, payload) in [
            ("session.start", json!({"studyId": "points"})),
            ("snapshot.get", json!({})),
            ("session.end", json!({"reason": "enough"})),
        ] {
            if agent.ask(kind, payload).await.is_none() {
                break;
            }
        }
        self.told = agent.got;
    }

    /// What was told in the room stands in its logs, and it is open as before.
    async fn check_logs(&self, program: &Program, server: &Serving) {
        let mut agent = Agent::join(server).await.unwrap();
        let state = agent.ask("snapshot.get", json!({})).await.unwrap();
        assert_eq!(state["type"], "snapshot.state", "{state}");
        let logs = logs(&program.folder().join("data"));
        let rows = || logs.iter().flat_map(|(_, rows)| rows);
        for told in self.told.iter().chain(&agent.got) {
            let is_it = |row: &&Value| {
                row["direction"] == "out"
                    && row["role"] == "agent"
                    && ["type", "replyTo", "payload"]
                        .iter()
                        .all(|name| row[name] == told[name])
            };
            assert!(rows().any(|row| is_it(&row)), "{told} in {logs:#?}");
        }
    }

    /// Says something that joins the turn which runs.
    async fn steer(&mut self, server: &Serving, model: &ModelServer) {
        let stream = self.post(server, "m9", "look while it is held").await;
        let (id, content) = ("m10", "and go on");
        let params =
            json!({"sessionId": SESSION, "messageId": id, "content": content, "delivery": "steer"});
        let steered = server.request(Method::POST, STREAM).json(&params).send();
        let is_accepted = steered.await.is_ok_and(|answer| answer.status() == 200);
        model.open(&held()).unwrap();
        self.read("m9", stream).await;
        if is_accepted {
            let frames = Vec::new();
            self.posts.push(Post {
                id,
                content,
                frames,
            });
        }
    }

    /// Reads on in the turn that continues, to its end.
    async fn wait_for_the_last(&self, server: &Serving) -> Result<(), reqwest::Error> {
        let last = self.posts.last().unwrap();
        let again = send(server, last.id, last.content).await?;
        EventStream::new(again).rest().await;
        method(server, "createSession", SESSION).await
    }

    /// Holds a new server against what the one before it told.
    async fn check(mut self, server: &Serving) {
        server
            .ok("createSession", json!({"sessionId": SESSION}))
            .await;
        let stream = self.post(server, "m4", "say the last").await;
        tokio::select! {
            () = self.read("m4", stream) => {}
            // What the kill has left open is asked again, and holds the session until then.
            gone = answer(server) => gone.unwrap(),
        }
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
        self.check_copy(server).await;
        let rows = settled_messages(server).await;
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

/// All messages of the session, as many as it counts: a turn that resumes after the kill may add one
/// between the two answers.
async fn settled_messages(server: &Serving) -> Vec<Value> {
    loop {
        let rows = all_messages(server).await;
        let session = server.ok("getSession", json!({"sessionId": SESSION}));
        if session.await["messageCount"] == rows.len() {
            return rows;
        }
    }
}

/// All messages of the session, oldest first: a long one fills an answer alone.
async fn all_messages(server: &Serving) -> Vec<Value> {
    let mut rows: Vec<Value> = Vec::new();
    loop {
        let mut params = json!({"sessionId": SESSION});
        if let Some(oldest) = rows.first() {
            params["before"] = oldest["id"].clone();
        }
        let page = server.ok("getMessages", params).await;
        let mut page = page.as_array().unwrap().clone();
        if page.is_empty() {
            return rows;
        }
        page.append(&mut rows);
        rows = page;
    }
}

/// Answers what turns ask in the chat, for as long as the server is there.
async fn answer(server: &Serving) -> Result<(), reqwest::Error> {
    let mut looked = tokio::time::interval(LOOK_EVERY);
    loop {
        looked.tick().await;
        let state = server.request(Method::GET, "/chat/state").send().await?;
        let state: Value = state.error_for_status()?.json().await?;
        if !state["pending_input"].is_null() {
            let said = server.request(Method::POST, "/chat/user_message");
            // It answers a question, and allows a call.
            let said = said.json(&json!({"text": "yes"})).send().await?;
            said.error_for_status()?;
        }
    }
}

/// Sends an image in a session that is deleted afterwards.
async fn show_an_image(server: &Serving) -> Result<(), reqwest::Error> {
    let image = include_bytes!("../../../src/model_test/red.png");
    let attachments = json!([Attachment::of(image)]);
    let params = json!({"sessionId": GONE, "content": "look", "attachments": attachments});
    let request = server.request(Method::POST, "/services/agent/sendMessage");
    let answer = request.json(&params).send().await?.error_for_status()?;
    answer.bytes().await.map(drop)
}

async fn method(server: &Serving, name: &str, session: &str) -> Result<(), reqwest::Error> {
    let request = server.request(Method::POST, &format!("/services/agent/{name}"));
    let request = request.json(&json!({"sessionId": session}));
    request.send().await?.error_for_status().map(drop)
}

async fn send(
    server: &Serving,
    id: &str,
    content: &str,
) -> Result<reqwest::Response, reqwest::Error> {
    let params = json!({"sessionId": SESSION, "messageId": id, "content": content});
    server
        .request(Method::POST, STREAM)
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
async fn is_reached(point: &Point, visit: u32) -> bool {
    let (mut program, model): (Program, ModelServer) = with_model(script()).await;
    let hooks = [Hook::open().await, Hook::open().await];
    let allowed = [hooks[0].address(), hooks[1].address()].map(|address| address.to_string());
    program = with_room(program).set("SAMOVAR__EGRESS__ALLOW", &allowed.join(","));
    if point.when == LifeStage::Sweep {
        program = program.set(KEEPS, "0");
    }
    let folder = program.home().join(".config/samovar");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("samovar.toml"), ASKED).unwrap();
    let mut client = Client::default();
    if let LifeStage::Resume(cut_at) = point.when {
        program = program.set(ARMED, cut_at);
        let server = program.serve(&SERVE).await;
        client.talk(&server, &model, &hooks).await.ok();
        assert_eq!(server.end().await.code, None, "{point:?}");
    }
    program = program.set(ARMED, &format!("{}:{visit}", point.name));
    let ended = match program.try_serve(&SERVE).await {
        Err(ended) => ended,
        Ok(server) => {
            let is_alive = match point.when {
                LifeStage::Resume(_) => client.wait_for_the_last(&server).await,
                LifeStage::Start
                | LifeStage::Run
                | LifeStage::Stop
                | LifeStage::Sweep
                | LifeStage::Relay
                | LifeStage::Care => client.talk(&server, &model, &hooks).await,
            };
            if is_alive.is_ok() {
                server.send(Signal::TERM);
            }
            server.end().await
        }
    };
    for gate in [waits(), more(), held()] {
        model.open(&gate).unwrap();
    }
    program = program.set(ARMED, "").set(KEEPS, "600");
    let server = program.serve(&SERVE).await;
    client.check_logs(&program, &server).await;
    match point.when {
        // What was removed cannot be streamed again.
        LifeStage::Sweep => client.check_messages(&server).await,
        LifeStage::Start
        | LifeStage::Resume(_)
        | LifeStage::Run
        | LifeStage::Stop
        | LifeStage::Relay
        | LifeStage::Care => {
            client.check(&server).await;
        }
    }
    // What must not happen twice did not, and what may was not called again as another.
    let [counted, mut noted] = hooks.map(|hook| hook.keys());
    assert!(counted.len() <= 1, "{point:?}:{visit} {counted:?}");
    noted.dedup();
    assert!(noted.len() <= 1, "{point:?}:{visit} {noted:?}");
    ended.code.is_none()
}

/// Each point is stopped at when it is reached for the first time, the second, and so on; what comes
/// once in a life, once.
fn visits(point: &Point) -> u32 {
    match point.when {
        LifeStage::Run => 2,
        // A room with a host of ours has its first rows before anybody comes.
        LifeStage::Relay => 3,
        LifeStage::Start
        | LifeStage::Resume(_)
        | LifeStage::Stop
        | LifeStage::Sweep
        | LifeStage::Care => 1,
    }
}

// proves DU-1, DU-3, DU-5, DU-7
#[tokio::test]
async fn a_kill_at_any_point_loses_nothing_that_was_accepted_and_repeats_no_id() {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    // What takes care of the stores is killed in `care.rs`, an undo in `undone.rs`.
    for point in POINTS.iter().filter(|point| point.when != LifeStage::Care) {
        let places = places.clone();
        tasks.spawn(async move {
            let _place = places.acquire().await;
            for visit in 1..=visits(point) {
                let reached = tokio::time::timeout(PATIENCE, is_reached(point, visit)).await;
                let reached = reached.unwrap_or_else(|_| panic!("{point:?}:{visit} hangs"));
                assert!(reached || visit > 1, "{point:?} is never reached");
            }
        });
    }
    assert!(!tasks.is_empty());
    while let Some(survived) = tasks.join_next().await {
        survived.unwrap();
    }
}
