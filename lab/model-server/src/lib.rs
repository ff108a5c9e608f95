//! A scripted model server over HTTP that speaks the providers' real wire formats.
//!
//! Here: a [`Script`] as plain data (what to answer to which prompt, how fast, with which faults),
//! the server that plays it ([`ModelServer`]), and the requests that it received ([`Request`]). It
//! refuses what the real services refuse, so a client that passes here has written prompts that
//! they would accept.
//!
//! Not here: anything that thinks, or any of Samovar's own words. It knows the public wire formats
//! only, and a dialect is one file under `dialect/`: the script is the same for all. Every server
//! speaks `OpenAI` Chat Completions and Anthropic Messages; the path decides. To clients that probe
//! it, it can pass for a local server ([`Surface`]).
//!
//! Start at [`ModelServer::start`] for use, at `script.rs` for the words of a script, at
//! `service.rs` for the way of one request through the server.

mod asked;
mod cache;
mod delta;
mod desk;
mod dialect;
mod exchange;
mod model;
mod player;
mod request;
mod script;
mod server;
mod service;
mod socket;
mod sse;
mod surface;

pub use crate::{
    desk::UnknownGate,
    exchange::Ended,
    model::Model,
    request::{Answered, Request},
    script::{
        Answer, Arguments, CallIdRule, Cut, Delivery, Ending, Failure, Finish, Gate, Hold, Index,
        Newline, Pace, Page, Part, Point, Reply, Rule, Said, Script, Terminal, Times, TokenCounts,
        ToolCall, Usage, When, call, endless, fail, hang_up, page, reset, say, silent, think,
    },
    server::{Builder, ModelServer},
    surface::Surface,
};
