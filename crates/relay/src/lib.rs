//! The relay: rooms in which an external agent operates the screen of a host (spec 08, protocol
//! mvp-0.2).
//!
//! Here: who may send what in a room and where a reply goes, the study log, its replay, and the
//! bridge between the relay and our own loop and tools. Not here: sockets, and the spelling of the
//! messages.
//!
//! Start with [`Relay`]: [`Relay::enter`] returns a [`Member`], which sends and receives messages.
//! [`Relay::attach`] puts a host of this process into a room. [`row`] defines the rows of the study
//! log.

pub mod agent;
mod backend_data;
mod cell;
mod in_process;
mod link;
mod log;
mod logs;
mod member;
mod queue;
mod relay;
pub mod replay;
mod room;
pub mod row;
#[cfg(test)]
mod test_peer;
pub mod toolhost;

pub use in_process::InProcess;
pub use link::{Connector, Disconnect, Link};
pub use logs::StudyLogs;
pub use member::Member;
pub use queue::Disconnected;
pub use relay::{Pass, Relay, RelayConfig};
pub use row::Row;
