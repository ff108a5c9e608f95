//! A scripted model server over HTTP that speaks the providers' real wire formats.
//!
//! Here: a [`Script`] as plain data (what to answer to which prompt, how fast, with which faults),
//! the server that plays it ([`ModelServer`]), and the requests that it received ([`Request`]). It
//! refuses what the real services refuse, so a client that passes here has written prompts that
//! they would accept. The rules of a request's fields are a JSON Schema for each dialect.
//!
//! Not here: anything that thinks, or any of Samovar's own words. It knows the public wire formats
//! only, and a dialect is one file under `dialect/`: the script is the same for all. Every server
//! speaks `OpenAI` Chat Completions and Anthropic Messages; the path decides. To clients that probe
//! it, it can pass for a local server ([`Surface`]).
//!
//! Start at [`ModelServer::start`] for use, at `script.rs` for the words of a script, at
//! `service.rs` for the way of one request through the server.

mod cache;
mod delta;
mod dialect;
mod exchange;
mod matcher;
mod model;
mod player;
mod prompt;
mod request;
mod script;
mod server;
mod service;
mod socket;
mod sse;
mod surface;

pub use crate::{
    exchange::ExchangeEnd,
    matcher::UnknownGate,
    model::Model,
    request::{Answered, Request},
    script::{
        Answer, Arguments, BreakOff, CallIdRule, Delivery, Ending, Failure, Finish, Gate, Hold,
        Index, ModelOutput, Newline, Page, Part, Point, Reply, Rule, Script, Terminal, Times,
        TokenCounts, ToolCall, Usage, When, call, endless, fail, hang_up, page, reset, say, silent,
        think,
    },
    server::{Builder, ModelServer},
    surface::Surface,
};
