//! What a message of the global chat costs, and when and how its readers get it.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::json;
use tokio::time::{Instant, sleep, sleep_until};

use crate::children::{self, CpuUse};
use crate::client::{Client, Events, ServerAccess, at_once, share_out};
use crate::program::{Program, Serving};
use crate::sample::{Sample, megabytes, percentiles};

/// How many clients post at the same instant.
const AT_ONCE: u32 = 1_000;

/// How many readers get how many messages, posted by so many clients.
const READERS: u32 = 500;
const MESSAGES: u32 = 2_000;
const CLIENTS: u32 = 16;

/// How many readers get each timed message, and how many messages there are at which pace.
const LISTENERS: usize = 20;
const PACED: u32 = 1_000;
const PACE: Duration = Duration::from_millis(10);
const VALUES: u32 = 3;

/// After how many messages the memory is measured: the number of messages is at its limit, not their
/// bytes.
const FIRST: u32 = 100_000;
const ALL: u32 = 1_000_000;
const TEXT_BYTES: usize = 1024;
/// With these the bytes are at their limit.
const LONG: u32 = 100_000;
const LONG_BYTES: usize = 4 * 1024;
/// How many short ones come before, so that only the kept messages are measured.
const SHORT: u32 = 1_000;

/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

/// An event of the chat; only messages have an id.
#[derive(Deserialize)]
struct Message {
    id: Option<u32>,
}

/// How many ids from 1 on no client got when many posted at the same time.
pub(crate) async fn all_at_once(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let mut posts = Vec::new();
    for _ in 0..AT_ONCE {
        let mut client = Client::connect(&serving.way_in).await?;
        posts.push(async move { post(&mut client, "hello").await });
    }
    let ids: BTreeSet<u64> = at_once(posts).await?.into_iter().collect();
    serving.stop().await?;
    let missing = (1..=AT_ONCE).filter(|id| !ids.contains(&u64::from(*id)));
    Sample::each([f64::from(u32::try_from(missing.count())?)])
}

/// How many messages readers missed, got again or in another order; and the CPU time of the server
/// for each delivered message, in microseconds.
pub(crate) async fn delivered(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let way_in = &serving.way_in;
    let mut reading = Vec::new();
    for _ in 0..READERS {
        reading.push(out_of_line(
            Client::connect(way_in).await?.read_chat(0).await?,
        ));
    }
    let spent = CpuUse::by(serving.process()?)?;
    let (wrong, ()) = tokio::try_join!(at_once(reading), fill(way_in, MESSAGES, "hello"))?;
    let each = spent.microseconds_each(MESSAGES * READERS)?;
    serving.stop().await?;
    Sample::each([f64::from(wrong.iter().sum::<u32>()), each])
}

/// The id of the next message; `None` for another event.
async fn next(reader: &mut Events) -> Result<Option<u32>> {
    let event = reader.next::<Message>().await?;
    Ok(event.context("the chat ended")?.id)
}

/// How far a reader is, and how many messages were not the next.
#[derive(Default)]
struct ReaderProgress {
    last: u32,
    wrong: u32,
}

impl ReaderProgress {
    fn read(&mut self, id: Option<u32>) {
        self.wrong += u32::from(id != Some(self.last + 1));
        self.last = id.unwrap_or(self.last);
    }
}

/// Reads up to the last message, and counts those that are not the next.
async fn out_of_line(mut reader: Events) -> Result<u32> {
    let mut line = ReaderProgress::default();
    while line.last < MESSAGES {
        line.read(next(&mut reader).await?);
    }
    Ok(line.wrong)
}

/// From the request that posts a message until a reader has it, in milliseconds: the median and the
/// 99th percentile over all readers.
pub(crate) async fn read(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.without_agent().serve().await?;
    let (mut medians, mut slowest) = (Vec::new(), Vec::new());
    for round in 0..VALUES {
        let took = paced(&serving.way_in, PACED * round).await?;
        let [median, slow] = percentiles(took, [50.0, 99.0])?;
        medians.push(median);
        slowest.push(slow);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(medians)?, Sample::of(slowest)?])
}

/// Posts messages at a steady pace, after so many earlier ones.
async fn paced(way_in: &ServerAccess, before: u32) -> Result<Vec<Duration>> {
    let posted: Arc<Vec<OnceLock<Instant>>> =
        Arc::new((0..PACED).map(|_| OnceLock::new()).collect());
    let mut reading = Vec::new();
    for _ in 0..LISTENERS {
        let reader = Client::connect(way_in).await?.read_chat(before).await?;
        reading.push(timed(reader, before, posted.clone()));
    }
    let mut client = Client::connect(way_in).await?;
    let posting = async {
        let began = Instant::now();
        for (number, posted) in (0..PACED).zip(posted.iter()) {
            sleep_until(began + PACE * number).await;
            posted.get_or_init(Instant::now);
            post(&mut client, "hello").await?;
        }
        Ok(())
    };
    let (took, ()) = tokio::try_join!(at_once(reading), posting)?;
    Ok(took.concat())
}

async fn timed(
    mut reader: Events,
    before: u32,
    posted: Arc<Vec<OnceLock<Instant>>>,
) -> Result<Vec<Duration>> {
    let mut took = Vec::new();
    for (number, posted) in (before + 1..).zip(posted.iter()) {
        let id = next(&mut reader).await?;
        ensure!(id == Some(number), "message {number} came as {id:?}");
        took.push(posted.get().context("read before it was posted")?.elapsed());
    }
    Ok(took)
}

/// How much more memory a server holds after very many messages than after a few short ones, in
/// megabytes; how much of that came with the first of them; how much more another one holds whose
/// chat is full; and the CPU time of a message in microseconds.
pub(crate) async fn kept(program: &Program<'_>) -> Result<Vec<Sample>> {
    let (text, long) = ("x".repeat(TEXT_BYTES), "x".repeat(LONG_BYTES));
    let serving = with_short_messages(program).await?;
    let spent = CpuUse::by(serving.process()?)?;
    let first = grown(&serving, FIRST, &text).await?;
    let all = first + grown(&serving, ALL - FIRST, &text).await?;
    let each = spent.microseconds_each(ALL)?;
    serving.stop().await?;
    let serving = with_short_messages(program).await?;
    let full = grown(&serving, LONG, &long).await?;
    serving.stop().await?;
    Sample::each([all, all - first, full, each])
}

async fn with_short_messages(program: &Program<'_>) -> Result<Serving> {
    let serving = program.without_agent().serve().await?;
    fill(&serving.way_in, SHORT, "x").await?;
    Ok(serving)
}

/// How many megabytes a server holds more after so many more messages.
async fn grown(serving: &Serving, times: u32, text: &str) -> Result<f64> {
    let held = async || {
        sleep(IDLE).await;
        children::anonymous_kib(serving.process()?).map(megabytes)
    };
    let before = held().await?;
    fill(&serving.way_in, times, text).await?;
    Ok(held().await? - before)
}

/// Posts the same text many times, by several clients at the same time.
async fn fill(way_in: &ServerAccess, times: u32, text: &str) -> Result<()> {
    let posts = share_out(way_in, CLIENTS, times, |mut client, numbers| {
        let text = text.to_owned();
        async move {
            for _ in numbers {
                post(&mut client, &text).await?;
            }
            Ok(())
        }
    });
    posts.await.map(drop)
}

/// Posts a text and returns the id of its message.
async fn post(client: &mut Client, text: &str) -> Result<u64> {
    let params = json!({"text": text});
    let message = client.post("/chat/user_message", &params).await?;
    message["id"].as_u64().context("a message without an id")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_not_the_next_is_counted() {
        for (ids, wanted) in [
            (&[Some(1), Some(2), Some(3)][..], 0),
            (&[Some(1), Some(1), Some(2)], 1),
            (&[Some(1), Some(3), Some(4)], 1),
            (&[Some(1), None, Some(2)], 1),
            (&[Some(2), Some(1), Some(3)], 3),
        ] {
            let mut line = ReaderProgress::default();
            for id in ids {
                line.read(*id);
            }
            assert_eq!(line.wrong, wanted, "{ids:?}");
        }
    }
}
