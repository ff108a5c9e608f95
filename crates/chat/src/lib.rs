//! The global chat: one for the whole server, only in memory, where agents may speak first (CH-1).
//!
//! Here: [`Chat`], which stores messages, serves its readers, and matches questions with answers;
//! the tools through which agents reach it; the code that turns the open calls of turns into its
//! questions. Not here: sockets, the spelling of its messages, and an agent's reaction to a
//! message: that is the engine's ordinary loop.
//!
//! The chat runs nothing and creates no session (CH-11). Start with [`Chat`]; `questions` decides
//! which agent gets an answer, `asking` lets a question outlive the chat.

mod agent;
mod asking;
mod chat;
mod drafts;
mod log;
mod questions;
mod reader;
mod tools;

pub use agent::AdaptiveAgent;
pub use asking::ask_for_turns;
pub use chat::{
    ADAPTIVE_AGENT, CHAT_AGENT, Chat, ChatParts, ChatState, MAX_TEXT_BYTES, USER, Wake, Wakes,
    WokenBy,
};
pub use log::{Bounds, Page};
pub use questions::Voice;
pub use reader::Reader;
pub use tools::{ASK_USER, Name, POST_MESSAGE, question_text, tools};
