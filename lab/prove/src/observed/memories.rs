//! What an agent remembers, and what became of it.

/// What a client has had remembered, and what is there in the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Memories {
    pub(crate) kept: Vec<Remembered>,
    /// The texts of all memories in the end.
    pub(crate) listed: Vec<String>,
}

/// A turn that remembered a fact, and proposed one for every folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered {
    pub(crate) message: String,
    /// The place of its message among those of its client.
    pub(crate) number: u32,
    /// Whether the turn ended well, so that all of it happened.
    pub(crate) is_done: bool,
    /// Proposals of it that were there to be answered, and those of them that were accepted.
    pub(crate) proposed: usize,
    pub(crate) accepted: usize,
    /// The number of the message after which all of it was deleted.
    pub(crate) gone_after: Option<u32>,
}
