//! What a kill costs: the way back of a server with a thousand turns in flight.

use std::thread;
use std::time::Duration;

use crate::chat::{self, Chat, share_out};
use crate::children;
use crate::events::Events;
use crate::model::Model;
use crate::now;
use crate::program::{Program, Serving, WayIn};
use crate::running::LOOK_EVERY;
use crate::sample::Sample;

const TURNS: u32 = 1000;
const DELTAS: usize = 200;

/// How many clients begin turns at once.
const CLIENTS: usize = 16;

/// How often a server is killed, each time one on a data directory of its own.
const KILLS: usize = 3;

/// How long it may take until all turns go on.
const PATIENCE: Duration = Duration::from_mins(1);

/// From the start after the kill to the first `/readyz`; the CPU time of the new process until then;
/// and from that start until all turns go on. In milliseconds.
pub(crate) fn measure(program: &Program) -> Result<Vec<Sample>, String> {
    let kills = (0..KILLS).map(|_| kill(program));
    let kills = kills.collect::<Result<Vec<_>, String>>()?;
    let column = |column: usize| {
        let values = kills.iter().map(|kill| kill[column].as_secs_f64() * 1000.0);
        Sample::of(values.collect())
    };
    (0..3).map(column).collect()
}

fn kill(program: &Program) -> Result<[Duration; 3], String> {
    let model = Model::start(|mut talk| {
        talk.say("word ", DELTAS)?;
        talk.wait_until_left();
        Ok(())
    })?;
    let program = program.asking(&model)?;
    let killed = program.serve()?;
    let readers = begin_turns(&killed.way_in)?;
    if model.asked() != TURNS {
        return Err(format!("the model was asked {} times", model.asked()));
    }
    drop(killed.running);
    drop(readers);

    let again = program.serve()?;
    let spent = children::cpu_of_process(again.running.id())?;
    let all_go_on = until_all_go_on(&again)?;
    Ok([again.ready_after, spent, all_go_on])
}

/// The streams of turns of which all deltas were seen, and so are kept, and no end is near.
fn begin_turns(way_in: &WayIn) -> Result<Vec<Events>, String> {
    let turns = share_out(CLIENTS, TURNS as usize, |numbers| {
        let mut chat = Chat::open(way_in)?;
        let begin = |number: usize| {
            let session = format!("s-{number}");
            chat.make_session(&session)?;
            let mut turn = chat::say(way_in, &session, "go")?;
            turn.until_nth("text_delta", DELTAS)?;
            Ok(turn)
        };
        numbers.map(begin).collect::<Result<Vec<_>, String>>()
    })?;
    Ok(turns.into_iter().flatten().collect())
}

fn until_all_go_on(again: &Serving) -> Result<Duration, String> {
    let mut chat = Chat::open(&again.way_in)?;
    let ready = now();
    loop {
        let continued = chat.number_at("/api/recovery", "continued")?;
        let waited = ready.elapsed();
        if continued == TURNS {
            return Ok(again.ready_after + waited);
        }
        if waited > PATIENCE {
            return Err(format!("only {continued} of {TURNS} turns go on"));
        }
        thread::sleep(LOOK_EVERY);
    }
}
