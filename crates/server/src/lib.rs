//! The server: sockets, the door, the routes, and the composition of all parts.
//!
//! Here: [`Config`] (plain data that the caller provides), [`Home`] (an opened data directory with
//! its engine, with or without a socket), [`Server`] (the socket), and the one table of routes from
//! which the router, the door's rules and the GET forms are made. Not here: what commands mean
//! (`engine`), how protocols are spelled (`wire`), where configuration comes from (the binary).
//!
//! Another program starts a server with [`start`], or mounts the routes in its own axum router
//! (AS-22); a request that arrives before everything is open waits up to four seconds, and is then
//! told to retry:
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
//! That program passes its tools in [`Config::toolsets`], so that they exist before an interrupted
//! turn resumes; tools added to the running engine's toolbox come too late for such a turn.

mod address;
mod agent;
mod api;
mod at_work;
mod body;
mod chat;
mod chatting;
mod clock;
mod config;
mod cookie;
mod cors;
pub mod data_dir;
mod days;
mod definitions;
mod door;
mod endpoint;
mod engine_cell;
mod error;
mod examiner;
mod exchanges;
mod failures;
mod folder;
mod grant;
mod guide;
mod home;
mod listener;
mod logins;
mod meaning;
mod memory;
pub mod models;
mod names;
mod origin;
mod pace;
mod page;
pub mod providers;
mod registered;
mod relay;
mod relaying;
mod reply;
mod router;
mod rules;
mod shell;
mod stream;
mod tickets;
mod token;
mod tokens;
mod ui;
mod unfinished;
mod unremembered;
mod upgrade;

pub use address::Address;
pub use config::{
    Config, ConfiguredTool, ExecConfig, FileAccess, GuideConfig, MemoryConfig, Token,
};
pub use error::OpenError;
pub use examiner::{Examiner, TestLines};
pub use folder::{
    UnreadInstructions, UnreadReason, folder_guide, told_instructions, unread_instructions,
};
pub use guide::{LayerSource, SkillFolders, guide, layer_sources, skill_folders};
pub use home::{Home, LocalAccess, Opening};
pub use listener::{Lack, Server, StartError};
pub use origin::{Authority, NotAnAuthority, NotAnOrigin, Origin};
pub use relaying::{memory_engine, relay_agent};
pub use samovar_agents::Catalogue;
pub use samovar_chat::{ASK_USER, Chat, ChatState, POST_MESSAGE, question_text};
pub use samovar_config::ChatAgent;
pub use samovar_relay::Relay;
pub use samovar_sandbox::cage::{Level, be_cage_if_asked, toolchain_variables};
pub use samovar_sandbox::{Foreign, Owner, Ownership, close_to_others, handover};
pub use samovar_stores::disk::DiskSpace;
pub use samovar_stores::{WalkReport, Walker, walk};
pub use samovar_tools::{GitSettings, SearchService, UndoBounds, WebSearch};
pub use shell::{may_be_a_commands, not_undone, put_aside_before_reading, try_sandbox};

/// The table of routes, for what documents or calls it.
pub mod route {
    pub use crate::endpoint::{Route, Verb};
    pub use crate::router::table;
    pub use crate::tokens::Scope;
}

/// Which addresses webhooks may have, for code that reads the configuration.
pub mod egress {
    pub use samovar_egress::{Client, Range, RangeError, Target};
}

/// Opens the data directory of a configuration and serves it; returns once calls are accepted. Only
/// the [`Config`] counts: no file and no variable is read.
///
/// # Errors
/// [`StartError`]; nothing stays open then.
pub async fn start(config: Config) -> Result<Server, StartError> {
    Box::pin(Server::start(config)).await
}
