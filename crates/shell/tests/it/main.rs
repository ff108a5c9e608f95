//! Commands that people type, tricks, and real shells, against the grammar and the list.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod git;
mod grants;
mod shells;
mod table;
mod verdicts;
