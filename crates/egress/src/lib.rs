//! The one safe HTTP client, for everything that fetches what somebody else named (TL-9).
//!
//! Here: [`Client`], which resolves a host once, refuses it when any of its addresses is not a public
//! one or in a [`Range`] that was opened, connects to the very address that it checked, follows few
//! redirects and checks each anew, and bounds what comes back; [`Target`], an address as it may be
//! asked; [`private`], the table of what is not public.
//! Not here: who may ask for what, and what an answer means.
//! Start at [`Client::send`].
//!
//! No proxy and no variable of the environment is heeded. What an address, a header or a body holds
//! is in no error: keys travel in all three.

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
pub use resolve::{Resolve, Resolving, SystemResolver};
pub use target::{Target, TargetError};
