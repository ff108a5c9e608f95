//! Messages: whole calls, and conversations with a model server that takes only what the real
//! service takes.

mod conversation;
pub(crate) mod exchange;

/// A model that takes a temperature.
pub(crate) const MODEL: &str = "claude-sonnet-4-test";
