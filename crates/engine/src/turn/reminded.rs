//! What a turn reminds its model of before it ends (AS-10).

use samovar_core::message::Reminder;
use samovar_core::provider::is_cut;
use samovar_core::{FinishReason, Limits, Message, Reminders, Role, Status};

/// What the end of a turn depends on besides its last answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reminded {
    /// Whether one of the last calls that their tools closed failed.
    has_failed: bool,
    /// Whether one of them succeeded.
    has_succeeded: bool,
    reminders: Vec<Reminder>,
}

impl Reminded {
    /// The model answered, with calls or without.
    pub(super) fn answered(&mut self, is_last: bool) {
        if !is_last {
            (self.has_failed, self.has_succeeded) = (false, false);
        }
    }

    /// A tool closed its call.
    pub(super) fn closed(&mut self, status: Status) {
        self.has_failed |= status == Status::Failed;
        self.has_succeeded |= status == Status::Done;
    }

    /// A message joined the turn; whether it reminds the model.
    pub(super) fn heard(&mut self, message: &Message) -> bool {
        let reminder = message.reminder();
        self.reminders.extend(reminder);
        if message.role == Role::User {
            (self.has_failed, self.has_succeeded) = (false, false);
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
        let asks_for_rest = cut_answer && limits.budget_tokens.is_none() && is_cut(reason);
        let rows = [
            (Reminder::CutAnswer, asks_for_rest),
            (Reminder::FailedCall, failed_call && self.gave_up()),
        ];
        let is_new = |reminder: &Reminder| !self.reminders.contains(reminder);
        let mut due = rows.into_iter().filter(|(_, is_due)| *is_due);
        due.find_map(|(reminder, _)| Some(reminder).filter(is_new))
    }

    /// Why the turn is over after that answer.
    pub(super) fn end(&self, reason: &str) -> FinishReason {
        if self.gave_up() && self.reminders.contains(&Reminder::FailedCall) {
            return FinishReason::FailedCall;
        }
        FinishReason::Model(reason.to_owned())
    }

    /// Whether nothing but failed calls came before the answer.
    fn gave_up(&self) -> bool {
        self.has_failed && !self.has_succeeded
    }
}
