//! What a turn reminds its model of before it ends (AS-10), and what its calls make of its end
//! (AS-6).

use std::collections::BTreeSet;

use samovar_core::audit::PUT_ASIDE;
use samovar_core::message::Reminder;
use samovar_core::provider::is_cut;
use samovar_core::{Effect, FinishReason, Limits, Message, Outcome, Reminders, Status, ToolCall};
use serde_json::json;

use super::Open;
use crate::delegation;
use crate::gate;

/// How often in a row a model may make the same failing calls.
const MAX_EQUAL: u32 = 3;
/// The most characters of a failure that a reminder repeats.
const MAX_REASON_CHARS: usize = 2_000;

/// What the end of a turn depends on besides its last answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reminded {
    /// The last calls of the model.
    round: Round,
    /// How those before them failed, all of them.
    before: BTreeSet<String>,
    /// How often in a row they did.
    equal: u32,
    /// Whether a call of the turn, or of those that it called, succeeded and does more than read.
    has_acted: bool,
    reminders: Vec<Reminder>,
}

/// The calls of one answer, as far as they are closed.
#[derive(Clone, Debug, Default, PartialEq)]
struct Round {
    /// The last call that other arguments can mend: its tool, and why it failed.
    correctable: Option<(String, String)>,
    /// Whether the last of them failed and does more than read.
    has_failed: bool,
    /// Whether one of them succeeded.
    has_succeeded: bool,
    /// Each call that failed or was denied, with its failure, as a hash.
    failures: BTreeSet<String>,
}

impl Reminded {
    /// The model answered, with calls or without.
    pub(super) fn answered(&mut self, is_last: bool) {
        if is_last {
            return;
        }
        let round = std::mem::take(&mut self.round);
        if round.has_succeeded {
            self.forget();
        } else if round.failures == self.before {
            self.equal += 1;
        } else {
            (self.before, self.equal) = (round.failures, 1);
        }
    }

    /// A call is closed, the last of its answer or another one.
    pub(super) fn closed(&mut self, open: &Open, outcome: &Outcome, is_last: bool) {
        let Open { call, intent, .. } = open;
        let effect = intent.as_ref().map(|intent| intent.effect);
        let reads = effect.or(outcome.effect).unwrap_or(Effect::Read) == Effect::Read;
        // A called agent has done what its own calls did, however it ended.
        self.has_acted |= if call.name == delegation::DELEGATE {
            delegation::has_acted(outcome)
        } else {
            !reads && (outcome.status == Status::Done || has_changed_files(outcome))
        };
        let round = &mut self.round;
        match outcome.status {
            Status::Done => round.has_succeeded = true,
            Status::Failed | Status::Denied => drop(round.failures.insert(failure(call, outcome))),
            // What was not begun, or may have happened, can be another time.
            Status::Cancelled | Status::Unknown => {}
        }
        round.has_failed |= is_last && outcome.status == Status::Failed && !reads;
        if outcome.correctable {
            let why = outcome.text.chars().take(MAX_REASON_CHARS).collect();
            round.correctable = Some((call.name.clone(), why));
        }
    }

    /// A message joined the turn; whether it reminds the model.
    pub(super) fn heard(&mut self, message: &Message) -> bool {
        let reminder = message.reminder();
        self.reminders.extend(reminder);
        if message.is_input() {
            self.round = Round::default();
            self.forget();
        }
        reminder.is_some()
    }

    fn forget(&mut self) {
        (self.before, self.equal) = (BTreeSet::new(), 0);
    }

    #[cfg(test)]
    pub(super) fn has(&self, reminder: Reminder) -> bool {
        self.reminders.contains(&reminder)
    }

    /// Whether a call of the turn, or of those that it called, succeeded and does more than read.
    pub(super) fn has_acted(&self) -> bool {
        self.has_acted
    }

    /// Whether the model made the same failing calls, and nothing else, three times in a row.
    pub(super) fn is_third(&self) -> bool {
        let Round {
            has_succeeded,
            failures,
            ..
        } = &self.round;
        !has_succeeded
            && !failures.is_empty()
            && *failures == self.before
            && self.equal + 1 >= MAX_EQUAL
    }

    /// What to remind the model of after an answer that calls nothing, if its iteration may be
    /// followed by another.
    pub(super) fn next(&self, reason: &str, limits: &Limits) -> Option<Reminder> {
        let Reminders {
            failed_call,
            cut_answer,
        } = limits.reminders;
        let asks_for_rest = cut_answer && limits.budget.tokens.is_none() && is_cut(reason);
        let gave_up = self.round.correctable.is_some() && !self.round.has_succeeded;
        let rows = [
            (Reminder::CutAnswer, asks_for_rest),
            (Reminder::FailedCall, failed_call && gave_up),
        ];
        let is_new = |reminder: &Reminder| !self.reminders.contains(reminder);
        let mut due = rows.into_iter().filter(|(_, is_due)| *is_due);
        due.find_map(|(reminder, _)| Some(reminder).filter(is_new))
    }

    /// Why the turn is over after that answer.
    pub(super) fn end(&self, reason: &str, limits: &Limits) -> FinishReason {
        if self.round.has_failed && !self.has_acted && limits.reminders.failed_call {
            return FinishReason::FailedCall;
        }
        FinishReason::Model(reason.to_owned())
    }

    /// The server's words for the model. Weak models call again when they are told to, and nothing
    /// else, by the tool's name.
    pub(super) fn words(&self, reminder: Reminder) -> String {
        match (reminder, &self.round.correctable) {
            (Reminder::FailedCall, Some((tool, why))) => {
                format!("The call failed: {why}\nCorrect that, and call {tool} again.")
            }
            (Reminder::CutAnswer | Reminder::FailedCall, _) => {
                "Your answer was cut off at the token limit. Continue exactly where it stopped, and \
                 repeat nothing."
                    .to_owned()
            }
        }
    }
}

/// Whether a command changed files, or may have, before it was ended.
fn has_changed_files(outcome: &Outcome) -> bool {
    let Some(data) = &outcome.data else {
        return false;
    };
    let lists = |name: &str| data[name].as_array().is_some_and(|list| !list.is_empty());
    let is_unrecorded =
        data.get("exitCode").is_some() && data.get("changed").is_none() && data["readOnly"] != true;
    lists("changed") || lists(PUT_ASIDE) || is_unrecorded
}

/// What makes two failing calls equal: tool, arguments and words.
fn failure(call: &ToolCall, outcome: &Outcome) -> String {
    gate::args_hash(&json!([call.name, call.args, outcome.text]))
}
