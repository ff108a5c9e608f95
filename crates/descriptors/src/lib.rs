//! File descriptors: how many the process may open, who may use them, and what to do without one.
//!
//! Here: the limit of the process, the [`Budget`] that follows from it, and the pauses after which
//! an operation that found no free descriptor is tried again. Not here: the operations themselves,
//! and the decision to raise the limit, which only the binary takes.
//!
//! The crate depends on nothing of ours, so that every crate may use it.

mod budget;
mod exhaustion;
mod limit;

pub use budget::{Budget, LEAST};
pub use exhaustion::{PATIENCE, is_exhausted, pauses, repeat_within, retry, stems_from_exhaustion};
pub use limit::{limit, raise, restore};
