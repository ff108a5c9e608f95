//! The jail and the lock, on a real file system.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod cage;
mod escapes;
mod listing;
mod lock;
mod owner;
mod proof;
mod protection;
mod races;
mod reading;
mod small;
mod system;
mod writing;
mod yard;
