//! For tests: a real server on a free port in a temporary data directory, in front of a model
//! server that follows a script over real HTTP.
//!
//! Here: [`App`], the server inside the test's process; [`Program`], the built binary as a separate
//! process, which can be killed; [`SmallDisk`], a disk that can be full; [`Terminal`], a person's
//! seat at it; and [`Api`], the client for both. Not here: assertions. Production code never uses
//! this crate.

#![expect(clippy::panic, reason = "a test that cannot go on ends there")]

mod api;
mod app;
mod disk;
mod program;
mod socket;
mod stream;
mod terminal;

pub use api::{Answer, Api, install_tls};
pub use app::{App, AppBuilder};
pub use disk::SmallDisk;
pub use program::{Finished, Program, Serving, Signal, send};
pub use samovar_doubles::TestTool;
pub use socket::{Socket, SocketMessage};
pub use stream::{EventStream, Frame};
pub use terminal::{LeftTerminal, Seat, Terminal, keys};

/// The provider row and model of scripted answers.
pub const MODEL: &str = "custom/scripted";
