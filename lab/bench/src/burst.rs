//! What many long messages that come at once cost the server, and those who use it beside them.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::runtime;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::children;
use crate::client::{Client, ServerAccess, at_once};
use crate::model::{Model, Talk};
use crate::program::Program;
use crate::sample::{Sample, megabytes, milliseconds, percentiles};

/// Messages that come at once, each to its own session, and the bytes of each.
const MESSAGES: u32 = 1_200;
const LONG: usize = 1_000_000;

/// The prompt whose answer runs beside them, and the pause between its deltas.
const TICKS: &str = "tick";
const PAUSE: Duration = Duration::from_millis(20);

/// How often the memory is read and the probe asked.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time limit for an answer. It is the machine's limit, and no budget.
const PATIENCE: Duration = Duration::from_mins(3);

/// With a budget in MiB: the most memory in MB, the clients that got no answer, the largest gap in a
/// running stream and the 99th percentile of `/readyz` in milliseconds, and the messages that were
/// accepted.
pub(crate) async fn of_messages(program: &Program<'_>, budget: u32) -> Result<Vec<Sample>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = is_over.clone();
    let model = Model::start(move |talk| converse(talk, ends.clone())).await?;
    let serving = program.asking(&model)?.with_memory(budget).serve().await?;
    let (process, way_in) = (serving.process()?, &serving.way_in.clone());
    let mut client = Client::connect(way_in).await?;
    client.make_session(TICKS).await?;
    for number in 0..MESSAGES {
        client.make_session(&format!("s-{number}")).await?;
    }
    let mut beside = JoinSet::new();
    let (reader, stream) = (client, is_over.clone());
    beside.spawn(async move { largest_gap(reader, stream).await });
    // The clients share the machine with the server: they share the text, too.
    let text = Bytes::from("x".repeat(LONG));
    let access = way_in.clone();
    let messages = (0..MESSAGES).map(move |number| {
        let (way_in, text) = (access.clone(), text.clone());
        async move { Ok(post(&way_in, number, text).await.unwrap_or_default()) }
    });
    // They have a runtime of their own, so that who reads and probes beside them waits for the server
    // and not for its turn among 1,200 clients.
    let crowd = runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut sent = spawn_blocking(move || crowd.block_on(at_once(messages)));
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut peak, mut probes) = (0, Vec::new());
    let ends = loop {
        tokio::select! {
            ends = &mut sent => break ends??,
            _ = look.tick() => {
                peak = peak.max(children::anonymous_kib(process)?);
                let began = Instant::now();
                let is_ready = Client::connect(way_in).await?.is_ready().await;
                ensure!(is_ready, "/readyz refused");
                probes.push(began.elapsed());
            }
        }
    };
    is_over.store(true, Ordering::Relaxed);
    let gap = beside.join_next().await;
    let gap = gap.map_or(Ok(Ok(Duration::ZERO)), |joined| joined)??;
    serving.stop().await?;
    let [probe] = percentiles(probes, [99.0])?;
    let count = |wanted| u32::try_from(ends.iter().filter(|end| **end == wanted).count());
    let (unanswered, accepted) = (count(End::None)?, count(End::Accepted)?);
    Sample::each([
        megabytes(peak),
        f64::from(unanswered),
        milliseconds(gap),
        probe,
        f64::from(accepted),
    ])
}

/// What a message got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum End {
    /// No answer, or one that was cut off.
    #[default]
    None,
    /// `429` with a time to try again.
    Busy,
    /// Its turn, to the end.
    Accepted,
}

async fn post(way_in: &ServerAccess, number: u32, text: Bytes) -> Result<End> {
    let stream = tokio::net::TcpStream::connect(way_in.address).await?;
    let (mut requests, driver) = http1::handshake(TokioIo::new(stream)).await?;
    let mut connection = JoinSet::new();
    connection.spawn(driver);
    let begun = format!(r#"{{"sessionId":"s-{number}","content":""#);
    let pieces = [Bytes::from(begun), text, Bytes::from_static(b"\"}")];
    let bytes: usize = pieces.iter().map(Bytes::len).sum();
    let pieces = pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)));
    let request = Request::post("/services/agent/sendMessage/stream")
        .header(HOST, way_in.address.to_string())
        .header(AUTHORIZATION, way_in.authorization())
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, bytes)
        .body(StreamBody::new(stream::iter(pieces)))?;
    let answered = timeout(PATIENCE, requests.send_request(request)).await??;
    let (status, can_retry) = (
        answered.status(),
        answered.headers().contains_key("retry-after"),
    );
    let body = timeout(PATIENCE, answered.into_body().collect()).await??;
    let is_whole = String::from_utf8_lossy(&body.to_bytes()).contains("data: [DONE]");
    Ok(match status {
        StatusCode::OK if is_whole => End::Accepted,
        StatusCode::TOO_MANY_REQUESTS if can_retry => End::Busy,
        _ => End::None,
    })
}

/// Follows a stream until all is over.
async fn largest_gap(client: Client, is_over: Arc<AtomicBool>) -> Result<Duration> {
    let mut events = client.send(TICKS, TICKS).await?;
    let (mut last, mut largest) = (Instant::now(), Duration::ZERO);
    while let Some(_event) = events.next::<Value>().await? {
        let now = Instant::now();
        if !is_over.load(Ordering::Relaxed) {
            largest = largest.max(now - last);
        }
        last = now;
    }
    Ok(largest)
}

async fn converse(talk: Talk, is_over: Arc<AtomicBool>) -> Result<()> {
    while talk.last_user() == TICKS && !is_over.load(Ordering::Relaxed) {
        talk.say("word ", 1).await?;
        sleep(PAUSE).await;
    }
    talk.say("read", 1).await?;
    talk.end().await
}
