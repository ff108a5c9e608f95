//! Turns as the server lists them.

/// A turn of a session, as the list of turns shows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedTurn {
    pub(crate) turn: String,
    /// How many agents are above the one that works.
    pub(crate) depth: u64,
    /// The call that it answers.
    pub(crate) call: Option<String>,
    pub(crate) is_over: bool,
    /// How it ended.
    pub(crate) reason: String,
}
