//! What readers cost that take nothing of a long turn.

use std::time::Duration;

use anyhow::{Result, bail};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::children;
use crate::client::Client;
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

const READERS: u32 = 50;

/// With and without them.
const PAIRS: usize = 3;

/// The turn is longer than what all buffers on the way to a reader hold.
const DELTAS: usize = 8 * 1024;
const DELTA_BYTES: usize = 1024;

/// How often the buffers of the system are read.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Time limit for them to fill; well before the server closes a stalled reader's connection.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a reader costs with what the system holds for it, in KiB; and the latter alone.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let (mut all, mut untaken) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (without, _) = hold(program, 0).await?;
        let (with, of_system) = hold(program, READERS).await?;
        all.push((with - without + of_system) / f64::from(READERS));
        untaken.push(of_system / f64::from(READERS));
    }
    Ok(vec![Sample::of(all)?, Sample::of(untaken)?])
}

/// What a server holds after a long unfinished turn, with one reader that takes all of it and so many
/// that take nothing; and what the system holds for these. In KiB.
async fn hold(program: &Program<'_>, readers: u32) -> Result<(f64, f64)> {
    let (gate, passed) = watch::channel(false);
    let model = Model::start(move |talk| {
        let mut passed = passed.clone();
        async move {
            talk.say("first", 1).await?;
            passed.wait_for(|is_open| *is_open).await?;
            talk.say(&"x".repeat(DELTA_BYTES), DELTAS).await?;
            talk.say("last", 1).await?;
            talk.left().await;
            Ok(())
        }
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let way_in = &serving.way_in;
    Client::connect(way_in).await?.make_session("s").await?;
    let mut turn = Client::connect(way_in).await?.send("s", "go").await?;
    let content = |content: &'static str| move |event: &Value| event["content"] == content;
    turn.until_nth(1, content("first")).await?;
    let mut stalled = Vec::new();
    for _ in 0..readers {
        // Without a reader of its body, hyper leaves the bytes in the socket.
        stalled.push(Client::connect(way_in).await?.follow("s").await?);
    }
    gate.send(true)?;
    turn.until_nth(1, content("last")).await?;
    let untaken = settle(way_in.address.port(), readers).await?;
    let own_kib = children::anonymous_kib(serving.process()?)?;
    drop(stalled);
    serving.kill().await?;
    Ok((f64::from(own_kib), f64::from(untaken / 1024)))
}

/// Waits until so many clients have bytes in the buffers of the system and nothing moves, and returns
/// how many bytes.
async fn settle(port: u16, readers: u32) -> Result<u32> {
    let (began, mut last) = (Instant::now(), Vec::new());
    while began.elapsed() < PATIENCE {
        sleep(LOOK_EVERY).await;
        let mut untaken = children::untaken(port)?;
        untaken.retain(|bytes| *bytes > 0);
        if untaken == last && untaken.len() == readers as usize {
            return Ok(untaken.iter().sum());
        }
        last = untaken;
    }
    bail!("of {readers} readers {} have stalled", last.len())
}
