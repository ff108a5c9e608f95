//! What a server does near its limit of file descriptors.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::client::{Client, ServerAccess, at_once};
use crate::model::{Model, Talk};
use crate::program::{Limit, Program};
use crate::sample::{Sample, milliseconds};

/// The usual soft limit, below a hard one that has room for all.
const USUAL: Limit = Limit {
    soft: 1_024,
    hard: None,
};
const STREAMS: u32 = 1_500;

/// A limit that has no room for all.
const LOW: Limit = Limit {
    soft: 256,
    hard: Some(256),
};
const TOO_MANY: u32 = 600;

/// Sockets that send nothing.
const SILENT: usize = 5_000;

/// The content of each file, and the files that a turn reads.
const CONTENT: &str = "as it was written";
const FILES: [&str; 2] = ["f1.txt", "f2.txt"];

/// How long the model thinks before each of its two answers, so that all turns run at once.
const THINKS: Duration = Duration::from_secs(2);

/// Words of the last answer.
const WORDS: usize = 50;

/// Streams that are not all right under the usual soft limit, and their poisoned results.
pub(crate) async fn usual(program: &Program<'_>) -> Result<Vec<Sample>> {
    let found = streams(program, USUAL, STREAMS).await?;
    Sample::each([found.refused + found.broken, found.poisoned].map(f64::from))
}

/// Under a low hard limit: poisoned results, streams that began and did not end whole, streams that
/// were refused.
pub(crate) async fn low(program: &Program<'_>) -> Result<Vec<Sample>> {
    let found = streams(program, LOW, TOO_MANY).await?;
    ensure!(found.whole > 0, "no stream ended whole");
    Sample::each([found.poisoned, found.broken, found.refused].map(f64::from))
}

/// How long `/readyz` takes beside sockets that send nothing, in milliseconds.
pub(crate) async fn silent(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.serve().await?;
    let mut sockets: Vec<TcpStream> = Vec::with_capacity(SILENT);
    for _ in 0..SILENT {
        sockets.push(serving.way_in.connect().await?);
    }
    let began = Instant::now();
    // Without a limit of its own: how long it takes is the figure.
    let ready = async {
        while !is_ready(&serving.way_in).await {
            sleep(Duration::from_millis(1)).await;
        }
    };
    let ready = tokio::time::timeout(Duration::from_mins(1), ready).await;
    ready.context("/readyz did not answer")?;
    let took = milliseconds(began.elapsed());
    drop(sockets);
    serving.stop().await?;
    Sample::each([took])
}

async fn is_ready(way_in: &ServerAccess) -> bool {
    match Client::connect(way_in).await {
        Ok(mut client) => client.is_ready().await,
        Err(_) => false,
    }
}

/// What became of streams that began at once.
#[derive(Default)]
struct Found {
    whole: u32,
    broken: u32,
    refused: u32,
    /// Results of tools that do not have the content of the file.
    poisoned: u32,
}

async fn streams(program: &Program<'_>, limit: Limit, count: u32) -> Result<Found> {
    let poisoned = Arc::new(AtomicU32::new(0));
    let counted = poisoned.clone();
    let model = Model::start(move |talk| converse(talk, counted.clone())).await?;
    let program = program.asking(&model)?.limited(limit);
    for file in FILES {
        fs::write(program.work().join(file), CONTENT)?;
    }
    let serving = program.serve().await?;
    let mut client = Client::connect(&serving.way_in).await?;
    for number in 0..count {
        client.make_session(&number.to_string()).await?;
    }
    drop(client);
    let streams = (0..count).map(|number| {
        let way_in = serving.way_in.clone();
        async move { Ok(stream(&way_in, &number.to_string()).await) }
    });
    let mut found = Found::default();
    for end in at_once(streams).await? {
        match end {
            End::Whole => found.whole += 1,
            End::Broken => found.broken += 1,
            End::Refused => found.refused += 1,
        }
    }
    found.poisoned = poisoned.load(Ordering::Relaxed);
    serving.stop().await?;
    Ok(found)
}

/// Reads two files, then says something of them.
async fn converse(talk: Talk, poisoned: Arc<AtomicU32>) -> Result<()> {
    sleep(THINKS).await;
    let results = talk.results();
    if results.is_empty() {
        let calls = FILES.map(|file| ("read_file", format!(r#"{{"path":"{file}"}}"#)));
        return talk.calls(&calls).await;
    }
    let bad = results.iter().filter(|text| !text.contains(CONTENT));
    poisoned.fetch_add(u32::try_from(bad.count())?, Ordering::Relaxed);
    talk.say("word ", WORDS).await?;
    talk.end().await
}

/// How a stream ended for its client.
enum End {
    Whole,
    /// It began and did not end as it should.
    Broken,
    Refused,
}

async fn stream(way_in: &ServerAccess, session: &str) -> End {
    let begun = async { Client::connect(way_in).await?.send(session, "go").await };
    let Ok(mut events) = begun.await else {
        return End::Refused;
    };
    let mut words = 0;
    let mut is_stop = false;
    loop {
        match events.next::<Value>().await {
            Ok(Some(event)) => {
                words += usize::from(event["type"] == "text_delta");
                is_stop |= event["finishReason"] == "stop";
            }
            Ok(None) if is_stop && words == WORDS => return End::Whole,
            Ok(None) | Err(_) => return End::Broken,
        }
    }
}
