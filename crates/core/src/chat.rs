//! Messages of the global chat (CH-2), which belongs to no session.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ports::Millis;
use crate::words;

/// A message of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// The number, which starts at 1 in each run of the server and grows by one.
    pub id: u64,
    /// When it was accepted.
    pub ts: Millis,
    /// The role of the author.
    pub role: ChatRole,
    /// The author's name.
    pub author: String,
    /// The text: never blank, without surrounding white space.
    pub text: String,
    /// Further fields.
    pub meta: ChatMeta,
}

words! {
    /// The role of an author in the chat.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum ChatRole {
        /// An agent.
        Agent = "agent",
        /// The person.
        User = "user",
        /// The chat itself.
        System = "system",
    }
}

/// Further fields of a chat message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatMeta {
    /// The message that it answers.
    pub reply_to: Option<u64>,
    /// Tags for programs.
    pub tags: Vec<String>,
}

impl ChatMeta {
    /// A reply to a message.
    pub fn reply_to(message: u64) -> Self {
        Self {
            reply_to: Some(message),
            tags: Vec::new(),
        }
    }
}

/// A question that waits for the person.
// The person's next message answers it (CH-4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PendingInput {
    /// The agent that asks.
    pub requested_by: String,
    /// The number of the question's message.
    #[serde(rename = "question_msg_id")]
    pub question: u64,
}
