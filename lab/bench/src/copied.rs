//! What the fork of a long session takes.

use std::fs;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::children::peak_kib;
use crate::client::Client;
use crate::program::Program;
use crate::sample::{Sample, milliseconds};

/// Messages of the session, and characters of each.
const MESSAGES: u32 = 10_000;
const CHARACTERS: usize = 400;
/// How often it is forked.
const FORKS: u32 = 5;

/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(1);

/// How long a fork takes in milliseconds, and how many MiB more a server holds meanwhile.
pub(crate) async fn forks(program: &Program<'_>) -> Result<Vec<Sample>> {
    let serving = program.serve().await?;
    let mut client = Client::connect(&serving.way_in).await?;
    client.make_session("long").await?;
    let text = "word ".repeat(CHARACTERS / 5);
    for number in 0..MESSAGES {
        let role = ["user", "assistant"][(number % 2) as usize];
        let message = json!({"role": role, "content": text});
        let params = json!({"sessionId": "long", "message": message});
        client.call("appendMessage", &params).await?;
    }
    let (mut took, mut more) = (Vec::new(), Vec::new());
    for number in 0..FORKS {
        sleep(IDLE).await;
        let process = serving.process()?;
        // From here on the peak is that of the fork.
        fs::write(format!("/proc/{process}/clear_refs"), "5")?;
        let before = peak_kib(process)?;
        let params = json!({"sessionId": "long", "newSessionId": format!("fork-{number}")});
        let began = Instant::now();
        client.call("forkSession", &params).await?;
        took.push(milliseconds(began.elapsed()));
        sleep(IDLE).await;
        more.push(f64::from(peak_kib(process)?.saturating_sub(before)) / 1024.0);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(took)?, Sample::of(more)?])
}
