//! The relay as its users see it: members in rooms, and the files of the log.
#![cfg(test)]

mod again;
mod built_in;
mod flow;
mod hidden;
#[cfg(feature = "failpoints")]
mod kill;
mod newest;
mod replay;
mod rooms;
mod studies;
mod support;
