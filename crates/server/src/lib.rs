//! The server: sockets, the door, the routes, and the composition of all parts.
//!
//! Here: [`Config`] (plain data, read by somebody else), [`Home`] (an opened data directory with
//! its engine, with or without a socket), [`Server`] (the socket), and the one table of routes from
//! which the router, the door's rules and the GET forms are made.
//! Not here: what commands mean (`engine`), how protocols are spelled (`wire`), where configuration
//! comes from (the binary).

mod agent;
mod clock;
mod config;
mod door;
mod health;
mod home;
mod listener;
mod reply;
pub mod route;
mod stream;
mod token;

pub use config::{Config, Token};
pub use home::{Home, OpenError};
pub use listener::{Server, StartError};

/// The table of providers and what is set for them, for whoever reads the configuration.
pub mod providers {
    pub use samovar_providers::{
        Access, DemoUse, Dialect, ProviderConfig, ProviderSpec, Registry, SPECS, Secret, Timeouts,
    };
}
