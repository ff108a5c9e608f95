//! The client against real servers on loopback: whom it asks, where it follows, how much it takes.

#![expect(
    clippy::unwrap_used,
    reason = "a test fails by panicking, in its helpers too"
)]

mod answers;
mod desk;
mod redirects;
mod refusals;
mod secure;
mod ssrf;
