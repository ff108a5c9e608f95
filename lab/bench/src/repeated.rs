//! What it costs, and what it begins, when a message is sent again and again.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::chat::{self, Chat, share_out};
use crate::children;
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

const SUBMITS: u32 = 100_000;

/// How many clients send it at once.
const CLIENTS: usize = 16;

/// How long the model thinks, so that the first to send it again join a turn that runs.
const THINKS: Duration = Duration::from_millis(200);

/// How many turns it began beside the first, and the CPU time of a submit in microseconds.
pub(crate) fn measure(program: &Program) -> Result<Vec<Sample>, String> {
    let model = Model::start(|mut talk| {
        talk.is_left_within(THINKS);
        talk.say("once", 1)?;
        talk.end()
    })?;
    let program = program.asking(&model)?;
    let serving = program.serve()?;
    let way_in = &serving.way_in;
    let mut chat = Chat::open(way_in)?;
    chat.make_session("s")?;
    let process = serving.running.id();
    let before = children::cpu_of_process(process)?;
    let turns = share_out(CLIENTS, SUBMITS as usize, |numbers| {
        let mut chat = Chat::open(way_in)?;
        let turns = numbers.map(|_| submit(&mut chat));
        turns.collect::<Result<BTreeSet<String>, String>>()
    })?;
    let spent = children::cpu_of_process(process)?.saturating_sub(before);
    let turns: BTreeSet<String> = turns.into_iter().flatten().collect();
    // A turn that nobody was told of would show in one of the others.
    let messages = chat.number_at("/services/agent/getStats", "messages")?;
    let told = u32::try_from(turns.len()).unwrap_or(u32::MAX);
    let begun = told.max(model.asked()).max(messages.div_ceil(2));
    serving.running.stop()?;
    let second = f64::from(begun) - 1.0;
    let each = spent.as_secs_f64() * 1_000_000.0 / f64::from(SUBMITS);
    Ok(vec![Sample::of(vec![second])?, Sample::of(vec![each])?])
}

/// Sends it, and answers with the turn that it is in.
fn submit(chat: &mut Chat) -> Result<String, String> {
    let params = r#"{"sessionId":"s","messageId":"m","content":"go"}"#;
    let told = chat.call("sendMessage", params)?;
    let turn = chat::text(&told, "turnId");
    turn.map(str::to_owned)
        .ok_or_else(|| format!("a result without its turn: {told}"))
}
