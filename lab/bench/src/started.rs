//! What the binary, its commands and its starts cost.

use std::fs;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use tokio::time::sleep;

use crate::children;
use crate::client::{Client, share_out};
use crate::program::Program;
use crate::sample::{Sample, megabytes, milliseconds};

/// How many pairs of times a difference is the median of.
const PAIRS: u32 = 15;

/// How many values of a CPU time are taken, each the mean of many runs.
const BATCHES: u32 = 7;

/// How often a start is measured.
const STARTS: u32 = 15;

/// How many clients fill a data directory at the same time: they share its commits.
const CLIENTS: u32 = 16;

/// How long a server is left alone before it counts as idle.
const IDLE: Duration = Duration::from_secs(1);

pub(crate) fn size(program: &Program<'_>) -> Result<Sample> {
    let bytes = fs::metadata(program.binary())?.len();
    Sample::of(vec![megabytes(u32::try_from(bytes / 1024)?)])
}

/// CPU time of a command; each value is the mean of so many runs.
pub(crate) async fn cpu(program: &Program<'_>, words: &[&str], runs: u32) -> Result<Sample> {
    // The first run reads everything into memory, and does what is done only once.
    program.run(words).await?;
    let batch = async || {
        let before = children::cpu()?;
        for _ in 0..runs {
            program.run(words).await?;
        }
        let spent = children::cpu()?.saturating_sub(before);
        Ok(milliseconds(spent) / f64::from(runs))
    };
    Sample::take(BATCHES, batch).await
}

/// How much longer the second takes. They alternate, so that other load meets both.
pub(crate) async fn added(
    without: impl AsyncFn() -> Result<Duration>,
    with: impl AsyncFn() -> Result<Duration>,
) -> Result<Sample> {
    let pair = async || {
        let without = without().await?;
        Ok(milliseconds(with().await?) - milliseconds(without))
    };
    Sample::take(PAIRS, pair).await
}

/// Time from the start of a server to its first `/readyz`, with so many sessions on the disk.
pub(crate) async fn starts(program: &Program<'_>, sessions: u32) -> Result<Sample> {
    fill(program, sessions).await?;
    // The first start finishes what the last run left.
    start(program).await?;
    Sample::take(STARTS, async || start(program).await.map(milliseconds)).await
}

pub(crate) async fn start(program: &Program<'_>) -> Result<Duration> {
    let serving = program.serve().await?;
    let ready_after = serving.ready_after;
    serving.stop().await.map(|()| ready_after)
}

pub(crate) async fn idle_memory(program: &Program<'_>) -> Result<f64> {
    let serving = program.serve().await?;
    sleep(IDLE).await;
    let kib = children::anonymous_kib(serving.process()?)?;
    serving.stop().await.map(|()| megabytes(kib))
}

/// Makes so many sessions.
pub(crate) async fn fill(program: &Program<'_>, sessions: u32) -> Result<()> {
    let serving = program.serve().await?;
    let make = |mut client: Client, numbers| async move {
        for _ in numbers {
            client.call("createSession", &json!({})).await?;
        }
        Ok(())
    };
    share_out(&serving.way_in, CLIENTS, sessions, make).await?;
    serving.stop().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_added_is_the_difference_and_may_be_negative() {
        for (without, with, wanted) in [(20, 30, 10.0), (20, 15, -5.0)] {
            let took = |millis| async move || Ok(Duration::from_millis(millis));
            let sample = added(took(without), took(with)).await.unwrap();
            assert!((sample.median() - wanted).abs() < 1e-9);
        }
    }
}
