//! Turns as the server lists them, and those of called agents that a client stops alone.

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

/// A stop of a called agent's turn, which leaves its caller at work.
#[derive(Clone, Debug, Default)]
pub(crate) struct BranchStop {
    pub(crate) turn: String,
    /// Whether the server said that it has stopped it.
    pub(crate) is_confirmed: bool,
}
