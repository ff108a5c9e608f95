//! The stores, behind the ports of `samovar-core`.
//!
//! Here: [`open`], the one door. It gives the [`Stores`] of a data directory: the journal (the truth
//! about every turn, LMDB with a spool for live events), the history that is projected from it
//! (`SQLite`), and the care of both: disk, backups, reports of damage. A further store is one folder
//! and one arm there. [`memory`] is a journal for sessions that end with the process.
//! Not here: what is kept when, what a turn does next, and who may open a data directory: one
//! process at a time, which the owner of its lock ensures before it opens anything here.
//!
//! No store reads another (DU-1).
//! Start with [`open`].

pub mod backup;
pub mod damage;
mod data_dir;
pub mod disk;
pub mod history;
pub mod journal;
pub mod memory;
mod open;
mod run;
mod spool;
mod walker;

pub use data_dir::{DataDir, SmallFiles};
pub use journal::{Durability, walk};
pub use open::{OpenError, Options, Stores, open};
pub use run::{Run, RunState};
pub use walker::Walker;
