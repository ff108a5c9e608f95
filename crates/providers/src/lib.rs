//! Providers: whom a prompt can be put to, and how each is spoken to.
//!
//! Here: the table of providers ([`SPECS`]), which of them answers under which model's name
//! ([`Registry`]), the dialects, one folder each, and [`external`], behind which an external agent is.
//! Not here: `demo`, the built-in rules, which the server hands to [`Registry::new`]; when a model is
//! asked and how often (the engine); and where keys come from (the program that fills in
//! [`ProviderConfig`]).
//!
//! A provider that speaks a known dialect is one row in `specs/table.rs`. A dialect is a folder whose
//! root makes a [`Dialect`], to which a row points: it writes a body and brings a `decoder::Reader`
//! for the answer, and `exchange` does the rest. Start with [`Registry`].

pub mod external;
pub mod price;
pub mod probe;
pub mod registry;
pub mod specs;
pub mod unbuilt;

mod anthropic;
mod bounds;
mod chat_completions;
mod decoder;
mod dialect;
mod endpoint;
mod exchange;
mod fault;
mod fingerprint;
mod frames;
mod http;
mod json;
mod results;
mod secret;
mod state;
mod timeouts;
mod words;

pub use dialect::Dialect;
pub use external::{EXTERNAL, External};
pub use price::Price;
pub use probe::{LocalModel, Look, Probed, Probing, Seen};
pub use registry::{Access, Choice, DemoUse, ProviderConfig, Reason, Registry, Row};
pub use secret::Secret;
pub use specs::{Listing, ProviderSpec, SPECS};
pub use timeouts::Timeouts;
pub use unbuilt::{Idle, IdleKey, UNBUILT, Unbuilt, Way};
