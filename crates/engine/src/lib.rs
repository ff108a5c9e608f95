//! The engine: sessions, turns, the log, the gate, recovery.
//!
//! Here: everything that happens to a command from its decoding until its events can be followed.
//! [`Engine`] is the way in; [`turn`] decides, purely; `runner` is the only code that touches both
//! the turn and the world; `log` keeps, then publishes; `session` owns a session's state;
//! `projector` writes events to the history. Not here: HTTP, SQL, LMDB, the spelling of any
//! protocol, any provider or tool.

mod answer;
mod blobs;
mod budget;
mod context;
mod copying;
mod counts;
mod delegation;
mod disk_space;
mod edges;
mod engine;
mod folder;
pub mod gate;
mod guide;
mod indexing;
mod keep;
mod layers;
mod log;
mod memory;
mod modes;
mod open_calls;
mod parts;
pub mod policy;
mod ports;
mod posted;
mod projection;
mod projector;
mod recorder;
mod recovered;
mod relations;
mod rules;
mod runner;
mod session;
mod settings;
mod slots;
mod state;
mod taint;
mod told;
mod toolbox;
pub mod turn;

pub use blobs::{BlobKeeper, Naming};
pub use counts::{Numbers, TURN_ENDS};
pub use delegation::DelegationTools;
pub use engine::fork::{Fork, Import};
pub use engine::in_memory::{Beginning, MemorySession};
pub use engine::resume::{ReaderPosition, ResumeFrom, Resumption, SessionFeed, TurnChoice};
pub use engine::{Attendance, Engine};
pub use folder::{Folder, FolderFile};
pub use gate::args_hash;
pub use guide::{Audience, Guidance, Guide, MEMORY_TOOLS, READ_SKILL};
pub use layers::memory_left_out;
pub use log::{FeedEvent, FeedNews, FeedReader, FollowError, Follower};
pub use memory::{Admission, Held};
pub use modes::AgentModes;
pub use open_calls::{CallWatch, OpenCall};
pub use parts::not_recorded;
pub use ports::Ports;
pub use projector::Lag;
pub use recovered::Recovered;
pub use rules::{MAX_RULES, RuleBook};
pub use session::Conversation;
pub use settings::{Layout, Recovery, Retry, Settings};
pub use told::{ToldPart, ToldPrompt, build_prompt};
pub use toolbox::Toolbox;
