//! The server: sockets, the door, the routes, and the composition of all parts.
//!
//! Here: [`Config`] (plain data, read by somebody else), [`Home`] (an opened data directory with
//! its engine, with or without a socket), [`Server`] (the socket), and the one table of routes from
//! which the router, the door's rules and the GET forms are made.
//! Not here: what commands mean (`engine`), how protocols are spelled (`wire`), where configuration
//! comes from (the binary).
//!
//! Another program starts a server with [`start`], or mounts the routes in an axum router of its own
//! (AS-22); what is asked before everything is opened waits up to four seconds, then is told to come
//! again:
//!
//! ```no_run
//! # async fn example(config: samovar_server::Config) -> Result<(), Box<dyn std::error::Error>> {
//! let opening = samovar_server::Opening::begin(&config)?;
//! let agents = opening.router(["agents.example:8080"]);
//! let app = axum::Router::new().nest("/agents", agents);
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! let serving = axum::serve(listener, app);
//! let home = opening.finish().await?;
//! serving.await?;
//! home.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Tools of that program stand in [`Config::toolsets`], so that a turn which a stop has cut finds
//! them when it goes on; those that come to the running engine's toolbox come too late for it.

mod address;
mod agent;
mod api;
pub mod backup;
mod bridge;
mod care;
mod chat;
mod chat_agent;
mod chatting;
mod clock;
mod config;
pub mod damage;
mod door;
mod furnish;
mod health;
mod home;
mod listener;
pub mod models;
mod pace;
mod registered;
mod relay;
mod relay_agent;
mod relaying;
mod reply;
pub mod route;
mod router;
mod slot;
mod stores;
mod stream;
mod tickets;
mod token;
mod tokens;
mod upgrade;

pub use address::Address;
pub use config::{ChatAgent, ChatConfig, Config, ConfiguredTool, Reach, RelaySettings, Token};
pub use home::{Home, OpenError, Opening, WayIn};
pub use listener::{Server, StartError};
pub use relay_agent::relay_agent;
pub use samovar_chat::{Chat, ChatState};
pub use samovar_relay::{Relay, RelayConfig};
pub use samovar_sandbox::{Foreign, Owner, Ownership, close_to_others};
pub use samovar_stores::disk::Room;
pub use samovar_stores::journal::Durability;
pub use stores::run::{Run, RunState};
pub use stores::{Walker, walk};

/// Whom webhooks may ask, for whoever reads the configuration.
pub mod egress {
    pub use samovar_egress::{Client, Range, RangeError};
}

/// The table of providers and what is set for them, for whoever reads the configuration.
pub mod providers {
    pub use samovar_providers::{
        Access, Choice, DemoUse, Idle, IdleKey, LocalModel, Look, Price, Probed, Probing,
        ProviderConfig, ProviderSpec, Reason, Registry, Row, SPECS, Secret, Seen, Timeouts,
        UNBUILT, Unbuilt, Way,
    };

    /// The providers that a configuration sets up, with `demo` among them.
    pub fn registry(config: ProviderConfig) -> Registry {
        Registry::new(config, std::sync::Arc::new(samovar_demo::Demo::new()))
    }
}

/// Opens the data directory of a configuration, serves it, and answers once calls are taken. What a
/// program sets in its [`Config`] is all that counts: no file and no variable is read.
///
/// # Errors
/// [`StartError`]; nothing is left open then.
pub async fn start(config: Config) -> Result<Server, StartError> {
    Server::start(config).await
}
