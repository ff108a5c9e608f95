//! What a turn reminds its model of before it ends (AS-10).

use samovar_core::message::Reminder;
use samovar_core::provider::is_cut;
use samovar_core::{Effect, FinishReason, Limits, Message, Reminders, Status};

use super::Open;

/// What the end of a turn depends on besides its last answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reminded {
    /// The tool of the last calls that closed its call as failed; the last one of several.
    failed: Option<String>,
    /// Whether a failed call may be made again without acting twice.
    may_repeat: bool,
    /// Whether one of them succeeded.
    has_succeeded: bool,
    reminders: Vec<Reminder>,
}

impl Reminded {
    /// The model answered, with calls or without.
    pub(super) fn answered(&mut self, is_last: bool) {
        if !is_last {
            (self.failed, self.has_succeeded) = (None, false);
        }
    }

    /// A tool closed its call.
    pub(super) fn closed(&mut self, open: &Open, status: Status) {
        if status == Status::Failed {
            let effect = open.intent.as_ref().map(|intent| intent.effect);
            self.failed = Some(open.call.name.clone());
            self.may_repeat = effect != Some(Effect::Unsafe);
        }
        self.has_succeeded |= status == Status::Done;
    }

    /// A message joined the turn; whether it reminds the model.
    pub(super) fn heard(&mut self, message: &Message) -> bool {
        let reminder = message.reminder();
        self.reminders.extend(reminder);
        if message.is_input() {
            (self.failed, self.has_succeeded) = (None, false);
        }
        reminder.is_some()
    }

    #[cfg(test)]
    pub(super) fn has(&self, reminder: Reminder) -> bool {
        self.reminders.contains(&reminder)
    }

    /// What to remind the model of after an answer that calls nothing, if its iteration may be
    /// followed by another.
    pub(super) fn next(&self, reason: &str, limits: &Limits) -> Option<Reminder> {
        let Reminders {
            failed_call,
            cut_answer,
        } = limits.reminders;
        let asks_for_rest = cut_answer && limits.budget.tokens.is_none() && is_cut(reason);
        let rows = [
            (Reminder::CutAnswer, asks_for_rest),
            (
                Reminder::FailedCall,
                failed_call && self.gave_up() && self.may_repeat,
            ),
        ];
        let is_new = |reminder: &Reminder| !self.reminders.contains(reminder);
        let mut due = rows.into_iter().filter(|(_, is_due)| *is_due);
        due.find_map(|(reminder, _)| Some(reminder).filter(is_new))
    }

    /// Why the turn is over after that answer.
    pub(super) fn end(&self, reason: &str, limits: &Limits) -> FinishReason {
        if self.gave_up() && limits.reminders.failed_call {
            return FinishReason::FailedCall;
        }
        FinishReason::Model(reason.to_owned())
    }

    /// The server's words for the model. Weak models call again when they are told to, and nothing
    /// else, by the tool's name.
    pub(super) fn words(&self, reminder: Reminder) -> String {
        match (reminder, &self.failed) {
            (Reminder::CutAnswer, _) => "Your answer was cut off at the token limit. Continue \
                 exactly where it stopped, and repeat nothing."
                .to_owned(),
            (Reminder::FailedCall, failed) => {
                let tool = failed.as_deref().unwrap_or("the tool");
                format!("The call failed. Call {tool} again with corrected arguments.")
            }
        }
    }

    /// Whether nothing but failed calls came before the answer.
    fn gave_up(&self) -> bool {
        self.failed.is_some() && !self.has_succeeded
    }
}
