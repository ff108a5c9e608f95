//! What it costs to read a large event that arrives in small pieces.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::children::CpuUse;
use crate::client::Client;
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

/// The text of the event, in bytes.
const TEXT_BYTES: usize = 2_000_000;

/// About what one packet brings, in bytes.
const PIECE_BYTES: usize = 1_400;

/// How many values the row has.
const VALUES: u32 = 5;

const STREAM: &str = "/services/agent/sendMessage/stream";

/// The CPU time of a server for a turn whose model sends 2 MB as one event in pieces of 1,400 bytes:
/// reading it, keeping it and sending it to a client; in milliseconds.
pub(crate) async fn large_event(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        talk.say_in_pieces(&"word ".repeat(TEXT_BYTES / 5), PIECE_BYTES)
            .await?;
        talk.end().await
    });
    let model = model.await?;
    let program = program.asking(&model)?;
    let serving = program.serve().await?;
    let process = serving.process()?;
    let mut client = Client::connect(&serving.way_in).await?;
    let mut values = Vec::new();
    for value in 0..VALUES {
        let session = value.to_string();
        client.make_session(&session).await?;
        let reader = Client::connect(&serving.way_in).await?;
        let cpu = CpuUse::by(process)?;
        let params = json!({"sessionId": session, "content": "Go."});
        let mut turn = reader.events("POST", STREAM, Some(&params)).await?;
        let mut bytes = 0;
        while let Some(event) = turn.next::<Value>().await? {
            bytes += event["content"].as_str().map_or(0, str::len);
        }
        ensure!(bytes == TEXT_BYTES, "{bytes} bytes arrived");
        values.push(cpu.microseconds_each(1)? / 1_000.0);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(values)?])
}
