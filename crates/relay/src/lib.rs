//! The relay: rooms in which an external agent drives the screen of a host (spec 08, protocol
//! mvp-0.2).
//!
//! Here: who may say what in a room and where a reply goes, the study log, its replay, and the bridge
//! between the relay and our own loop and tools.
//! Not here: sockets, and the spelling of the messages.

pub mod agent;
#[cfg(test)]
mod far;
mod link;
mod memory;
pub mod toolhost;

pub use link::{Cut, Link, Way};
