//! The notes of what was seen of the global chat.

use super::Stage;
use crate::observed::{
    AnswerRoute, AnswerStatus, ChatConnection, ChatMessage, Decided, Open, Reply,
};

impl Stage {
    /// Notes which boot an answer of the chat has named.
    pub(crate) fn boots(&self, life: u64, boot: &str) {
        let mut notes = self.notes();
        let boots = &mut notes.observed.chat.boots;
        let is_known = boots.iter().any(|(of, known)| *of == life && known == boot);
        if !is_known {
            boots.push((life, boot.to_owned()));
        }
    }

    /// Notes that a connection to the chat begins behind an id, and gives its place.
    pub(crate) fn listens(&self, life: u64, after: u64) -> usize {
        let mut notes = self.notes();
        let heard = &mut notes.observed.chat.heard;
        heard.push(ChatConnection {
            life,
            after,
            messages: Vec::new(),
        });
        heard.len() - 1
    }

    /// Notes what such a connection has shown.
    pub(crate) fn hears(&self, place: usize, message: ChatMessage) {
        let mut notes = self.notes();
        if let Some(heard) = notes.observed.chat.heard.get_mut(place) {
            heard.messages.push(message);
        }
    }

    /// Whether somebody has heard this in the chat of a life.
    pub(crate) fn was_heard(&self, life: u64, text: &str) -> bool {
        let notes = self.notes();
        let mut heard = notes.observed.chat.heard.iter().rev();
        let mut of_life = heard.by_ref().filter(|heard| heard.life == life);
        of_life.any(|heard| heard.messages.iter().any(|message| message.text == text))
    }

    /// Notes a question that is listed as an open call.
    pub(crate) fn is_open(&self, open: Open) {
        let mut notes = self.notes();
        let known = &mut notes.observed.chat.open;
        if !known.contains(&open) {
            known.push(open);
        }
    }

    /// Notes what a person is about to say, and gives its place.
    pub(crate) fn says(&self, life: u64, way: AnswerRoute, text: String) -> usize {
        let prompts = self.model.prompt_count();
        let mut notes = self.notes();
        let sent_at = self.ticker.next();
        let replies = &mut notes.observed.chat.replies;
        replies.push(Reply {
            way,
            text,
            life,
            sent_at,
            prompts,
            fate: AnswerStatus::Unknown,
        });
        replies.len() - 1
    }

    /// Notes what the server said of it.
    pub(crate) fn replied(&self, place: usize, fate: AnswerStatus) {
        let mut notes = self.notes();
        if let Some(reply) = notes.observed.chat.replies.get_mut(place) {
            reply.fate = fate;
        }
    }

    /// Notes what a person is about to decide about a call, and gives its place.
    pub(crate) fn decides(&self, decided: Decided) -> usize {
        let mut notes = self.notes();
        let decisions = &mut notes.observed.decisions;
        decisions.push(decided);
        decisions.len() - 1
    }

    /// Notes what the server said of it.
    pub(crate) fn decided(&self, place: usize, fate: AnswerStatus) {
        if let Some(decided) = self.notes().observed.decisions.get_mut(place) {
            decided.fate = fate;
        }
    }

    /// Notes a question that is open, and that the chat does not ask.
    pub(crate) fn is_unasked(&self, question: &str) {
        let mut notes = self.notes();
        let unasked = &mut notes.observed.chat.unasked;
        if !unasked.iter().any(|known| known == question) {
            unasked.push(question.to_owned());
        }
    }

    /// Notes what the chat waits for although nobody needs it any more.
    pub(crate) fn is_left(&self, what: &str) {
        let mut notes = self.notes();
        let left = &mut notes.observed.chat.left;
        if !left.iter().any(|known| known == what) {
            left.push(what.to_owned());
        }
    }
}
