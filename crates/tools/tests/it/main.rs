//! The file tools, called as the engine calls them, on a real file system.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod catalog;
mod edit_file;
mod hostile;
mod list_dir;
mod probes;
mod read_file;
mod search_files;
mod sessions;
mod write_file;
mod yard;
