//! The relay: what an external agent and the host of a screen say to each other (spec 08, protocol
//! mvp-0.2).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::ports::Millis;

/// The protocol's version, in each envelope that is sent.
pub const VERSION: &str = "mvp-0.2";

/// What stands before the JSON of a host's screen where a model is shown it (RL-23).
pub const SCREEN: &str = "[screen] ";

/// What an envelope brings: an object whose unknown keys are kept, in their order (RL-1).
pub type Payload = Map<String, Value>;

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// What kind of message.
    pub kind: MessageKind,
    /// The sender's own id of it, which an answer names.
    pub id: Option<String>,
    /// The message that it answers.
    pub reply_to: Option<String>,
    /// What it brings.
    pub payload: Payload,
}

impl Envelope {
    /// A message that answers none and is not to be named by an answer.
    pub fn new(kind: MessageKind, payload: Payload) -> Self {
        Self {
            kind,
            id: None,
            reply_to: None,
            payload,
        }
    }

    /// A refusal (RL-9), with a sentence that has the value.
    pub fn error(code: RelayCode, message: impl Into<String>) -> Self {
        let mut payload = Payload::new();
        payload.insert("code".to_owned(), code.as_str().into());
        payload.insert("message".to_owned(), message.into().into());
        Self::new(MessageKind::Error, payload)
    }

    /// The same under an id.
    #[must_use]
    pub fn with_id(self, id: impl Into<String>) -> Self {
        Self {
            id: Some(id.into()),
            ..self
        }
    }

    /// The same as the answer to a message; to none that an answer can name without an id.
    #[must_use]
    pub fn replying_to(self, reply_to: Option<String>) -> Self {
        Self { reply_to, ..self }
    }
}

/// The kinds of message, all that there are (RL-6, RL-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Who wants to come into which room.
    RelayJoin,
    /// That somebody is in it.
    RelayJoined,
    /// An agent begins a study session.
    SessionStart,
    /// Under which id it runs.
    SessionStarted,
    /// An agent asks what there is to see.
    SnapshotGet,
    /// What there is to see.
    SnapshotState,
    /// An agent calls a tool of the host.
    ToolCall,
    /// That it was done.
    ToolResult,
    /// What there is to see now that something has changed: the authority (RL-10).
    StateUpdated,
    /// What an agent says to the person: shown and recorded, nothing else (RL-26).
    AgentMessage,
    /// What the person says.
    UserMessage,
    /// An agent ends the study session.
    SessionEnd,
    /// That it is over, and where its log lies.
    SessionEnded,
    /// A refusal.
    Error,
}

impl MessageKind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::RelayJoin,
        Self::RelayJoined,
        Self::SessionStart,
        Self::SessionStarted,
        Self::SnapshotGet,
        Self::SnapshotState,
        Self::ToolCall,
        Self::ToolResult,
        Self::StateUpdated,
        Self::AgentMessage,
        Self::UserMessage,
        Self::SessionEnd,
        Self::SessionEnded,
        Self::Error,
    ];

    /// The kind as it stands in `type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RelayJoin => "relay.join",
            Self::RelayJoined => "relay.joined",
            Self::SessionStart => "session.start",
            Self::SessionStarted => "session.started",
            Self::SnapshotGet => "snapshot.get",
            Self::SnapshotState => "snapshot.state",
            Self::ToolCall => "tool.call",
            Self::ToolResult => "tool.result",
            Self::StateUpdated => "state.updated",
            Self::AgentMessage => "agent.message",
            Self::UserMessage => "user.message",
            Self::SessionEnd => "session.end",
            Self::SessionEnded => "session.ended",
            Self::Error => "error",
        }
    }

    /// The kind of this name; none when there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// On which side of a room somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RelayRole {
    /// Has the screen that a person looks at. One a room (RL-4).
    Host,
    /// Drives it.
    Agent,
}

impl RelayRole {
    /// The role as it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Agent => "agent",
        }
    }

    /// The role of this name, `frontend` being the host (RL-3); none when there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "host" | "frontend" => Some(Self::Host),
            "agent" => Some(Self::Agent),
            _ => None,
        }
    }
}

/// Why something is refused (RL-9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelayCode {
    /// It is no message of the protocol, or not one of this side.
    InvalidMessage,
    /// Not joined, no host, no study session.
    SessionNotActive,
    /// There is no such tool, or not at this stage.
    UnknownTool,
    /// What the message brings does not fit.
    InvalidParams,
    /// There is nothing on the screen.
    NoActiveSpec,
    /// It was tried and failed.
    ToolExecutionFailed,
}

impl RelayCode {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::InvalidMessage,
        Self::SessionNotActive,
        Self::UnknownTool,
        Self::InvalidParams,
        Self::NoActiveSpec,
        Self::ToolExecutionFailed,
    ];

    /// The code as it stands in `code`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidMessage => "INVALID_MESSAGE",
            Self::SessionNotActive => "SESSION_NOT_ACTIVE",
            Self::UnknownTool => "UNKNOWN_TOOL",
            Self::InvalidParams => "INVALID_PARAMS",
            Self::NoActiveSpec => "NO_ACTIVE_SPEC",
            Self::ToolExecutionFailed => "TOOL_EXECUTION_FAILED",
        }
    }
}

/// What a host in the server's own process is told beside a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostContext {
    /// When it is said.
    pub now: Millis,
    /// The id that a study session gets which begins with it: one that no log has yet.
    pub study: String,
}

/// What a person does at a host in the server's own process.
#[derive(Clone, Debug, PartialEq)]
pub enum PersonDeed {
    /// Says something to the agents.
    Says(String),
    /// Does what an agent would call a tool for, such as a click on an item.
    Calls {
        /// The tool.
        tool: String,
        /// What it is done with.
        params: Payload,
    },
}

/// A host in the server's own process. Pure: it has no clock, no I/O and no randomness, so that a
/// log of what it was told replays (RL-17).
pub trait Host: Send {
    /// A study session is open that another host has begun, such as the one before a restart of the
    /// server: it goes on with this one (RL-28). A host that says nothing of sessions need not care.
    fn resume(&mut self, _study: &str) {}

    /// What it answers to a message of an agent, in order.
    fn hear(&mut self, said: &Envelope, context: &HostContext) -> Vec<Envelope>;

    /// What it says when a person does something.
    ///
    /// # Errors
    /// A code and a sentence when that cannot be done now; nothing has changed then.
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
            assert_eq!(MessageKind::from_name(kind.as_str()), Some(kind));
        }
        assert_eq!(MessageKind::from_name("Tool.Call"), None);
        assert_eq!(RelayRole::from_name("frontend"), Some(RelayRole::Host));
        assert_eq!(RelayRole::from_name("observer"), None);
    }
}
