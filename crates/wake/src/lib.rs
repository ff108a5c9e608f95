//! A yield that wakes no second thread.
//!
//! Tokio wakes a second worker when a task yields while nothing else is ready. That worker looks for
//! work, finds none, and sleeps again: two switches of threads for every word of a slow model. A task
//! that the poll of descriptors wakes has no such cost, so this yield goes through a descriptor that
//! the runtime polls.
//!
//! Here: [`serve`], which the binary runs, and [`pass`]. Where [`serve`] does not run, [`pass`] is
//! Tokio's own yield.

mod bell;
#[cfg(test)]
mod tests;

pub use bell::{pass, serve};
