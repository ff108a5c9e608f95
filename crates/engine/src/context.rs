//! What a model is shown: layers that stay the same, then the conversation.

use std::sync::Arc;

use samovar_core::provider::Layer;
use samovar_core::{Message, Role};

/// Who the agent is, by default.
const SOUL: &str = include_str!("prompt/SOUL.md");
/// How it works, by default.
const AGENTS: &str = include_str!("prompt/AGENTS.md");

/// The layers of the system prompt, the stable ones first (MD-7).
pub(crate) fn layers(workspace_note: &str) -> Vec<Layer> {
    let layer = |name, text: &str| Layer {
        name,
        text: text.trim().into(),
    };
    let mut layers = vec![layer("soul", SOUL), layer("agents", AGENTS)];
    if !workspace_note.trim().is_empty() {
        layers.push(layer("workspace", workspace_note));
    }
    layers
}

/// The conversation of a session as its model is shown it, oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript {
    messages: Vec<Arc<Message>>,
}

impl Transcript {
    pub(crate) fn new(messages: Vec<Arc<Message>>) -> Self {
        Self { messages }
    }

    pub(crate) fn push(&mut self, message: Arc<Message>) {
        self.messages.push(message);
    }

    pub(crate) fn extend(&mut self, message: Option<Message>) {
        self.messages.extend(message.map(Arc::new));
    }

    pub(crate) fn messages(&self) -> Vec<Arc<Message>> {
        self.messages.clone()
    }

    /// Leaves out what stands before the first message of a user: the end of a turn whose beginning
    /// is not there, where a result may have lost its call (AS-25).
    pub(crate) fn begin_at_a_user(&mut self) {
        let is_other = |message: &&Arc<Message>| message.role != Role::User;
        let cut = self.messages.iter().take_while(is_other).count();
        self.messages.drain(..cut);
    }

    /// Cuts the oldest messages off before a new turn, when more than `max` are there. It cuts a
    /// quarter more than it must, so that the beginning, which providers cache, stays the same for
    /// many turns; and only in front of a user's message, so that no result loses its call (AS-25).
    pub(crate) fn trim(&mut self, max: usize) {
        let count = self.messages.len();
        let starts_right = self
            .messages
            .first()
            .is_none_or(|first| first.role == Role::User);
        if count <= max && starts_right {
            return;
        }
        let must = if count > max {
            count - (max - max / 4)
        } else {
            0
        };
        let rest = self.messages.iter().skip(must);
        let cut = rest
            .take_while(|message| message.role != Role::User)
            .count()
            + must;
        self.messages.drain(..cut);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use samovar_core::{MessageId, Millis, Part};
    use serde_json::Map;

    fn message(role: Role, number: usize) -> Arc<Message> {
        Arc::new(Message {
            id: MessageId::new(&format!("m{number}")).unwrap(),
            role,
            parts: vec![Part::Text {
                text: number.to_string(),
            }],
            parent: None,
            usage: None,
            model: None,
            finish_reason: None,
            metadata: Map::new(),
            created_at: Millis(0),
        })
    }

    // proves AS-25
    #[test]
    fn the_window_starts_at_a_users_message_and_moves_a_quarter_at_a_time() {
        let mut transcript = Transcript::default();
        let mut starts = Vec::new();
        for turn in 0..100 {
            transcript.trim(20);
            assert!(transcript.messages.len() <= 20);
            transcript.push(message(Role::User, turn * 3));
            transcript.push(message(Role::Assistant, turn * 3 + 1));
            transcript.push(message(Role::Tool, turn * 3 + 2));
            let first = &transcript.messages[0];
            assert_eq!(first.role, Role::User);
            starts.push(first.id.clone());
        }
        starts.dedup();
        assert!(starts.len() > 10, "it moves");
        assert!(
            starts.len() < 60,
            "but not with every turn: {}",
            starts.len()
        );
    }
}
