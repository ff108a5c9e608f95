//! The definitions of agents that clients make, and the port of the store that keeps them (SA-4).

use crate::Future;
use crate::agent::{Agent, AgentName};
use crate::journal::Broken;
use crate::ports::Millis;

/// Maximum number of definitions that clients made.
pub const MAX_AGENT_ROWS: usize = 200;

/// Maximum number of kept versions of one definition; the oldest are dropped first.
pub const MAX_AGENT_VERSIONS: usize = 100;

/// A definition that a client made.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRow {
    /// Its id, which stays the same through all versions.
    pub id: String,
    /// The definition with its version, 1 for the first.
    pub agent: Agent,
    /// Whether it is switched on.
    pub enabled: bool,
    /// When this version was written.
    pub updated_at: Millis,
}

/// The result of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChange {
    /// It is durable; the version that the change made or removed.
    Kept(u64),
    /// Nothing was changed: the current version is another. `None` if there is no row of the name.
    Stale(Option<u64>),
    /// Nothing was changed: there are already [`MAX_AGENT_ROWS`].
    TooMany,
}

/// Keeps definitions, with their earlier versions.
pub trait AgentRows: Send + Sync {
    /// All definitions, by name. Those that are damaged are reported and left out.
    fn list(&self) -> Future<'_, Result<Vec<AgentRow>, Broken>>;

    /// Writes a definition in place of version `expected`, 0 for a name that has none, under the
    /// next version; the row's own version is ignored. Durable when it answers. A name that is used
    /// again continues to count, so a version never stands for two definitions.
    fn put(&self, row: AgentRow, expected: u64) -> Future<'_, Result<RowChange, Broken>>;

    /// Removes version `expected` of a definition; its versions stay readable until many others
    /// were removed. Durable when it answers.
    fn remove<'a>(
        &'a self,
        name: &'a AgentName,
        expected: u64,
    ) -> Future<'a, Result<RowChange, Broken>>;

    /// The kept versions of a definition, newest first, only those before `before` if it is given.
    fn versions<'a>(
        &'a self,
        name: &'a AgentName,
        before: Option<u64>,
    ) -> Future<'a, Result<Vec<AgentRow>, Broken>>;
}
