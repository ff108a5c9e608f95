//! How often a turn makes the journal sync, by the journal's own count.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::client::Client;
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

const TURNS: u32 = 20;

/// The text of each turn, in pieces of one word.
const WORD: &str = "well ";
const WORDS: usize = 20;

/// A tool and its arguments.
type Call = (&'static str, &'static str);

const READS: Call = ("list_dir", r#"{"path":"."}"#);
const WRITES: Call = ("write_file", r#"{"path":"note","content":"so"}"#);

/// Commits of a text turn, of one that first calls a tool which reads, and of one that first calls a
/// tool which writes.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let mut samples = Vec::new();
    for call in [None, Some(READS), Some(WRITES)] {
        samples.push(commits(program, call).await?);
    }
    Ok(samples)
}

async fn commits(program: &Program<'_>, call: Option<Call>) -> Result<Sample> {
    let model = Model::start(move |talk| async move {
        match call {
            Some((tool, arguments)) if talk.tool_results() == 0 => talk.call(tool, arguments).await,
            Some(_) | None => {
                talk.say(WORD, WORDS).await?;
                talk.end().await
            }
        }
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let mut client = Client::connect(&serving.way_in).await?;
    for number in 0..TURNS {
        client.make_session(&number.to_string()).await?;
    }
    let mut counts = Vec::new();
    for number in 0..TURNS {
        let before = count(&mut client).await?;
        let message = json!({"sessionId": number.to_string(), "content": "go"});
        let result = client.call("sendMessage", &message).await?;
        ensure!(
            result["text"] == WORD.repeat(WORDS),
            "another turn: {result}"
        );
        counts.push(f64::from(count(&mut client).await? - before));
    }
    let prompts = if call.is_some() { 2 * TURNS } else { TURNS };
    ensure!(
        model.asked() == prompts,
        "{} prompts, not {prompts}",
        model.asked()
    );
    serving.stop().await?;
    Sample::of(counts)
}

async fn count(client: &mut Client) -> Result<u32> {
    client.number("/api/server", "/store/journalCommits").await
}
