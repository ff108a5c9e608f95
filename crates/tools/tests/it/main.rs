//! The built-in tools, called as the engine calls them, on a real file system and real sockets.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod catalog;
mod commands;
mod edit_file;
mod hostile;
mod list_dir;
mod probes;
mod read_file;
mod search_files;
mod secrets;
mod seen;
mod sessions;
mod undo;
mod web;
mod write_file;
mod yard;
