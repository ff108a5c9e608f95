//! The stores, one per file, behind the ports of `samovar-core`.
//!
//! Here: [`journal`], the hot store and the truth about every turn (LMDB, with a spool for live
//! events), [`history`], the cold store that is projected from it (`SQLite`), [`disk`], what both
//! know of their shared disk, and [`memory`], a hot store for sessions that end with the process.
//! Not here: what is kept when, what a turn does next, and who may open a data directory: one
//! process at a time, which the owner of its lock ensures before it opens anything here.
//!
//! No store reads another (DU-1). Start with [`journal::LmdbJournal::open`].

pub mod disk;
pub mod history;
pub mod journal;
pub mod memory;
mod spool;
