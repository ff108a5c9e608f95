//! The chat as the conversation that a session of its agent begins with.

use std::sync::Arc;

use samovar_core::{ChatMessage, ContextLimit, Message, MessageId, Part};
use samovar_engine::Conversation;

use super::words;
use crate::chat::Chat;

/// What was said before a message, in a window of `max` messages, and what is known about the window
/// of the model.
pub(super) fn before(
    chat: &Chat,
    message: u64,
    max: usize,
    limit: Option<ContextLimit>,
) -> Conversation {
    // As many more show where the turn began that the window cuts.
    let count = 2 * max;
    let page = chat.read((message - 1).saturating_sub(count as u64), count);
    let said = page.messages.iter().filter(|said| said.id < message);
    let messages = said.filter_map(|said| told(said).map(|told| (said.id, told)));
    let (ids, messages): (Vec<u64>, Vec<_>) = messages.unzip();
    // The chat counts by one, so a message's place is the same in every session.
    let first = ids.first().map_or(0, |first| first - 1);
    Conversation {
        before: usize::try_from(first).unwrap_or(usize::MAX),
        messages,
        limit,
    }
}

/// A message of the chat as the model is shown it.
fn told(said: &ChatMessage) -> Option<Arc<Message>> {
    let (role, text) = words::spoken(said);
    let id = MessageId::new(&format!("chat-{}", said.id)).ok()?;
    let message = Message::new(id, role, vec![Part::text(text)], said.ts);
    Some(Arc::new(message))
}
