//! Forks, and messages that no turn made.

use super::Stored;

/// What was copied and appended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Copies {
    /// The forks that a server said it has made.
    pub(crate) forks: Vec<Fork>,
    /// The sessions that a server said it has imported.
    pub(crate) imports: Vec<Import>,
    /// The messages that a server said it has, in their order.
    pub(crate) appended: Vec<AppendedMessage>,
    /// What is in those sessions in the end.
    pub(crate) rows: Vec<CopiedRow>,
}

/// A fork as its answer told it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fork {
    pub(crate) session: String,
    /// The session that was forked.
    pub(crate) of: String,
    pub(crate) messages: u64,
    /// The last message that was copied.
    pub(crate) last: Option<String>,
}

/// A fork that was exported and imported, as the answer told it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Import {
    pub(crate) session: String,
    /// The fork.
    pub(crate) of: String,
    pub(crate) messages: u64,
}

/// A message that was appended.
#[derive(Clone, Debug, Default)]
pub(crate) struct AppendedMessage {
    pub(crate) session: String,
    pub(crate) id: String,
    pub(crate) content: String,
}

/// A row, and the message that it says it is a copy of.
#[derive(Clone, Debug, Default)]
pub(crate) struct CopiedRow {
    pub(crate) row: Stored,
    pub(crate) of: Option<String>,
}
