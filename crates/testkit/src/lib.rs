//! For tests: a real server on a free port in a temporary data directory, in front of a model
//! server that follows a script over real HTTP.
//!
//! Here: [`App`], the server inside the test's process, with a client that knows the API; and
//! [`Program`], the built binary as a process of its own, which can be killed.
//! Not here: assertions. Production code never uses this crate.

mod app;
mod program;
mod stream;
mod tool;

pub use app::{Answer, App, AppBuilder};
pub use program::{Finished, Program, Serving};
pub use stream::{EventStream, Frame};
pub use tool::TestTool;

/// The provider row and model that scripted answers come from.
pub const MODEL: &str = "custom/scripted";
