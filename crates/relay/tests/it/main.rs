//! The relay as its users see it: members in rooms, and the files of the log.

mod flow;
mod support;
