//! What it costs that an agent speaks whom others have called.

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::children::CpuUse;
use crate::client::{Client, Events, ServerAccess};
use crate::model::{Model, Talk};
use crate::program::{Program, Serving};
use crate::sample::{Sample, percentiles};

/// The agents, each of which may call the next.
const AGENTS: [&str; 3] = ["first", "second", "third"];

/// How many called agents speak their first word, one after another.
const TURNS: u32 = 100;

/// How many values each row has.
const VALUES: u32 = 3;

/// Pairs of turns of which one value is made, so that ticks of 10 ms count little.
const PAIRS: u32 = 5;

/// The deltas of a turn, and how many of them come together.
const DELTAS: u32 = 10_000;
const TOGETHER: usize = 10;

const STREAM: &str = "/services/agent/sendMessage/stream?profile=full";

/// From the moment before a called agent's model sends its first word until a reader has its event.
pub(crate) async fn first_word(program: &Program<'_>) -> Result<Vec<Sample>> {
    let (sender, mut sent) = mpsc::channel(1);
    let model = Model::start(move |talk| {
        let sender = sender.clone();
        async move {
            let Some(talk) = pass_down(talk).await? else {
                return Ok(());
            };
            sender.send(Instant::now()).await?;
            talk.say("word ", 1).await?;
            talk.end().await
        }
    });
    let model = model.await?;
    let program = program.asking(&model)?;
    let serving = define(&program).await?;
    let mut medians = Vec::new();
    for value in 0..VALUES {
        let mut times = Vec::new();
        for number in 0..TURNS {
            let session = format!("{value}-{number}");
            let mut turn = speak(&serving.way_in, &session, 1).await?;
            turn.until_nth(1, is_word).await?;
            let read = Instant::now();
            let sent = sent.recv().await.context("the model is gone")?;
            times.push(read.saturating_duration_since(sent));
            turn.until_nth(1, is_end).await?;
        }
        let [median] = percentiles(times, [50.0])?;
        medians.push(median);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(medians)?])
}

/// The CPU time of a delta of an agent at depth 3, divided by that of one of the session's own; and
/// the latter, in microseconds. Turns of both kinds alternate.
pub(crate) async fn per_delta(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = Model::start(async |talk| {
        let Some(talk) = pass_down(talk).await? else {
            return Ok(());
        };
        for _ in 0..DELTAS / u32::try_from(TOGETHER)? {
            talk.say("word ", TOGETHER).await?;
        }
        talk.end().await
    });
    let model = model.await?;
    let program = program.asking(&model)?;
    let serving = define(&program).await?;
    let process = serving.process()?;
    let (mut ratios, mut own) = (Vec::new(), Vec::new());
    for value in 0..VALUES {
        let mut spent = [0.0; 2];
        for pair in 0..PAIRS {
            for (spent, depth) in spent.iter_mut().zip([0, AGENTS.len()]) {
                let session = format!("{value}-{pair}-{depth}");
                let cpu = CpuUse::by(process)?;
                let mut turn = speak(&serving.way_in, &session, depth).await?;
                turn.until_nth(1, is_end).await?;
                *spent += cpu.microseconds_each(DELTAS)? / f64::from(PAIRS);
            }
        }
        ratios.push(spent[1] / spent[0]);
        own.push(spent[0]);
    }
    serving.stop().await?;
    Ok(vec![Sample::of(ratios)?, Sample::of(own)?])
}

/// Starts a server that has the agents.
async fn define(program: &Program<'_>) -> Result<Serving> {
    let serving = program.serve().await?;
    let mut client = Client::connect(&serving.way_in).await?;
    for (place, name) in AGENTS.iter().enumerate() {
        let next: Vec<_> = AGENTS.get(place + 1).into_iter().collect();
        let agent = json!({"name": name, "systemPrompt": "You work.", "allowedSubAgents": next});
        client.post("/api/agents", &agent).await?;
    }
    Ok(serving)
}

/// Posts a message to a new session whose answer is to come from an agent so deep.
async fn speak(way_in: &ServerAccess, session: &str, depth: usize) -> Result<Events> {
    let mut client = Client::connect(way_in).await?;
    client.make_session(session).await?;
    let content = format!("down {depth} of {depth}");
    let params = json!({"sessionId": session, "content": content});
    client.events("POST", STREAM, Some(&params)).await
}

/// Calls the next agent down, or ends a turn whose agent has answered; gives back the talk of the one
/// who is to speak.
async fn pass_down(talk: Talk) -> Result<Option<Talk>> {
    if talk.tool_results() > 0 {
        talk.say("done", 1).await?;
        talk.end().await?;
        return Ok(None);
    }
    let words: Vec<_> = talk.last_user().split(' ').collect();
    let ["down", left, "of", depth] = words[..] else {
        bail!("another message: {words:?}");
    };
    let (left, depth): (usize, usize) = (left.parse()?, depth.parse()?);
    let Some(left) = left.checked_sub(1) else {
        return Ok(Some(talk));
    };
    let name = AGENTS.get(depth - left - 1).context("too deep")?;
    let args = json!({"name": name, "task": format!("down {left} of {depth}")});
    talk.call("subAgent", &args.to_string()).await?;
    Ok(None)
}

/// Whether a called agent says something.
fn is_word(event: &Value) -> bool {
    let is_text = event["fragment"]["text"].is_string();
    event["type"] == "delta" && event["agent"] != "master" && is_text
}

/// Whether the turn of the session's own agent is over.
fn is_end(event: &Value) -> bool {
    event["type"] == "turn_finished" && event["agent"] == "master"
}
