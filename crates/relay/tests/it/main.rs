//! The relay as its users see it: members in rooms, and the files of the log.
#![cfg(test)]

mod flow;
mod replay;
mod support;
