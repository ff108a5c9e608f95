//! Pure codecs: they read commands and spell events, one module per protocol.
//!
//! Here: [`sse`], the frames of a stream; [`Spelling`], what a streamed
//! protocol is to the server; [`params`], the parameters of a call; [`agent`], the
//! agent service's types, and its [`Encoder`](agent::Encoder) from the log's events to a stream's
//! frames; [`chat`], the global chat's types; [`export`], a session as a file; [`relay`], the envelopes of external agents and
//! hosts; [`ui`], the stream of the AI SDK. Not here: sockets, a runtime, routes, sessions, clocks. The same log always gives the
//! same bytes.
//!
//! Start with [`agent`]. `docs/protocols.md` describes the same for authors of clients.

pub mod agent;
pub mod api;
pub mod chat;
pub mod export;
pub mod params;
pub mod relay;
mod spelling;
pub mod sse;
pub mod ui;

pub use spelling::Spelling;
