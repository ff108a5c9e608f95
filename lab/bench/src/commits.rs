//! How often a turn has its journal synced, as the journal counts it.

use crate::chat::{self, Chat};
use crate::model::Model;
use crate::program::Program;
use crate::sample::Sample;

const TURNS: u32 = 20;

/// A tool that a model calls, and its arguments.
type Call = (&'static str, &'static str);

const READS: Call = ("list_dir", r#"{"path":"."}"#);
const WRITES: Call = ("write_file", r#"{"path":"note","content":"so"}"#);

/// Commits of a turn that says something; of one that calls a tool which only reads before; of one
/// that calls a tool which writes before.
pub(crate) fn measure(program: &Program) -> Result<Vec<Sample>, String> {
    let turns = [None, Some(READS), Some(WRITES)];
    turns
        .map(|call| commits(program, call))
        .into_iter()
        .collect()
}

fn commits(program: &Program, call: Option<Call>) -> Result<Sample, String> {
    let model = Model::start(move |mut talk| match call {
        Some((tool, arguments)) if !talk.asked.contains(r#""role":"tool""#) => {
            talk.call(tool, arguments)
        }
        Some(_) | None => {
            talk.say("well ", 20)?;
            talk.end()
        }
    })?;
    let program = program.asking(&model)?;
    let serving = program.serve()?;
    let mut chat = Chat::open(&serving.way_in)?;
    let sessions: Vec<String> = (0..TURNS).map(|number| format!("s-{number}")).collect();
    for session in &sessions {
        chat.make_session(session)?;
    }
    let counts = sessions.iter().map(|session| {
        let before = count(&mut chat)?;
        let told = chat.call("sendMessage", &chat::message(session, "go"))?;
        if chat::text(&told, "text") != Some("well ".repeat(20).as_str()) {
            return Err(format!("the turn went another way: {told}"));
        }
        Ok(f64::from(count(&mut chat)? - before))
    });
    let counts = counts.collect::<Result<Vec<f64>, String>>()?;
    let asked = if call.is_some() { 2 * TURNS } else { TURNS };
    if model.asked() != asked {
        return Err(format!(
            "the model was asked {} times, not {asked}",
            model.asked()
        ));
    }
    serving.running.stop()?;
    Sample::of(counts)
}

fn count(chat: &mut Chat) -> Result<u32, String> {
    chat.number_at("/api/server", "journalCommits")
}
