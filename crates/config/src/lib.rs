//! The configuration: its types, its layers, and where each value came from.
//!
//! Here: [`Settings`], whose types give the [`schema`], the [`Keys`], the names of variables and
//! the reference page; [`Sources`], which reads flags, environment and two files and
//! resolves them; the rules for what a folder's file may set without trust. Not here: reading the
//! process's environment or its current folder (the binary does, and passes them in), the table of
//! providers, and what the values do. Start at [`Sources::resolve`].

mod custom;
mod defaults;
mod document;
mod environment;
mod error;
mod exec;
mod explain;
mod file;
mod folders;
mod guide;
mod keys;
mod kind;
mod layer;
mod located;
mod memory;
mod modes;
mod nearest;
mod origin;
mod page;
mod policy;
mod proxies;
mod resolve;
mod schema;
mod seconds;
mod secrets;
mod settings;
mod template;
mod trust;
mod web;

pub use custom::CustomTool;
pub use defaults::Defaults;
pub use environment::Flag;
pub use error::{ConfigError, Problem};
pub use exec::{Exec, Sandbox};
pub use explain::{Explained, Overridden};
pub use file::MAX_FILE_BYTES;
pub use folders::Folders;
pub use guide::{Bootstrap, PromptLayout, PromptSettings, Skills};
pub use keys::{ANY_NAME, Key, Keys, ProviderNames, VARIABLE_PREFIX};
pub use kind::Kind;
pub use located::{Located, State};
pub use memory::{Consolidate, Memory};
pub use modes::AgentMode;
pub use nearest::nearest;
pub use origin::{Location, Origin};
pub use page::{provider_reference, reference};
pub use policy::PolicyRule;
pub use proxies::{ProxyAddress, ProxyVariable};
pub use resolve::{FILE_NAME, Resolved, Sources};
pub use schema::schema;
pub use settings::{
    Chat, ChatAgent, Egress, Models, Provider, Recovery, Relay, Secret, Server, Session, Settings,
    Store, Stream, Tools,
};
pub use template::template;
pub use trust::{Candidate, FolderTrust, TrustState, Widening};
pub use web::{SearchEngine, Web};
