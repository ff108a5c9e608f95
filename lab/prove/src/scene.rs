//! What a message makes the model do, as rules for the model server.

mod questions;
mod trees;

use std::time::Duration;

use samovar_model_server::{Ending, Failure, Reply, Request, Rule, When, fail, reset, say};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::observed::{Delivery, ObservedPrompt, Scene};
use crate::words;

pub(crate) use questions::{ASK, POST, is_signal};
pub(crate) use trees::{DELEGATE, SPAWN, definitions};

/// The idempotent webhook.
pub(crate) const NOTE: &str = "note";
/// The unsafe webhook.
pub(crate) const PAY: &str = "pay";
/// The unsafe webhook that a person is asked about.
pub(crate) const GRANT: &str = "grant";
/// The tool that runs commands.
pub(crate) const EXEC: &str = "exec";
/// A file that is there to be read.
pub(crate) const READ_ME: &str = "read-me.txt";
/// What stands in it.
pub(crate) const READ_ME_SAYS: &str = "a line to read";
/// What a file that is to be edited holds before.
pub(crate) const UNEDITED: &str = "the end\n";

/// Attempts of a step whose answers can be told apart; later ones say the same as the last.
const ATTEMPTS: u32 = 8;

/// Words of a long answer, each a delta: with what an event weighs, more than 256 KiB.
const LONG: u32 = 1_600;

/// With what every message of a client begins.
const GO_ON: &str = "go on [";

/// What a client says, by which the model knows whose turn it is.
pub(crate) fn content(message: &str) -> String {
    format!("{GO_ON}{message}]")
}

/// What the model says to what no client has said.
pub(crate) const HEARD: &str = "heard.1.1.000 heard.1.1.end ";

/// What the model says as the chat's own agent, which hears no client, to the result of an agent in
/// the background, and to the word that a call has failed.
pub(crate) fn to_the_chat() -> Rule {
    let is_client = When::LastUserContains(GO_ON.to_owned());
    let answer = say(HEARD).deltas_of(8);
    let answer = answer.pace(Duration::from_millis(3));
    answer.when(When::Not(Box::new(is_client))).forever()
}

/// The message that a text is, or names as its own.
pub(crate) fn named(content: &str) -> Option<&str> {
    let (_, tail) = content.rsplit_once('[')?;
    Some(tail.trim_end_matches(']'))
}

/// The files that a message's turn and those below it may edit, which have to be there before.
pub(crate) fn edited_files(message: &str, scene: Scene) -> Vec<String> {
    match scene {
        Scene::Tools => vec![edited_file(message)],
        Scene::Tree | Scene::Background => {
            let places = trees::Shape::editing(message);
            places.iter().map(|place| edited_file(place)).collect()
        }
        Scene::Text | Scene::Questions | Scene::Fault | Scene::Long | Scene::Refused => Vec::new(),
    }
}

fn edited_file(message: &str) -> String {
    format!("edit-{message}.txt")
}

/// One of the scenes. What may join another's turn does not bring that to its end.
pub(crate) fn choose(dice: &mut Dice, delivery: Delivery) -> Scene {
    match dice.within(0..=99) {
        0..=17 => Scene::Text,
        18..=37 => Scene::Tools,
        38..=58 => Scene::Questions,
        59..=65 => Scene::Fault,
        66..=73 => Scene::Long,
        74..=95 => Scene::Tree,
        _ if delivery == Delivery::Steer => Scene::Text,
        _ => Scene::Refused,
    }
}

/// One of the scenes of a session in which agents work in the background.
pub(crate) fn choose_beside(dice: &mut Dice) -> Scene {
    match dice.within(0..=9) {
        0..=5 => Scene::Background,
        6 | 7 => Scene::Tree,
        _ => Scene::Text,
    }
}

/// What the model answers in the turn of a message.
pub(crate) fn rules(
    message: &str,
    scene: Scene,
    runs_commands: bool,
    dice: &mut Dice,
) -> Vec<Rule> {
    let mut rules = Vec::new();
    let batch = Batch::of(scene, runs_commands, dice);
    match scene {
        Scene::Text | Scene::Tools | Scene::Questions | Scene::Tree | Scene::Background => {}
        Scene::Fault => rules.push(fault(message, dice).when(own_step(message, 0)).times(1)),
        Scene::Long => rules.push(long(message).when(own_step(message, 0)).times(1)),
        Scene::Refused => {
            let refusal = fail(Failure::new(400, "the model does not like this"));
            return vec![refusal.when(own(message)).forever()];
        }
    }
    rules.extend(turn(message, |attempt| batch.calls(message, attempt), dice));
    if let Batch::Agents(shape) = batch {
        rules.extend(shape.rules(message, dice));
    }
    rules
}

/// What the model says in one turn: an answer with these calls, and one behind their results.
fn turn(message: &str, calls: impl Fn(u32) -> Vec<Call>, dice: &mut Dice) -> Vec<Rule> {
    let mut rules = Vec::new();
    for attempt in 1..=ATTEMPTS {
        let mut reply = spoken(message, 1, attempt, dice);
        for (name, args) in calls(attempt) {
            reply = reply.and_call(name, args);
        }
        rules.push(once(reply.when(own_step(message, 0)), attempt));
    }
    let results = calls(1).len();
    if results > 0 {
        // A prompt that lacks a result gets no answer.
        for attempt in 1..=ATTEMPTS {
            let reply = spoken(message, 2, attempt, dice);
            rules.push(once(reply.when(own_step(message, results)), attempt));
        }
    }
    rules
}

/// What a model calls at once.
#[derive(Clone, Copy)]
enum Batch {
    Nothing,
    AllClasses {
        /// With a command.
        runs: bool,
    },
    Questions(questions::Shape),
    Agents(trees::Shape),
}

impl Batch {
    fn of(scene: Scene, runs: bool, dice: &mut Dice) -> Self {
        match scene {
            Scene::Tools => Self::AllClasses { runs },
            Scene::Questions => Self::Questions(questions::Shape::choose(dice)),
            Scene::Tree => Self::Agents(trees::Shape::tree(dice)),
            Scene::Background => Self::Agents(trees::Shape::background(dice)),
            Scene::Text | Scene::Fault | Scene::Long | Scene::Refused => Self::Nothing,
        }
    }

    fn calls(self, message: &str, attempt: u32) -> Vec<Call> {
        match self {
            Self::Nothing => Vec::new(),
            Self::AllClasses { runs } => {
                let mut calls = all_classes(message, attempt);
                if runs {
                    let at = calls.len() - 1;
                    calls.insert(at, (EXEC, json!({"command": command(message, attempt)})));
                }
                calls
            }
            Self::Questions(shape) => shape.calls(message, attempt),
            Self::Agents(shape) => shape.calls(message, attempt),
        }
    }
}

/// With what a fact of the folder begins, and one for every folder.
const FACT: &str = "fact/";
const OWN: &str = "own/";

/// What the model answers to who has something remembered: it remembers a fact, and proposes another.
pub(crate) fn remembering(message: &str, dice: &mut Dice) -> Vec<Rule> {
    let calls = |attempt| {
        let fact = |kind| format!("{kind}{message}/{attempt}");
        vec![
            ("remember", json!({ "text": fact(FACT) })),
            ("remember", json!({ "text": fact(OWN), "about": "person" })),
        ]
    };
    turn(message, calls, dice)
}

/// The messages whose facts a text has, and whether each is one for every folder.
pub(crate) fn remembered(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.split_whitespace().filter_map(|word| {
        let own = word.strip_prefix(OWN);
        let fact = own.or_else(|| word.strip_prefix(FACT))?;
        let (message, _) = fact.rsplit_once('/')?;
        Some((message, own.is_some()))
    })
}

/// What a prompt to the model was about.
pub(crate) fn asked(request: &Request) -> Option<ObservedPrompt> {
    Some(ObservedPrompt {
        message: named(request.last_user())?.to_owned(),
        results: request.results_since_user(),
        number: request.prompt()?,
        told: told(request.body()),
    })
}

/// The messages whose memories are in the system prompt of a request.
fn told(body: &Value) -> Vec<String> {
    let first = &body["messages"][0];
    let is_system = first["role"] == "system";
    let system = if is_system {
        &first["content"]
    } else {
        &body["system"]
    };
    let text = system.as_str().unwrap_or_default();
    remembered(text)
        .map(|(message, _)| message.to_owned())
        .collect()
}

/// So many results have come since a message was said.
fn own_step(message: &str, results: usize) -> When {
    own(message).and(When::ToolResultsSinceUser(results))
}

fn own(message: &str) -> When {
    When::LastUserEndsWith(format!("[{message}]"))
}

fn once(rule: Rule, attempt: u32) -> Rule {
    if attempt == ATTEMPTS {
        rule.forever()
    } else {
        rule.times(1)
    }
}

fn spoken(message: &str, step: u32, attempt: u32, dice: &mut Dice) -> Reply {
    let count = u32::try_from(dice.within(8..=24)).unwrap_or(8);
    let text = words::answer(message, step, attempt, count);
    let word = text.find(' ').map_or(1, |space| space + 1);
    // Whole words, halves of words, or several at once.
    let chars = *dice
        .one_of(&[word, word / 2 + 1, word * 3])
        .unwrap_or(&word);
    say(text).deltas_of(chars).pace(dice.millis(1..=4))
}

/// A tool, and what it is given.
type Call = (&'static str, Value);

/// Whether a person is asked about a call of this message's turn.
pub(crate) fn needs_approval(message: &str) -> bool {
    message
        .bytes()
        .map(u32::from)
        .sum::<u32>()
        .is_multiple_of(2)
}

/// All four classes at once, of some turns with a call that a person is asked about. What is written names the attempt, so that the effects of one that was
/// void would be seen.
fn all_classes(message: &str, attempt: u32) -> Vec<Call> {
    let of = json!({"message": message, "attempt": attempt});
    let mut calls = vec![
        ("read_file", json!({"path": READ_ME})),
        (
            "write_file",
            json!({
                "path": format!("write-{message}.txt"),
                "content": format!("{message} wrote in attempt {attempt}\n"),
            }),
        ),
        (
            "edit_file",
            json!({
                "path": edited_file(message),
                "old": UNEDITED,
                "new": format!("{message} edited in attempt {attempt}, before {UNEDITED}"),
            }),
        ),
        (NOTE, of.clone()),
        (PAY, of.clone()),
        ("list_dir", json!({"path": "."})),
    ];
    if needs_approval(message) {
        calls.insert(3, (GRANT, of));
    }
    calls
}

/// A command that says in a file of the workspace that it ran, and takes its time.
fn command(message: &str, attempt: u32) -> String {
    let file = ran_file(message);
    format!(
        "sleep 0.02; echo '{message} ran in attempt {attempt}' >> {file}; sleep 0.02; echo told"
    )
}

/// The file with the line of a message's command.
pub(crate) fn ran_file(message: &str) -> String {
    format!("ran-{message}.txt")
}

/// What a provider does to its clients.
fn fault(message: &str, dice: &mut Dice) -> Reply {
    let text = words::answer(message, 1, 0, 12);
    let answer = || say(text.clone()).pace(Duration::from_millis(2));
    let deltas = usize::try_from(dice.within(1..=9)).unwrap_or(1);
    match dice.within(0..=6) {
        0 => answer().cut_after(deltas, Ending::Body),
        1 => answer().cut_after(deltas, Ending::Close),
        2 => answer().cut_after(deltas, Ending::Reset),
        3 => fail(Failure::new(500, "the model fell over")),
        4 => fail(Failure::rate_limited(Duration::ZERO)),
        5 => reset(),
        _ => answer().delay(Duration::from_millis(200)),
    }
}

/// More than a log holds in memory of what its journal lacks, and then the end of the connection.
fn long(message: &str) -> Reply {
    let text = words::answer(message, 1, 0, LONG);
    let word = text.find(' ').map_or(1, |space| space + 1);
    let before = usize::try_from(LONG - 1).unwrap_or(usize::MAX);
    say(text).deltas_of(word).cut_after(before, Ending::Close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scene_of_tools_has_calls_of_all_four_classes() {
        let names = |message| {
            let calls = all_classes(message, 1).into_iter();
            calls.map(|(name, _)| name).collect::<Vec<_>>()
        };
        let (one, other) = ("s1-m1", "s1-m2");
        let asks = [one, other, "s1-m3"]
            .into_iter()
            .find(|of| needs_approval(of));
        for name in ["read_file", "write_file", "edit_file", NOTE, PAY, GRANT] {
            assert!(names(asks.unwrap()).contains(&name), "{name}");
        }
        assert!(![one, other].iter().all(|of| names(of).contains(&GRANT)));
    }
}
