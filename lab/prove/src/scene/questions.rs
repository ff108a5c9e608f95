//! Turns that ask a person, and turns that speak in the chat. Every text names its attempt and its
//! place, so that it is like no other.

use serde_json::json;

use super::{Call, NOTE, PAY, READ_ME};
use crate::dice::Dice;

/// The tool that asks.
pub(crate) const ASK: &str = "ask_user";
/// The tool that speaks.
pub(crate) const POST: &str = "post_message";

/// With what begins what also wakes the chat's own agent.
const LOUD: &str = "loud news of ";

/// Whether what an agent says in the chat wakes the chat's own one.
pub(crate) fn is_signal(text: &str) -> bool {
    text.starts_with(LOUD)
}

/// What stands beside a question, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One question, alone.
    Alone,
    /// Two, of which the second waits for the first.
    Twice,
    /// One between effects, and something that is said.
    Between,
    /// Two with an effect before, between and behind them.
    Around,
    /// None: two things are said, the second to the chat's own agent, too.
    Said,
}

impl Shape {
    pub(super) fn choose(dice: &mut Dice) -> Self {
        match dice.within(0..=99) {
            0..=24 => Self::Alone,
            25..=44 => Self::Twice,
            45..=69 => Self::Between,
            70..=89 => Self::Around,
            _ => Self::Said,
        }
    }

    pub(super) fn calls(self, message: &str, attempt: u32) -> Vec<Call> {
        let of = json!({"message": message, "attempt": attempt});
        let place = |place: u32| format!("{message} in attempt {attempt}, place {place}");
        let ask = |at| {
            (
                ASK,
                json!({"question": format!("what about {}?", place(at))}),
            )
        };
        let post = |at| (POST, json!({"text": format!("news of {}", place(at))}));
        let (note, pay) = ((NOTE, of.clone()), (PAY, of));
        let loud = |at| format!("{LOUD}{}", place(at));
        let signal = |at| (POST, json!({"text": loud(at), "signal": true}));
        let read = ("read_file", json!({"path": READ_ME}));
        match self {
            Self::Alone => vec![ask(1)],
            Self::Twice => vec![ask(1), ask(2)],
            Self::Between => vec![note, ask(2), pay, post(4)],
            Self::Around => vec![pay, ask(2), read, ask(4), note, post(6)],
            Self::Said => vec![post(1), signal(2)],
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_text_is_like_another_and_no_batch_pays_twice() {
        let mut texts = BTreeSet::new();
        let mut count = 0;
        let shapes = [
            Shape::Alone,
            Shape::Twice,
            Shape::Between,
            Shape::Around,
            Shape::Said,
        ];
        for (number, shape) in shapes.into_iter().enumerate() {
            let calls = shape.calls(&format!("m{number}"), 1);
            assert!(calls.iter().filter(|(name, _)| *name == PAY).count() <= 1);
            for (name, args) in calls {
                if [ASK, POST].contains(&name) {
                    count += 1;
                    texts.insert(args.to_string());
                }
            }
        }
        assert_eq!((texts.len(), count), (10, 10));
    }
}
