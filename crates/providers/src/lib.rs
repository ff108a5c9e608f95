//! Providers: the services that can answer a prompt, and how to talk to each.
//!
//! Here: the table of providers ([`SPECS`]), the choice of a provider by a model's name
//! ([`Registry`]), the dialects, one folder each, [`external`], which lets an external agent
//! drive a session, and [`recorded`], which reads answers without a network. Not here: `demo`, the
//! built-in rules, which the server passes to [`Registry::new`]; when and how often a model is
//! called (the engine); and where keys come from (the caller that fills in [`ProviderConfig`]).
//!
//! A provider that speaks a known dialect is one row in `specs/table.rs`. A dialect is a folder
//! whose root makes a [`Dialect`], to which a row points: it writes a body and brings a
//! `dialect::Reader` for the answer, and `exchange` does the rest. Start with [`Registry`].

pub mod external;
pub mod price;
pub mod probe;
pub mod recorded;
pub mod registry;
pub mod specs;
pub mod unbuilt;

mod anthropic;
mod asking;
mod bounds;
mod chat_completions;
mod decoder;
mod dialect;
mod embeddings;
mod endpoint;
mod exchange;
mod fault;
mod fingerprint;
mod frames;
mod habits;
mod http;
mod images;
mod json;
mod marks;
mod proxy;
mod repair;
mod results;
mod schema;
mod state;
mod text_calls;
mod timeouts;
mod words;

pub use dialect::Dialect;
pub use embeddings::Embeddings;
pub use external::{EXTERNAL, External};
pub use price::Price;
pub use probe::{LocalModel, ProbeOutcome, ProbeReport, Probing, ServerProbe};
pub use proxy::{Proxy, ProxyConfig, ProxyError, ProxySetting, Way};
pub use registry::{Access, Choice, DemoUse, ProviderConfig, Reason, Registry, Row, price_key};
pub use samovar_core::redact::Secret;
pub use specs::{Listing, ProviderSpec, SPECS};
pub use timeouts::Timeouts;
pub use unbuilt::{Alternative, Idle, IdleKey, UNBUILT, Unbuilt};
