//! What further readers of a turn cost the server, and reading a turn again as clients of the AI SDK do.

use std::sync::Arc;

use anyhow::{Result, bail};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::children::CpuUse;
use crate::client::{Client, Events, ServerAccess, at_once};
use crate::model::Model;
use crate::program::{Program, Serving};
use crate::sample::Sample;

/// The readers beside the one that posted, of which one value is made.
const READERS: u32 = 16;

/// How many values each row has.
const VALUES: u32 = 3;

/// The deltas of a turn, and how many of them the model sends together.
const DELTAS: u32 = 6_000;
const TOGETHER: usize = 10;

/// The agents that say the deltas of a turn that is read again, and how often it is.
const AGENTS: u32 = 8;
const REPLAYS: u32 = 20;

/// The CPU time, in microseconds, of a delta for one more reader: of the agent service's stream, and
/// of the UI message stream.
pub(crate) async fn further(program: &Program<'_>) -> Result<Vec<Sample>> {
    let may_speak = Arc::new(Semaphore::new(0));
    let waiting = may_speak.clone();
    let model = Model::start(move |talk| {
        let may_speak = waiting.clone();
        async move {
            may_speak.acquire().await?.forget();
            for _ in 0..DELTAS / u32::try_from(TOGETHER)? {
                talk.say("word ", TOGETHER).await?;
            }
            talk.end().await
        }
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let (mut service, mut ui) = (Vec::new(), Vec::new());
    for value in 0..VALUES {
        let mut spent = [0.0; 3];
        for (place, spent) in spent.iter_mut().enumerate() {
            let session = format!("{value}-{place}");
            *spent = with_readers(&serving, &session, place, &may_speak).await?;
        }
        let each = f64::from(READERS);
        service.push((spent[1] - spent[0]) / each);
        ui.push((spent[2] - spent[0]) / each);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(service)?, Sample::of(ui)?])
}

/// The CPU time of the server for a delta of a turn without further readers (0), with those of the
/// agent service (1), or with those of the AI SDK (2).
async fn with_readers(
    serving: &Serving,
    session: &str,
    kind: usize,
    may_speak: &Semaphore,
) -> Result<f64> {
    let mut streams = vec![speak(&serving.way_in, session).await?];
    for _ in 0..if kind == 0 { 0 } else { READERS } {
        let reader = Client::connect(&serving.way_in).await?;
        streams.push(match kind {
            1 => reader.follow(session).await?,
            _ => read_ui(reader, session, "").await?,
        });
    }
    let cpu = CpuUse::by(serving.process()?)?;
    may_speak.add_permits(1);
    at_once(streams.into_iter().map(to_the_end)).await?;
    cpu.microseconds_each(DELTAS)
}

/// The CPU time, in milliseconds, of reading a turn again in which called agents say the deltas: as
/// their chunks, and as their messages.
pub(crate) async fn replayed(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        if talk.tool_results() > 0 {
            // It stays open, so that the turn is read from its log.
            talk.say("last ", 1).await?;
            talk.left().await;
            return Ok(());
        }
        if talk.last_user() != "work" {
            let order = json!({"name": "worker", "task": "work"}).to_string();
            let orders = vec![("subAgent", order); usize::try_from(AGENTS)?];
            return talk.calls(&orders).await;
        }
        for _ in 0..DELTAS / AGENTS / u32::try_from(TOGETHER)? {
            talk.say("word ", TOGETHER).await?;
        }
        talk.end().await
    });
    let model = model.await?;
    let serving = program.asking(&model)?.serve().await?;
    let agent = json!({"name": "worker", "systemPrompt": "You work."});
    let mut client = Client::connect(&serving.way_in).await?;
    client.post("/api/agents", &agent).await?;
    let mut turn = speak(&serving.way_in, "tree").await?;
    turn.deltas(1).await?;
    let mut samples = Vec::new();
    for view in ["", "?subagents=messages"] {
        let mut spent = Vec::new();
        for _ in 0..VALUES {
            let cpu = CpuUse::by(serving.process()?)?;
            for _ in 0..REPLAYS {
                let reader = Client::connect(&serving.way_in).await?;
                let mut again = read_ui(reader, "tree", view).await?;
                again.until_nth(1, is_last).await?;
            }
            spent.push(cpu.microseconds_each(REPLAYS)? / 1000.0);
        }
        samples.push(Sample::of(spent)?);
    }
    serving.stop().await?;
    Ok(samples)
}

/// Posts a message to a new session.
async fn speak(way_in: &ServerAccess, session: &str) -> Result<Events> {
    let mut client = Client::connect(way_in).await?;
    client.make_session(session).await?;
    client.send(session, "go").await
}

async fn read_ui(reader: Client, session: &str, view: &str) -> Result<Events> {
    let path = format!("/api/chat/{session}/stream{view}");
    reader.events("GET", &path, None).await
}

/// Whether the session's own agent says what it says last.
fn is_last(chunk: &Value) -> bool {
    chunk["type"] == "text-delta" && chunk["delta"] == "last "
}

async fn to_the_end(mut stream: Events) -> Result<()> {
    let mut letters = 0;
    while let Some(event) = stream.next::<Value>().await? {
        let said = ["delta", "text", "content"].map(|key| event[key].as_str());
        letters += said.into_iter().flatten().next().map_or(0, str::len);
    }
    let all = "word ".len() * usize::try_from(DELTAS)?;
    // The agent service repeats the whole text in its last event.
    if letters < all {
        bail!("a reader has {letters} bytes of {all}");
    }
    Ok(())
}
