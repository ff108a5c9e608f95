//! Shows the global chat: lines for a person, or raw messages for a program.

use samovar_locale as text;
use samovar_wire::chat::{ChatMessage, ChatStateInfo};
use serde::Deserialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::output::{self, Format};
use crate::screen::{say, visible};
use crate::timestamps::clock;

/// What a message is called where it is written for a program.
pub(super) const MESSAGE: &str = "chat_message";

/// What is known of the chat while it is shown.
pub(super) struct Display {
    format: Format,
    /// The question that the next words of the person answer, and how many wait behind it.
    question: Option<(u64, u64)>,
    /// The question that the person was told of.
    told: Option<u64>,
}

impl Display {
    /// Nothing was shown.
    pub(super) fn new(format: Format) -> Self {
        Self {
            format,
            question: None,
            told: None,
        }
    }

    /// Whether it is shown to a person.
    pub(super) fn is_for_people(&self) -> bool {
        self.format == Format::Text
    }

    /// Takes who waits for the person.
    pub(super) fn take_state(&mut self, state: &ChatStateInfo) {
        let pending = state.pending_input.as_ref();
        self.question = pending.map(|pending| (pending.question, state.waiting));
    }

    /// A message as it is written, with the end of its line.
    ///
    /// # Errors
    /// It is no message.
    pub(super) fn line(&self, message: &Value) -> Result<String, Failure> {
        if !self.is_for_people() {
            return output::line(MESSAGE, message);
        }
        let broken = |error| Failure::broken(&error);
        let message = ChatMessage::deserialize(message).map_err(broken)?;
        let (id, author) = (message.id, &*message.author);
        let at = clock(&message.ts);
        // Only what the author wrote may look like a line of its own, and does not begin one.
        let said = message.text.replace('\n', "\n    ");
        let reply_to = message.meta.as_ref().and_then(|meta| meta.reply_to);
        let is_question = self.question.as_ref().is_some_and(|asked| asked.0 == id);
        let line = match reply_to {
            _ if is_question => text::global_chat::asked(id, at, author, said),
            Some(question) => text::global_chat::answered(id, at, author, question, said),
            None => text::global_chat::said(id, at, author, said),
        };
        Ok(visible(&line) + "\n")
    }

    /// Says which question waits, once for each.
    pub(super) fn say_question(&mut self) {
        let Some((id, waiting)) = &self.question else {
            return;
        };
        if self.is_for_people() && self.told.replace(*id) != Some(*id) {
            say(&text::global_chat::question(id));
            if *waiting > 0 {
                say(&text::global_chat::waiting(*waiting));
            }
        }
    }

    /// Forgets what was known: the chat is another one.
    pub(super) fn forget(&mut self) {
        self.question = None;
        self.told = None;
    }
}
