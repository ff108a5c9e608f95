//! What pages see: the stream of the AI SDK, the feed of a session, and a talk that is edited.

use super::Frame;

/// All that pages have seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Web {
    /// Answers that were streamed, one connection each.
    pub(crate) answers: Vec<AnswerReading>,
    /// Connections to the feeds of sessions.
    pub(crate) feeds: Vec<FeedReading>,
    /// Talks in which messages were edited and answered again.
    pub(crate) talks: Vec<Talk>,
}

/// One connection to the answer that a session's turn gives, from the start of the answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct AnswerReading {
    pub(crate) session: String,
    /// Whether it shows called agents as whole messages.
    pub(crate) is_split: bool,
    /// The JSON of each frame.
    pub(crate) frames: Vec<String>,
}

/// One connection to the feed of a session.
#[derive(Clone, Debug, Default)]
pub(crate) struct FeedReading {
    pub(crate) session: String,
    /// The id after which it was to continue.
    pub(crate) after: Option<String>,
    pub(crate) frames: Vec<Frame>,
}

/// A talk as its person left it, and as pages show it in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    pub(crate) session: String,
    /// How often something was edited or answered again.
    pub(crate) rewritten: u64,
    /// What the person said, by id, as it was said last.
    pub(crate) said: Vec<(String, String)>,
    /// The messages in the end: role, id and text.
    pub(crate) shown: Vec<(String, String, String)>,
}
