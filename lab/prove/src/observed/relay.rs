//! What was seen of the relay: what agents and hosts said and got over their sockets, and the logs as
//! they lie on the disk when all is over.

use serde_json::Value;

/// All of it, over all lives of one server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relay {
    /// Every connection of an agent, in the order in which they were opened.
    pub(crate) links: Vec<Link>,
    /// The marks of what a host on a socket of its own was asked, in the order in which it was.
    pub(crate) asked: Vec<String>,
    /// The logs, each with its path behind the data directory.
    pub(crate) logs: Vec<LogFile>,
    /// What an agent was told at the end of a study, and what it found in the log right then.
    pub(crate) endings: Vec<Ending>,
    /// Marks of requests that were open for long although the server lived on.
    pub(crate) unanswered: Vec<String>,
}

/// One connection of an agent, in one life of the server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Link {
    pub(crate) life: u64,
    pub(crate) room: String,
    pub(crate) said: Vec<SentMessage>,
    pub(crate) got: Vec<Envelope>,
}

/// What an agent said. Its mark stands in its payload and is like no other.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SentMessage {
    pub(crate) mark: String,
    /// One that the other agents of the room use, too.
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) payload: Value,
}

/// What an agent or a host got, as it came.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Envelope {
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) reply_to: Option<String>,
    pub(crate) payload: Value,
}

/// A log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LogFile {
    /// Such as `logs/study/s-20260213-001.jsonl`.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// The end of a study, as the agent that asked for it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ending {
    /// The mark of the request.
    pub(crate) mark: String,
    /// Where the log is to be.
    pub(crate) log_file: String,
    /// Whether it was there, with the request in it.
    pub(crate) is_there: bool,
}
