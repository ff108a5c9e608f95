//! The relay: the messages between an external agent and the host of a screen (spec 08, protocol
//! mvp-0.2).

mod study;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ports::Millis;
use crate::words;
pub use study::{Direction, HostKind, RoomInfo, StudyInfo, StudyRow, StudyView};

/// The protocol's version, sent in each envelope.
pub const VERSION: &str = "mvp-0.2";

/// The text before the JSON of a host's screen in a model's prompt (RL-23).
pub const SCREEN: &str = "[screen] ";

/// The content of an envelope: an object whose unknown keys are kept, in their order (RL-1).
pub type Payload = Map<String, Value>;

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The kind of message.
    pub kind: MessageKind,
    /// The sender's id for it, which an answer repeats.
    pub id: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// The content.
    pub payload: Payload,
}

impl Envelope {
    /// A message without an id that answers no other.
    pub fn new(kind: MessageKind, payload: Payload) -> Self {
        Self {
            kind,
            id: None,
            reply_to: None,
            payload,
        }
    }

    /// A refusal (RL-9), with a sentence that contains the value.
    pub fn error(code: RelayCode, message: impl Into<String>) -> Self {
        let mut payload = Payload::new();
        payload.insert("code".to_owned(), code.as_str().into());
        payload.insert("message".to_owned(), message.into().into());
        Self::new(MessageKind::Error, payload)
    }

    /// The message with an id.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..self
        }
    }

    /// The message as an answer; without an id of the request it answers none.
    #[must_use]
    pub fn replying_to(self, reply_to: Option<String>) -> Self {
        Self { reply_to, ..self }
    }
}

words! {
    /// All kinds of messages (RL-6, RL-25).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum MessageKind {
        /// A client asks to join a room.
        RelayJoin = "relay.join",
        /// The client has joined.
        RelayJoined = "relay.joined",
        /// An agent begins a study session.
        SessionStart = "session.start",
        /// The study session has begun, under this id.
        SessionStarted = "session.started",
        /// An agent asks for the host's current state.
        SnapshotGet = "snapshot.get",
        /// The host's current state.
        SnapshotState = "snapshot.state",
        /// An agent calls a tool of the host.
        ToolCall = "tool.call",
        /// The call was made.
        ToolResult = "tool.result",
        /// The state after a change: the authority (RL-10).
        StateUpdated = "state.updated",
        /// An agent's message to the person: shown and recorded, nothing else (RL-26).
        AgentMessage = "agent.message",
        /// The person's message.
        UserMessage = "user.message",
        /// An agent ends the study session.
        SessionEnd = "session.end",
        /// The study session is over; contains the path of its log.
        SessionEnded = "session.ended",
        /// A refusal.
        Error = "error",
    }
}

/// The sender and the receiver of a kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageGroup {
    /// A client and the relay itself.
    Relay,
    /// From an agent to the host.
    ToHost,
    /// From the host, or from the relay in its place, to agents.
    ToAgents,
}

impl MessageKind {
    /// Its sender and its receiver.
    pub fn group(self) -> MessageGroup {
        match self {
            Self::RelayJoin | Self::RelayJoined => MessageGroup::Relay,
            Self::SessionStart
            | Self::SnapshotGet
            | Self::ToolCall
            | Self::AgentMessage
            | Self::SessionEnd => MessageGroup::ToHost,
            Self::SessionStarted
            | Self::SnapshotState
            | Self::ToolResult
            | Self::StateUpdated
            | Self::UserMessage
            | Self::SessionEnded
            | Self::Error => MessageGroup::ToAgents,
        }
    }
}

words! {
    /// The role of a member of a room.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum RelayRole {
        /// Shows the screen that a person looks at. One per room (RL-4).
        Host = "host",
        /// Operates it.
        Agent = "agent",
    }
}

impl RelayRole {
    /// Parses a role; `frontend` means the host (RL-3). Returns `None` if there is no such role.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "frontend" => Some(Self::Host),
            word => Self::from_word(word),
        }
    }
}

words! {
    /// Why a message is refused (RL-9).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum RelayCode {
        /// Not a message of the protocol, or not allowed in this role.
        InvalidMessage = "INVALID_MESSAGE",
        /// Not joined, no host, or no study session.
        SessionNotActive = "SESSION_NOT_ACTIVE",
        /// No such tool, or not at this stage.
        UnknownTool = "UNKNOWN_TOOL",
        /// The payload does not fit.
        InvalidParams = "INVALID_PARAMS",
        /// The screen is empty.
        NoActiveSpec = "NO_ACTIVE_SPEC",
        /// The call failed.
        ToolExecutionFailed = "TOOL_EXECUTION_FAILED",
    }
}

/// The context of a message to a host in the server's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostContext {
    /// When the message is sent.
    pub now: Millis,
    /// The room.
    pub room: String,
    /// The id for a study session that begins with this message: no log has it yet.
    pub study: String,
}

/// An action of the person at a host in the server's process.
#[derive(Clone, Debug, PartialEq)]
pub enum PersonDeed {
    /// A message to the agents.
    Says(String),
    /// A call of a tool as an agent would make it, such as a click on an item.
    Calls {
        /// The tool.
        tool: String,
        /// The parameters.
        params: Payload,
    },
}

/// A host in the server's process. Pure: no clock, no I/O and no randomness, so that a log of its
/// messages can be replayed (RL-17).
pub trait Host: Send {
    /// Continues an open study session that another host began, such as the one before a restart of
    /// the server (RL-28); its log began at `_begun`. A host without sessions may ignore it.
    fn resume(&mut self, _study: &str, _begun: Millis) {}

    /// The answers to an agent's message, in order.
    fn hear(&mut self, said: &Envelope, context: &HostContext) -> Vec<Envelope>;

    /// The messages after a person's action.
    ///
    /// # Errors
    /// A code and a sentence when the action is impossible now; nothing has changed.
    fn person(
        &mut self,
        deed: &PersonDeed,
        context: &HostContext,
    ) -> Result<Vec<Envelope>, (RelayCode, String)>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_found_by_its_name_and_no_other_is() {
        for kind in MessageKind::ALL {
            assert_eq!(MessageKind::from_word(kind.as_str()), Some(kind));
        }
        assert_eq!(MessageKind::from_word("Tool.Call"), None);
        assert_eq!(RelayRole::from_name("frontend"), Some(RelayRole::Host));
        assert_eq!(RelayRole::from_name("observer"), None);
    }
}
