//! What readers cost that take nothing of a long turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::chat::{self, Chat};
use crate::children;
use crate::model::Model;
use crate::now;
use crate::program::Program;
use crate::sample::Sample;

const READERS: u32 = 50;

/// With and without them.
const PAIRS: usize = 3;

/// The turn is longer than all buffers on the way to a reader hold.
const DELTAS: usize = 8 * 1024;
const DELTA_BYTES: usize = 1024;

/// How often is looked whether anything moves still.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long it may move; well before a stalled reader is cut off.
const PATIENCE: Duration = Duration::from_secs(15);

/// What a server holds.
struct Held {
    own_kib: u32,
    /// What the system holds for its clients.
    untaken_kib: u32,
}

/// What one of them costs, with what the system holds for it, in KiB; and the latter alone.
pub(crate) fn measure(program: &Program) -> Result<Vec<Sample>, String> {
    let (mut all, mut untaken) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let (without, with) = (hold(program, 0)?, hold(program, READERS)?);
        let own = f64::from(with.own_kib) - f64::from(without.own_kib);
        let of_system = f64::from(with.untaken_kib);
        all.push((own + of_system) / f64::from(READERS));
        untaken.push(of_system / f64::from(READERS));
    }
    Ok(vec![Sample::of(all)?, Sample::of(untaken)?])
}

/// What a server holds that has told a long turn which is not over, to one reader who takes it all
/// and to so many who take nothing.
fn hold(program: &Program, readers: u32) -> Result<Held, String> {
    let gate = Arc::new(AtomicBool::new(false));
    let is_open = Arc::clone(&gate);
    let model = Model::start(move |mut talk| {
        talk.say("first", 1)?;
        while !is_open.load(Ordering::Relaxed) {
            if talk.is_left_within(Duration::from_millis(1)) {
                return Ok(());
            }
        }
        talk.say(&"x".repeat(DELTA_BYTES), DELTAS)?;
        talk.say("last", 1)?;
        talk.wait_until_left();
        Ok(())
    })?;
    let program = program.asking(&model)?;
    let serving = program.serve()?;
    let way_in = &serving.way_in;
    Chat::open(way_in)?.make_session("s")?;
    let mut turn = chat::say(way_in, "s", "go")?;
    turn.until_nth("first", 1)?;
    let stalled = (0..readers).map(|_| chat::stall(way_in, "s"));
    let stalled = stalled.collect::<Result<Vec<_>, String>>()?;
    gate.store(true, Ordering::Relaxed);
    turn.until_nth("last", 1)?;
    let untaken = settle(way_in.address.port(), readers)?;
    let own_kib = children::anonymous_kib(serving.running.id())?;
    drop(stalled);
    Ok(Held {
        own_kib,
        untaken_kib: untaken / 1024,
    })
}

/// Waits until nothing moves any more and so many clients have not taken all; answers with the bytes
/// that they have not.
fn settle(port: u16, readers: u32) -> Result<u32, String> {
    let (began, mut last) = (now(), Vec::new());
    while began.elapsed() < PATIENCE {
        thread::sleep(LOOK_EVERY);
        let mut untaken = children::untaken(port)?;
        untaken.retain(|bytes| *bytes > 0);
        if untaken == last && untaken.len() == readers as usize {
            return Ok(untaken.iter().sum());
        }
        last = untaken;
    }
    Err(format!("of {readers} readers {} have stalled", last.len()))
}
