//! Turns in a long session, with a call that a person allows, and with memories that they recall.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::load::{self, Arena, Cost, Kind, Load, Way, make_sessions, speak};
use crate::children::CpuUse;
use crate::client::{Client, STREAM};
use crate::program::{Program, Serving};
use crate::sample::{Sample, percentiles};

/// Sessions whose turns are compared, and the turn that is compared with the first.
const SESSIONS: u32 = 40;
const LATER: u32 = 200;

/// Turns with a call that a person allows.
const ALLOWED: u32 = 50;

/// What is remembered, and the turns that recall some of it.
const NOTES: u32 = 100;
const RECALLS: u32 = 50;

/// How long a server may take for the meanings of its memories.
const PATIENCE: Duration = Duration::from_mins(1);

/// How many values each row has.
const VALUES: u32 = 3;

/// The CPU time of a session's turn 200 divided by that of its first, and minus it.
pub(super) async fn grown(program: &Program<'_>) -> Result<Vec<Sample>> {
    let arena = Arena::start(program).await?;
    let load = Load::new(Kind::Short, 16, SESSIONS);
    arena.warm(Way::Service, load).await?;
    let (mut ratios, mut more) = (Vec::new(), Vec::new());
    for value in 0..program.values(VALUES) {
        let batch = value.to_string();
        let first = arena.cost(Way::Service, load, &batch).await?.cpu;
        for _ in 2..LATER {
            let batch = format!("{batch}-{:?}", Way::Service);
            speak(&arena.serving.way_in, Way::Service, load, &batch).await?;
        }
        let later = arena.cost(Way::Service, load, &batch).await?.cpu;
        ratios.push(later / first);
        more.push(later - first);
    }
    arena.stop().await?;
    Ok(vec![Sample::of(ratios)?, Sample::of(more)?])
}

/// From the decision about a call to the next delta of its turn, in milliseconds, and the CPU time of
/// such a turn in microseconds.
pub(super) async fn allowed(program: &Program<'_>) -> Result<Vec<Sample>> {
    let arena = Arena::start(program).await?;
    let serving = &arena.serving;
    let (mut medians, mut spent) = (Vec::new(), Vec::new());
    for value in 0..program.values(VALUES) {
        make_sessions(&serving.way_in, ALLOWED, &value.to_string()).await?;
        let cpu = CpuUse::by(serving.process()?)?;
        let mut times = Vec::new();
        for number in 0..ALLOWED {
            times.push(allow(serving, &format!("{value}-{number}")).await?);
        }
        spent.push(cpu.microseconds_each(ALLOWED)?);
        let [median] = percentiles(times, [50.0])?;
        medians.push(median);
    }
    arena.stop().await?;
    Ok(vec![Sample::of(medians)?, Sample::of(spent)?])
}

async fn allow(serving: &Serving, session: &str) -> Result<Duration> {
    let params = json!({
        "sessionId": session, "content": format!("{session} {:?}", Kind::Writes),
        "approval": "supervised",
    });
    let mut person = Client::connect(&serving.way_in).await?;
    let client = Client::connect(&serving.way_in).await?;
    let path = format!("{STREAM}?approvals=true");
    let mut events = client.events("POST", &path, Some(&params)).await?;
    let mut decided = None;
    let mut took = None;
    while let Some(event) = events.next::<Value>().await? {
        if event["type"] == "approval_asked" {
            let id = event["asked"]["id"].as_str().context("no approval")?;
            decided = Some(Instant::now());
            let decision = json!({"decision": "once"});
            person
                .post(&format!("/api/approvals/{id}"), &decision)
                .await?;
        }
        if event["type"] == "text_delta" {
            took = decided.map(|decided| decided.elapsed());
        }
    }
    took.context("the turn did not ask, or said nothing after it")
}

/// What memories add to a turn: CPU time, and time to the first delta, in milliseconds.
pub(super) async fn recalled(program: &Program<'_>) -> Result<Vec<Sample>> {
    let model = load::model().await?;
    let program = program.asking(&model)?;
    let load = (Way::Service, Load::new(Kind::Short, 1, RECALLS));
    let mut costs = Vec::new();
    for batch in ["without", "with"] {
        if batch == "with" {
            let topics = ["bread", "ports", "trains", "roses", "invoices"];
            let note = |at: u32| {
                let topic = topics[(at % 5) as usize];
                format!("- Note {at}: what was said about {topic} in room {at}.\n")
            };
            let notes: String = (0..NOTES).map(note).collect();
            let folder = program.data().join("memory");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join("2025-01-01.md"), notes)?;
        }
        let serving = program.serve().await?;
        make_sessions(&serving.way_in, RECALLS, batch).await?;
        speak(&serving.way_in, load.0, load.1, batch).await?;
        idle(&serving).await?;
        let batch = format!("{batch}-again");
        make_sessions(&serving.way_in, RECALLS, &batch).await?;
        costs.push(load::cost(&serving.way_in, serving.process()?, load, &batch).await?);
        serving.stop().await?;
    }
    let added = |figure: fn(&Cost) -> f64| figure(&costs[1]) - figure(&costs[0]);
    let cpu = added(|cost| cost.cpu / 1000.0);
    Sample::each([cpu, added(|cost| cost.first)])
}

/// Waits until a server works on nothing.
async fn idle(serving: &Serving) -> Result<()> {
    let began = Instant::now();
    loop {
        let cpu = CpuUse::by(serving.process()?)?;
        sleep(Duration::from_secs(2)).await;
        if cpu.microseconds_each(1)? < 50_000.0 {
            return Ok(());
        }
        ensure!(
            began.elapsed() < PATIENCE,
            "the server does not come to rest"
        );
    }
}
