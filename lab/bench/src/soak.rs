//! A server under load for a long time: half an hour of everything, and a minute in which its history
//! cannot be written.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};

use crate::children;
use crate::client::{Client, PATIENCE, ServerAccess};
use crate::model::Model;
use crate::program::Program;
use crate::sample::{Sample, megabytes};

/// How long the soak lasts, in minutes, and its operations in a second.
const MINUTES: usize = 30;
const RATE: u32 = 70;

/// After so many minutes as much leaves the journal as comes: `stream.retention` is ten.
const LEVEL_AFTER: usize = 12;

/// How long the history is locked, in seconds, and how many turns come in one of them.
const LOCKED: u32 = 60;
const TURNS: u32 = 60;

/// Operations that a session sees, one of which deletes it.
const KINDS: u32 = 8;

/// What is looked at each minute.
#[derive(Clone, Copy, Default)]
struct Look {
    memory: f64,
    descriptors: f64,
    journal: f64,
}

/// Half an hour of turns, cancels, cut readers, reads and deletions: how much more memory,
/// descriptors and journal the last third takes than the second one, and how many operations failed.
pub(crate) async fn half_an_hour(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.say("word ", 50).await?;
        talk.end().await
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let process = serving.process()?;
    let (mut running, mut failed) = (JoinSet::new(), 0);
    let (mut looks, mut number) = (Vec::new(), 0);
    let mut tick = interval(Duration::from_secs(1) / RATE);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let began = Instant::now();
    while looks.len() < MINUTES {
        tick.tick().await;
        running.spawn(operate(serving.way_in.clone(), number));
        number += 1;
        while let Some(done) = running.try_join_next() {
            failed += failure(done?);
        }
        if began.elapsed() >= Duration::from_mins(1) * u32::try_from(looks.len() + 1)? {
            let look = look(process, &serving.way_in).await?;
            let Look {
                memory,
                descriptors,
                journal,
            } = look;
            let minute = looks.len() + 1;
            eprintln!(
                "soak: minute {minute}, {number} operations: memory {memory:.1} MB, descriptors {descriptors}, journal {journal:.1} MB"
            );
            looks.push(look);
        }
    }
    while let Some(done) = running.join_next().await {
        failed += failure(done?);
    }
    serving.stop().await?;
    let level = &looks[LEVEL_AFTER..];
    let (earlier, later) = level.split_at(level.len() / 2);
    let ratio = |of: fn(&Look) -> f64| {
        let mean = |looks: &[Look]| {
            let add = |(sum, count), look| (sum + of(look), count + 1.0);
            let (sum, count) = looks.iter().fold((0.0, 0.0), add);
            sum / count
        };
        mean(later) / mean(earlier)
    };
    Sample::each([
        ratio(|look| look.memory),
        ratio(|look| look.descriptors),
        ratio(|look| look.journal),
        f64::from(failed),
    ])
}

/// Tells of an operation that failed; how many failures that is.
fn failure(done: Result<()>) -> u32 {
    let Err(why) = done else { return 0 };
    eprintln!("soak: {why:#}");
    1
}

async fn look(process: u32, way_in: &ServerAccess) -> Result<Look> {
    let mut client = Client::connect(way_in).await?;
    let journal = client
        .number("/api/server", "/store/journalUsedBytes")
        .await?;
    let descriptors = fs::read_dir(format!("/proc/{process}/fd"))?.count();
    Ok(Look {
        memory: megabytes(children::anonymous_kib(process)?),
        descriptors: f64::from(u32::try_from(descriptors)?),
        journal: f64::from(journal) / 1e6,
    })
}

/// One operation; each of so many in a row has its own kind, on a session of their own.
async fn operate(way_in: ServerAccess, number: u32) -> Result<()> {
    let session = format!("soak-{}", number / KINDS);
    let mut client = Client::connect(&way_in).await?;
    match number % KINDS {
        0 => drop(client.make_session(&session).await?),
        1 | 2 => {
            await_session(&mut client, &session).await?;
            let mut turn = client.send(&session, "go").await?;
            while turn.next::<Value>().await?.is_some() {}
        }
        3 => {
            await_session(&mut client, &session).await?;
            // A reader that leaves at once; the turn runs, or is stopped by the next operation.
            client
                .send(&session, "go on")
                .await?
                .next::<Value>()
                .await?;
        }
        4 => {
            await_session(&mut client, &session).await?;
            let turn = client.send(&session, "stop").await?;
            let mut other = Client::connect(&way_in).await?;
            other.call("cancel", &json!({"sessionId": session})).await?;
            drop(turn);
        }
        5 => {
            client.call("listSessions", &json!({"limit": 20})).await?;
        }
        6 => {
            await_session(&mut client, &session).await?;
            client
                .call("getMessages", &json!({"sessionId": session}))
                .await?;
        }
        // One of long ago: nothing else touches it any longer.
        _ if number / KINDS >= 200 && number.is_multiple_of(2) => {
            let old = format!("soak-{}", number / KINDS - 200);
            client
                .call("deleteSession", &json!({"sessionId": old}))
                .await?;
        }
        _ => drop(
            client
                .number("/api/server", "/store/journalCommits")
                .await?,
        ),
    }
    Ok(())
}

/// Operations on one session begin in order, and the first may take a moment.
async fn await_session(client: &mut Client, session: &str) -> Result<()> {
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        let params = json!({"sessionId": session});
        if client.call("getSession", &params).await.is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(5)).await;
    }
    client.make_session(session).await.map(drop)
}

/// The most memory while another process holds the history for a minute, and the sessions of those
/// minutes whose messages are not in the list when it has let go.
pub(crate) async fn locked_history(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.say("word ", 200).await?;
        talk.end().await
    });
    let model = model.await?;
    let program = program.asking(&model)?;
    let serving = program.serve().await?;
    let process = serving.process()?;
    let lock = rusqlite::Connection::open(program.data().join("history.db"))?;
    lock.execute_batch("BEGIN IMMEDIATE")?;
    let (mut running, mut peak) = (JoinSet::new(), 0);
    let mut tick = interval(Duration::from_secs(1) / TURNS);
    for number in 0..LOCKED * TURNS {
        tick.tick().await;
        let way_in = serving.way_in.clone();
        running.spawn(async move {
            let session = format!("locked-{number}");
            let mut client = Client::connect(&way_in).await?;
            client.make_session(&session).await?;
            let mut turn = client.send(&session, "go").await?;
            while turn.next::<Value>().await?.is_some() {}
            anyhow::Ok(())
        });
        peak = peak.max(children::anonymous_kib(process)?);
    }
    while let Some(done) = running.join_next().await {
        done??;
    }
    lock.execute_batch("ROLLBACK")?;
    let mut client = Client::connect(&serving.way_in).await?;
    let began = Instant::now();
    let lag = "/store/historyLagSessions";
    while client.number("/api/server", lag).await? > 0 {
        ensure!(began.elapsed() < PATIENCE, "the history does not catch up");
        sleep(Duration::from_millis(50)).await;
    }
    let kept = client
        .number("/services/agent/getStats", "/sessions")
        .await?;
    serving.stop().await?;
    let lost = (LOCKED * TURNS).saturating_sub(kept);
    Sample::each([megabytes(peak), f64::from(lost)])
}
