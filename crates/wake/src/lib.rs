//! Wakes of tasks that wake only one thread.
//!
//! Tokio wakes a second worker when a thread outside the runtime wakes a task, and when a task
//! yields while nothing else is ready. The second worker looks for work, finds none, and sleeps
//! again: two switches of threads for every commit, every file that is read and every word of a
//! model. A task that the poll of descriptors wakes has no such cost, so these wakes go through a
//! descriptor that the runtime polls.
//!
//! Here: [`serve`], which the binary runs, [`from_thread`] and [`pass`]. Where [`serve`] does not run,
//! a future is woken as always, and [`pass`] is Tokio's own yield.

mod bell;
#[cfg(test)]
mod tests;

pub use bell::{from_thread, pass, serve};
