//! What it costs, and what it starts, to send a message again and again.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::json;

use crate::children::CpuUse;
use crate::client::{Client, share_out};
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

const SUBMITS: u32 = 100_000;

/// How many clients send it at the same time.
const CLIENTS: u32 = 16;

/// How long the model thinks, so that the first duplicates join a running turn.
const THINKS: Duration = Duration::from_millis(200);

/// How many turns it started beside the first, and the CPU time of a submit in microseconds.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.is_left_within(THINKS).await;
        talk.say("once", 1).await?;
        talk.end().await
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let mut client = Client::connect(&serving.way_in).await?;
    client.make_session("s").await?;
    let spent = CpuUse::by(serving.process()?)?;
    let submit = |mut client: Client, numbers| async move {
        let message = json!({"sessionId": "s", "messageId": "m", "content": "go"});
        let mut turns = BTreeSet::new();
        for _ in numbers {
            let result = client.call("sendMessage", &message).await?;
            let turn = result["turnId"].as_str();
            turns.insert(turn.context("a result without its turn")?.to_owned());
        }
        Ok(turns)
    };
    let turns = share_out(&serving.way_in, CLIENTS, SUBMITS, submit).await?;
    let each = spent.microseconds_each(SUBMITS)?;
    let turns: BTreeSet<String> = turns.into_iter().flatten().collect();
    // A turn that no client was told of shows in the prompts or in the messages.
    let messages = client
        .number("/services/agent/getStats", "/messages")
        .await?;
    let told = u32::try_from(turns.len())?;
    let started = told.max(model.asked()).max(messages.div_ceil(2));
    serving.stop().await?;
    Sample::each([f64::from(started) - 1.0, each])
}
