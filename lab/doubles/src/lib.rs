//! Doubles of the ports, for the tests of every crate.
//!
//! Here: [`World`] with [`TestClock`] and [`CountedIds`]; [`ScriptedModel`], which answers by a
//! script without a socket; [`TestTool`]; [`talk`], a conversation to ask a provider with;
//! [`MemoryHistory`] and [`MemoryJournal`]; [`Disk`], stores that can fail and outlive an engine; and [`Over`], with which a
//! test overrides single methods of a store; [`spellings`], what a key looks like in other formats.
//! With the feature `plant` also the stores with planted faults, which the binary then puts over its
//! own. Production code never uses this crate otherwise.

use std::sync::Arc;

mod disk;
#[cfg(feature = "plant")]
mod faulty;
mod history;
mod journal;
mod model;
mod over;
pub mod spellings;
pub mod talk;
mod time;
mod tool;

pub use disk::{Disk, Full, MemoryAudit};
#[cfg(feature = "plant")]
pub use faulty::faulty;
pub use history::MemoryHistory;
pub use journal::{MemoryJournal, MemoryUse};
pub use model::{Gate, Reply, ScriptedModel, call, fail, results, say, think, user};
pub use over::{Over, OverHistory, OverJournal};
pub use time::{CountedIds, TestClock};
pub use tool::{TestTool, tool_spec};

/// A model, the time and the ids of a test, for the ports of an engine.
#[derive(Clone)]
pub struct World {
    /// The model.
    pub model: ScriptedModel,
    /// The time, far from any sweep.
    pub clock: Arc<TestClock>,
    /// The ids.
    pub ids: Arc<CountedIds>,
}

impl World {
    /// One with this model.
    pub fn with(model: ScriptedModel) -> Self {
        Self {
            model,
            clock: Arc::new(TestClock::late()),
            ids: Arc::default(),
        }
    }

    /// One whose model gives these answers, one after the other.
    pub fn answering(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(ScriptedModel::answering(replies))
    }
}

impl Default for World {
    fn default() -> Self {
        Self::answering([])
    }
}
