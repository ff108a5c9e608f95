//! What a message makes the model do, as rules for the model server.

use std::time::Duration;

use samovar_model_server::{Ending, Failure, Reply, Rule, When, fail, reset, say};
use serde_json::{Value, json};

use crate::dice::Dice;
use crate::observed::{Asked, Scene};
use crate::words;

/// The idempotent webhook.
pub(crate) const NOTE: &str = "note";
/// The unsafe webhook.
pub(crate) const PAY: &str = "pay";
/// A file that is there to be read.
pub(crate) const READ_ME: &str = "read-me.txt";
/// What a file that is to be edited holds before.
pub(crate) const UNEDITED: &str = "the end\n";

/// Attempts of a step whose answers can be told apart; later ones say the same as the last.
const ATTEMPTS: u32 = 8;

/// What a client says, by which the model knows whose turn it is.
pub(crate) fn content(message: &str) -> String {
    format!("go on [{message}]")
}

/// The file that a message's turn edits, which has to be there before.
pub(crate) fn edited_file(message: &str) -> String {
    format!("edit-{message}.txt")
}

/// One of the scenes.
pub(crate) fn choose(dice: &mut Dice) -> Scene {
    match dice.within(0..=99) {
        0..=39 => Scene::Text,
        40..=79 => Scene::Tools,
        _ => Scene::Fault,
    }
}

/// What the model answers in the turn of a message.
pub(crate) fn rules(message: &str, scene: Scene, dice: &mut Dice) -> Vec<Rule> {
    let mut rules = Vec::new();
    let first = || own(message).and(When::ToolResultsSinceUser(0));
    if scene == Scene::Fault {
        rules.push(fault(message, dice).when(first()).times(1));
    }
    for attempt in 1..=ATTEMPTS {
        let mut reply = spoken(message, 1, attempt, dice);
        if scene == Scene::Tools {
            for (name, args) in calls(message, attempt) {
                reply = reply.and_call(name, args);
            }
        }
        rules.push(once(reply.when(first()), attempt));
    }
    if scene == Scene::Tools {
        for attempt in 1..=ATTEMPTS {
            let reply = spoken(message, 2, attempt, dice);
            rules.push(once(reply.when(own(message)), attempt));
        }
    }
    rules
}

/// What a request to the model was about.
pub(crate) fn asked(number: u64, body: &Value) -> Option<Asked> {
    let messages = body["messages"].as_array()?;
    let place = messages.iter().rposition(|one| one["role"] == "user")?;
    let content = &messages[place]["content"];
    let text = match content.as_array() {
        Some(parts) => parts.last()?["text"].as_str()?,
        None => content.as_str()?,
    };
    let (_, tail) = text.rsplit_once('[')?;
    let behind = messages[place..].iter();
    Some(Asked {
        message: tail.trim_end_matches(']').to_owned(),
        results: behind.filter(|one| one["role"] == "tool").count(),
        number,
    })
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

/// All four classes at once. What is written names the attempt, so that the effects of one that was
/// void would be seen.
fn calls(message: &str, attempt: u32) -> [(&'static str, Value); 6] {
    let of = json!({"message": message, "attempt": attempt});
    [
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
        (PAY, of),
        ("list_dir", json!({"path": "."})),
    ]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_tells_whose_turn_it_is_and_how_far_it_is() {
        let body = json!({"messages": [
            {"role": "user", "content": "go on [a]"},
            {"role": "assistant", "content": "x"},
            {"role": "user", "content": "go on [a]\n\ngo on [b]"},
            {"role": "assistant", "content": ""},
            {"role": "tool", "content": "y"},
            {"role": "tool", "content": "z"},
        ]});
        let asked = asked(4, &body).unwrap();
        assert_eq!((asked.message.as_str(), asked.results), ("b", 2));
        assert_eq!(asked.number, 4);
    }

    #[test]
    fn a_scene_of_tools_has_calls_of_all_four_classes() {
        let names: Vec<_> = calls("m", 1).iter().map(|(name, _)| *name).collect();
        for name in ["read_file", "write_file", "edit_file", NOTE, PAY] {
            assert!(names.contains(&name), "{name}");
        }
    }
}
