//! The global chat: one for the whole server, in memory alone, where agents may speak first (CH-1).
//!
//! Here: [`Chat`], which keeps what is said, hands it to readers, and brings questions and answers
//! together; the tools through which agents reach it; what makes the open calls of turns its
//! questions.
//! Not here: sockets, the spelling of its messages, and what an agent does with what it hears: that is
//! the engine's ordinary loop.
//!
//! The chat runs nothing and makes no session (CH-11). Start with [`Chat`]; `questions` says who is
//! answered, `asking` how a question outlives the chat.

mod agent;
mod asking;
mod chat;
mod drafts;
mod log;
mod questions;
mod reader;
mod tools;

pub use agent::{AdaptiveAgent, AgentParts};
pub use asking::ask_for_turns;
pub use chat::{
    ADAPTIVE_AGENT, CHAT_AGENT, Chat, ChatParts, ChatState, MAX_TEXT_BYTES, USER, Wake, Wakes,
    WokenBy,
};
pub use log::{Bounds, Page};
pub use reader::Reader;
pub use tools::{Name, tools};
