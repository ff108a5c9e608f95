//! The configuration as files, variables and flags make it, in folders of their own.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on ends there"
)]

mod custom_tools;
mod desk;
mod explain;
mod files;
mod mistakes;
mod pages;
mod precedence;
mod schema;
mod trust;
