//! Messages: whole calls, and conversations with a model server that takes only what the real
//! service takes.

mod conversation;
mod exchange;

use samovar_core::{Message, Prompt};

use crate::asking;

/// A model that takes a temperature.
const MODEL: &str = "claude-sonnet-4-test";

/// A prompt that offers a tool.
fn asking(messages: Vec<Message>) -> Prompt {
    asking::asking(MODEL, messages)
}
