//! The server over real sockets: the bytes it sends, what it refuses, how it fails.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking, in its helpers too"
)]

mod bytes;
mod caching;
mod client;
mod faults;
mod refusals;
mod requests;
mod routing;
mod surfaces;
mod wire;
