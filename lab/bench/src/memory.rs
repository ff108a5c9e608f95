//! What a server holds in memory while many sessions are used at once, and after that.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::children;
use crate::client::{Client, ServerAccess, share_out};
use crate::model::Model;
use crate::program::Program;
use crate::sample::{Sample, megabytes};

/// Sessions with a text turn each, and the deltas of its answer.
const TURNS: u32 = 6_000;
const DELTAS: usize = 200;

/// Sessions with a long message each, and its bytes.
const LONG_MESSAGES: u32 = 1_200;
const LONG: usize = 1_000_000;

/// How many clients work at the same time.
const CLIENTS: u32 = 32;

/// How often the memory is read.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// How long the server is left alone before it is read for the last time.
const REST: Duration = Duration::from_secs(30);

/// The most memory that a server holds during many text turns, each in its own session, and what it
/// holds half a minute later, in MB.
pub(crate) async fn text_turns(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.say("word ", DELTAS).await?;
        talk.end().await
    });
    Sample::each(measure(program, model.await?, TURNS, "go".to_owned()).await?)
}

/// The most memory that a server holds while many sessions get a message of 1 MB each, and what it
/// holds half a minute later, in MB.
pub(crate) async fn long_messages(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.say("read", 1).await?;
        talk.end().await
    });
    let text = "x".repeat(LONG);
    Sample::each(measure(program, model.await?, LONG_MESSAGES, text).await?)
}

/// Memory during and after a turn in each of so many sessions.
async fn measure(
    program: &Program<'_>,
    model: Model,
    sessions: u32,
    text: String,
) -> Result<[f64; 2]> {
    let serving = program.asking(&model)?.serve().await?;
    let process = serving.process()?;
    let peak = peak_during(process, sessions, &serving.way_in, text).await?;
    sleep(REST).await;
    let later = children::anonymous_kib(process)?;
    serving.stop().await?;
    Ok([megabytes(peak), megabytes(later)])
}

/// Sends the text to so many new sessions, and returns the most memory of the process meanwhile.
async fn peak_during(
    process: u32,
    sessions: u32,
    way_in: &ServerAccess,
    text: String,
) -> Result<u32> {
    let talks = share_out(way_in, CLIENTS, sessions, |mut client: Client, numbers| {
        let (way_in, text) = (way_in.clone(), text.clone());
        async move {
            for number in numbers {
                let session = format!("s-{number}");
                client.make_session(&session).await?;
                let mut turn = Client::connect(&way_in)
                    .await?
                    .send(&session, &text)
                    .await?;
                while turn.next::<Value>().await?.is_some() {}
            }
            Ok(())
        }
    });
    let mut talks = std::pin::pin!(talks);
    let mut look = interval(LOOK_EVERY);
    look.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut peak = 0;
    loop {
        tokio::select! {
            done = &mut talks => {
                done?;
                return Ok(peak);
            }
            _ = look.tick() => peak = peak.max(children::anonymous_kib(process)?),
        }
    }
}
