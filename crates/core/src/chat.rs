//! The global chat: what is said in it (CH-2). It is none of the sessions.

use serde::{Deserialize, Serialize};

use crate::ports::Millis;

/// A message of the chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// Its number: 1 for the first of a run of the server, each next one is greater by one.
    pub id: u64,
    /// When it was taken.
    pub ts: Millis,
    /// Who speaks.
    pub role: ChatRole,
    /// The speaker's name.
    pub author: String,
    /// What is said: never blank, without white space around it.
    pub text: String,
    /// What goes with it.
    pub meta: ChatMeta,
}

/// Who speaks in the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatRole {
    /// An agent.
    Agent,
    /// The person.
    User,
    /// The chat itself.
    System,
}

impl ChatRole {
    /// The role as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::User => "user",
            Self::System => "system",
        }
    }
}

/// What goes with a message of the chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatMeta {
    /// The message that it answers.
    pub reply_to: Option<u64>,
    /// Words for programs.
    pub tags: Vec<String>,
}

impl ChatMeta {
    /// That it answers a message.
    pub fn reply_to(message: u64) -> Self {
        Self {
            reply_to: Some(message),
            tags: Vec::new(),
        }
    }
}

/// The question that the person's next message answers (CH-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingInput {
    /// Who asks.
    pub requested_by: String,
    /// The message that asks.
    pub question: u64,
}
