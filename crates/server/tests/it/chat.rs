//! The global chat over real sockets.

mod agent;
mod bad;
mod history;
mod messages;
mod readers;
mod slow;
mod socket;
mod stream;

use reqwest::Method;
use samovar_core::ChatMeta;
use samovar_model_server::Rule;
use samovar_server::{ChatAgent, Config};
use samovar_testkit::{Answer, App, AppBuilder, EventStream, Frame, Socket};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::raw::HANG;

/// A server whose chat wakes nobody.
async fn app() -> App {
    app_with(|_| {}).await
}

async fn app_with(change: impl FnOnce(&mut Config)) -> App {
    AppBuilder::new()
        .with(|config| config.chat.agent = ChatAgent::Nobody)
        .with(change)
        .start(Vec::<Rule>::new())
        .await
}

/// An agent says so many things, `m1` and on.
fn fill(app: &App, count: u64) {
    let chat = app.server().home().chat();
    let head = chat.last(0).head;
    for id in head + 1..=head + count {
        let posted = chat.post_agent("master", &format!("m{id}"), ChatMeta::default());
        assert_eq!(posted.unwrap(), id);
    }
}

/// The person says something.
async fn post(app: &App, body: &Value) -> Answer {
    let request = app.request(Method::POST, "/chat/user_message");
    app.answer(request.json(body)).await
}

/// The ids of an array of messages.
fn ids(messages: &Value) -> Vec<u64> {
    let messages = messages.as_array().unwrap();
    messages
        .iter()
        .map(|message| message["id"].as_u64().unwrap())
        .collect()
}

/// An answer that ends: a stream that should have been refused is no reason to wait.
async fn get(app: &App, path: &str) -> Answer {
    let answer = timeout(HANG, app.get(path)).await;
    answer.unwrap_or_else(|_| panic!("{path} does not end"))
}

async fn history(app: &App, query: &str) -> Answer {
    get(app, &format!("/chat/history{query}")).await
}

/// All that the chat has, by its texts.
async fn texts(app: &App) -> Vec<String> {
    let all = history(app, "?after=0").await.body;
    let all = all.as_array().unwrap().iter();
    all.map(|message| message["text"].as_str().unwrap().to_owned())
        .collect()
}

async fn boot(app: &App) -> String {
    let state = app.get("/chat/state").await.body;
    state["boot_id"].as_str().unwrap().to_owned()
}

/// Where the next message, or the word of a marker, of a stream stands: what both kinds of it give.
#[derive(Debug, PartialEq)]
enum StreamItem {
    Message(u64),
    Marker(Value),
}

/// A reader of the stream, whatever it is spelled in.
enum Reader {
    Events(EventStream),
    Socket(Box<Socket>),
}

#[derive(Clone, Copy, Debug)]
enum Spelling {
    Events,
    Socket,
}

const BOTH: [Spelling; 2] = [Spelling::Events, Spelling::Socket];

impl Reader {
    async fn open(app: &App, spelling: Spelling, query: &str) -> Self {
        let path = format!("/chat/stream{query}");
        match spelling {
            Spelling::Events => Self::Events(app.follow(&path).await),
            Spelling::Socket => Self::Socket(Box::new(app.socket(&path).await)),
        }
    }

    /// What comes next; none when the stream has ended.
    async fn next(&mut self) -> Option<StreamItem> {
        let next = async {
            match self {
                Self::Events(stream) => stream.next().await.map(of_frame),
                Self::Socket(socket) => socket.json().await.map(of_text),
            }
        };
        timeout(HANG, next).await.expect("something comes")
    }

    /// So many messages, and nothing else.
    async fn ids(&mut self, count: u64) -> Vec<u64> {
        let mut ids = Vec::new();
        for _ in 0..count {
            match self.next().await {
                Some(StreamItem::Message(id)) => ids.push(id),
                other => panic!("{other:?} behind {ids:?}"),
            }
        }
        ids
    }
}

fn of_frame(frame: Frame) -> StreamItem {
    match (frame.id, frame.event) {
        (Some(id), None) => {
            assert_eq!(frame.data["id"].to_string(), id);
            StreamItem::Message(id.parse().unwrap())
        }
        (None, Some(name)) => StreamItem::Marker(json!({ name: frame.data })),
        other => panic!("{other:?}"),
    }
}

fn of_text(text: Value) -> StreamItem {
    match text["id"].as_u64() {
        Some(id) => StreamItem::Message(id),
        None => StreamItem::Marker(text),
    }
}

fn truncated(after: u64, first: u64) -> StreamItem {
    StreamItem::Marker(json!({"truncated": {"after": after, "first": first}}))
}

fn header<'a>(answer: &'a Answer, name: &str) -> Option<&'a str> {
    answer
        .headers
        .get(name)
        .map(|value| value.to_str().unwrap())
}

fn refused(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.code())
}

fn parameter(name: &str) -> Value {
    json!({ "parameter": name })
}
