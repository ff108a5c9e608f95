//! Readers that come and go while the server is killed and started again.

use reqwest::{Method, Response};
use samovar_model_server::{Gate, say};
use samovar_testkit::{Api, EventStream, Frame, Serving};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::setup::with_model;

const READERS: u64 = 8;
const STREAM: &str = "/services/agent/sendMessage/stream";

/// Where the server is, and its token; none while it is away.
type ServerAddress = Option<(String, String)>;

/// A reader that takes a few frames, goes away, and comes back behind the last of them.
struct Reader {
    profile: &'static str,
    random: u64,
    frames: Vec<Frame>,
}

impl Reader {
    async fn read(mut self, session: String, mut place: watch::Receiver<ServerAddress>) -> Self {
        loop {
            let at = place.wait_for(Option::is_some).await.unwrap().clone();
            let (address, token) = at.unwrap();
            let Some(response) = self.come_back(&Api::new(&address, &token), &session).await else {
                tokio::task::yield_now().await;
                continue;
            };
            // It has everything but `[DONE]`.
            if response.status() == 204 {
                return self;
            }
            let mut stream = EventStream::new(response);
            for _ in 0..self.few() {
                match stream.next().await {
                    Some(frame) if frame.is_done() => return self,
                    Some(frame) => self.frames.push(frame),
                    None => break,
                }
            }
        }
    }

    async fn come_back(&self, api: &Api, session: &str) -> Option<Response> {
        let path = format!("{STREAM}?sessionId={session}&profile={}", self.profile);
        let mut request = api.request(Method::GET, &path);
        if let Some(last) = self.frames.last() {
            request = request.header("last-event-id", last.id.as_deref().unwrap());
        }
        let response = request.send().await.ok()?;
        response.status().is_success().then_some(response)
    }

    /// From 1 to 8, in an order of its own.
    fn few(&mut self) -> u64 {
        let (factor, step) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.random = self.random.wrapping_mul(factor).wrapping_add(step);
        1 + (self.random >> 61)
    }
}

/// Reads the turn until some of the second half of its text has come.
async fn midway(server: &Serving, session: &str, attempt: usize) {
    let path = format!("{STREAM}?sessionId={session}");
    let response = server.request(Method::GET, &path).send().await.unwrap();
    let mut stream = EventStream::new(response);
    for _ in 0..attempt {
        stream.until("iteration").await;
    }
    for _ in 0..12 {
        stream.until("text_delta").await;
    }
}

// proves DU-7, DU-9, AS-7
#[tokio::test]
async fn eight_readers_that_come_and_go_read_the_same_while_the_server_is_killed_again_and_again() {
    let never = Gate::new("never");
    let long = || say("words that come one after the other, and many of them").deltas_of(2);
    let (program, _model) = with_model([
        long().hold_after(14, &never),
        long().hold_after(18, &never),
        long(),
    ])
    .await;
    let mut server = program.serve(&[]).await;
    let session = server.session().await;
    drop(server.say(&session, "go").await);
    let here = |server: &Serving| {
        let token = std::fs::read_to_string(program.folder().join("data/token"));
        let token = token.unwrap_or_default();
        Some((server.address.clone(), token.trim().to_owned()))
    };
    let (place, _) = watch::channel(here(&server));
    let mut readers = JoinSet::new();
    for random in 0..READERS {
        let profile = if random % 2 == 0 { "default" } else { "full" };
        let reader = Reader {
            profile,
            random,
            frames: Vec::new(),
        };
        readers.spawn(reader.read(session.clone(), place.subscribe()));
    }

    for attempt in 1..=2 {
        midway(&server, &session, attempt).await;
        place.send_replace(None);
        server.kill().await;
        server = program.serve(&[]).await;
        place.send_replace(here(&server));
    }
    let read = readers.join_all().await;

    for profile in ["default", "full"] {
        let path = format!("{STREAM}?sessionId={session}&profile={profile}");
        let whole = server.request(Method::GET, &path).send().await.unwrap();
        let mut whole = EventStream::new(whole).rest().await;
        assert!(whole.pop().unwrap().is_done());
        let kinds = whole.iter().filter(|frame| frame.kind() == "iteration");
        assert!(profile == "full" || kinds.count() == 3, "{whole:?}");
        for reader in read.iter().filter(|reader| reader.profile == profile) {
            assert_eq!(reader.frames, whole, "reader {}", reader.random);
        }
    }
    let messages = server
        .ok("getMessages", json!({"sessionId": session}))
        .await;
    assert_eq!(messages.as_array().unwrap().len(), 2);
}
