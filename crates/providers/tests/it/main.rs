//! The providers against real sockets.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod anthropic;
mod asking;
mod chat_completions;
mod conversation;
mod embeddings;
mod exchange;
mod local;
mod names;
mod probing;
mod proxy;
mod refusals;
mod server;
mod surfaces;
