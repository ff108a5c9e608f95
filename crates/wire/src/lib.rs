//! Pure codecs: how commands are read and how events are spelled, protocol by protocol.
//!
//! Here: [`sse`], the frames of a stream; [`params`], the parameters of a call; [`agent`], the agent
//! service's types, and its [`Encoder`](agent::Encoder) from the log's events to a stream's frames;
//! [`chat`], the global chat's; [`relay`], the envelopes of external agents and hosts.
//! Not here: sockets, a runtime, routes, sessions; nothing waits, nothing knows the time, and the
//! same log gives the same bytes on any day.
//!
//! Start with [`agent`]. `docs/protocols.md` tells a client's author the same from the outside.

pub mod agent;
pub mod api;
pub mod chat;
pub mod params;
pub mod relay;
pub mod sse;
