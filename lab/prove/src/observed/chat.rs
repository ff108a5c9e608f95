//! What was seen of the global chat, and of the questions that turns have asked in it.

use super::Tick;

/// All of it, over all lives of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chat {
    /// Who hears what nobody waits for.
    pub(crate) agent: ChatAgent,
    /// Every boot that an answer of the chat has named, with the life in which it did.
    pub(crate) boots: Vec<(u64, String)>,
    /// What each connection to the chat has shown, in the order in which they were opened.
    pub(crate) heard: Vec<ChatConnection>,
    /// Questions among the open calls, each once for a life.
    pub(crate) open: Vec<Open>,
    /// What persons have answered, or said while nobody asked.
    pub(crate) replies: Vec<Reply>,
    /// Questions that were open for long although the server went on, and that the chat did not ask.
    pub(crate) unasked: Vec<String>,
    /// What the chat waited for although its call was closed, or every turn over.
    pub(crate) left: Vec<String>,
}

/// Who hears what nobody waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ChatAgent {
    #[default]
    Nobody,
    /// The chat's own agent.
    Adaptive,
}

impl ChatAgent {
    /// How it is spelled.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Adaptive => "adaptive",
        }
    }
}

/// One connection to the chat of one life.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChatConnection {
    pub(crate) life: u64,
    /// The id behind which it begins.
    pub(crate) after: u64,
    pub(crate) messages: Vec<ChatMessage>,
}

/// A message of the chat.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChatMessage {
    pub(crate) id: u64,
    /// RFC 3339, so that the order of times is that of texts.
    pub(crate) ts: String,
    pub(crate) role: String,
    pub(crate) author: String,
    pub(crate) text: String,
    pub(crate) reply_to: Option<u64>,
}

/// A question that `/api/calls` has listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Open {
    pub(crate) life: u64,
    pub(crate) call: String,
    pub(crate) question: String,
}

/// What a person said, once. Its text is like no other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reply {
    pub(crate) way: AnswerRoute,
    pub(crate) text: String,
    pub(crate) life: u64,
    pub(crate) sent_at: Tick,
    /// How many prompts the model had been given by then.
    pub(crate) prompts: u64,
    pub(crate) fate: AnswerStatus,
}

/// By which way something was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerRoute {
    /// In the chat.
    #[default]
    Chat,
    /// To the call itself: that it is done with this.
    Result(String),
    /// To the call itself: that it failed for this.
    Error(String),
}

/// What the server said of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum AnswerStatus {
    /// Nothing any more.
    #[default]
    Unknown,
    /// It has it; in the chat, under this id.
    Taken(Option<u64>),
    /// It does not take it.
    Refused,
}
