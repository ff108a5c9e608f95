//! How a server comes back after a kill with a thousand turns in flight.

use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::{Instant, sleep};

use crate::children;
use crate::client::{Client, Events, ServerAccess, share_out};
use crate::model::Model;
use crate::program::{Program, Serving};
use crate::sample::{Sample, milliseconds};

const TURNS: u32 = 1000;
const DELTAS: usize = 200;

/// How many clients start turns at the same time.
const CLIENTS: u32 = 16;

/// How many servers are killed, each with a data directory of its own.
const KILLS: usize = 3;

/// Time limit until all turns continue.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often the server is asked how many turns continue.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// From the start after the kill to the first `/readyz`; the CPU time of the new process until then;
/// and from that start until all turns continue. In milliseconds.
pub(crate) async fn measure(program: &Program<'_>) -> Result<Vec<Sample>> {
    let mut columns = [const { Vec::new() }; 3];
    for _ in 0..KILLS {
        let kill = kill(program).await?;
        for (column, value) in columns.iter_mut().zip(kill) {
            column.push(milliseconds(value));
        }
    }
    columns.map(Sample::of).into_iter().collect()
}

async fn kill(program: &Program<'_>) -> Result<[Duration; 3]> {
    let model = Model::start(async |talk| {
        talk.say("word ", DELTAS).await?;
        talk.left().await;
        Ok(())
    });
    let model = model.await?;
    let program = program.asking(&model)?;
    let killed = program.serve().await?;
    let readers = start_turns(&killed.way_in).await?;
    ensure!(model.asked() == TURNS, "{} prompts", model.asked());
    killed.kill().await?;
    drop(readers);

    let again = program.serve().await?;
    let spent = children::cpu_of_process(again.process()?)?;
    let (ready_after, all_continue) = (again.ready_after, until_all_continue(&again).await?);
    again.kill().await?;
    Ok([ready_after, spent, all_continue])
}

/// The streams of unfinished turns of which all deltas were read, and are therefore stored.
async fn start_turns(way_in: &ServerAccess) -> Result<Vec<Events>> {
    let turns = share_out(way_in, CLIENTS, TURNS, |mut client, numbers| {
        let way_in = way_in.clone();
        async move {
            let mut turns = Vec::new();
            for number in numbers {
                let session = number.to_string();
                client.make_session(&session).await?;
                let turn = Client::connect(&way_in).await?;
                let mut turn = turn.send(&session, "go").await?;
                turn.deltas(DELTAS).await?;
                turns.push(turn);
            }
            Ok(turns)
        }
    });
    Ok(turns.await?.into_iter().flatten().collect())
}

async fn until_all_continue(again: &Serving) -> Result<Duration> {
    let mut client = Client::connect(&again.way_in).await?;
    let ready = Instant::now();
    loop {
        let continued = client.number("/api/recovery", "/continued").await?;
        let waited = ready.elapsed();
        if continued == TURNS {
            return Ok(again.ready_after + waited);
        }
        ensure!(
            waited < PATIENCE,
            "only {continued} of {TURNS} turns continue"
        );
        sleep(LOOK_EVERY).await;
    }
}
