//! What agents remember: Markdown files that a person can read and edit, and the tools that change them
//! (MD-9 to MD-13).
//!
//! Here: the line of a memory ([`Entry`]), the files and every change of them ([`Memories`]), what waits
//! for the owner's answer ([`Proposal`]), what a day that is over has for the long term ([`PartOfDay`]), what a query finds, also of earlier exchanges
//! ([`Exchanges`]), what a prompt has of them ([`Told`]), and the tools `remember`,
//! `note_today`, `recall` and `forget` ([`tools`]). Not here: whose memory a session has, who may call
//! what, the prompt itself (the engine), the settings (the server).
//!
//! Start with `entry`, then `memories`. The files are all that is stored; lists and index are made of
//! them, and again when a file has changed.

mod document;
mod embedder;
mod entry;
mod exchange;
mod file;
mod index;
mod meaning;
mod memories;
mod memory;
mod rank;
mod told;
mod toolset;

pub use document::{Section, entries, replaced, without};
pub use embedder::{Embedded, Embedder};
pub use entry::{Entry, MAX_TEXT_BYTES, MemoryId};
pub use exchange::{Asker, Exchanges, LEAST_COSINE, Sessions};
pub use index::Index;
pub use meaning::Meaning;
pub use memories::{About, Hit, MAX_WAITING, Memories, PartOfDay, Proposal, Recalled, Remembered};
pub use memory::{Kept, Memory, Origin, Settings, Source};
pub use rank::{Ranked, ranked};
pub use told::Told;
pub use toolset::{EXCHANGE, FORGET, NAMES, NOTE_TODAY, RECALL, REMEMBER, tools};
