//! The one safe HTTP client, for all requests to addresses that others named (TL-9).
//!
//! Here: [`Client`], which resolves a host once, refuses it when any of its addresses is neither
//! public nor in an allowed [`Range`], connects to the very address that it checked, follows few
//! redirects and checks each again, and bounds the answer; [`Target`], a checked address;
//! [`private`], the table of addresses that are not public. Not here: who may send a request, and
//! what an answer means. Start at [`Client::send`].
//!
//! It ignores proxies and environment variables. Errors contain no part of an address, a header or
//! a body: all three may carry keys.

mod body;
mod client;
mod connect;
mod failure;
mod public;
mod range;
mod resolve;
mod target;

pub use client::{Answer, Bounds, Client, MAX_REDIRECTS, Request};
pub use failure::{Failure, Problem};
pub use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
pub use public::private;
pub use range::{Range, RangeError};
pub use resolve::{Dial, Dialing, Resolve, Resolving, SystemDialer, SystemResolver};
pub use target::{Target, TargetError};
