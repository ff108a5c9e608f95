//! The stores that implement the ports of `samovar-core`.
//!
//! Here: [`open`], the only entry. It gives the [`Stores`] of a data directory: the journal (the
//! truth about every turn, LMDB with a spool for live events), the history that is projected from
//! it (`SQLite`), the audit, and their maintenance: disk, backups, damage reports. Beside them is the
//! third store, [`SqliteVectors`], which can be made again at any time and opens when it is first used.
//! There is one pair of stores today; the server sees only [`Stores`].
//! Not here: what is kept when, and what a turn does next. Also not here: who may open a data
//! directory. Only one process may at a time; the owner of its lock ensures that first.
//!
//! No store reads another (DU-1).
//! Start with [`open`].

pub mod audit;
pub mod backup;
mod blobs;
pub mod codec;
pub mod damage;
mod data_dir;
pub mod disk;
mod error;
mod generation;
pub mod history;
pub mod journal;
mod missing;
mod open;
mod run;
mod spool;
mod vectors;
mod walker;

pub use data_dir::{DataDir, SmallFiles};
pub use error::OpenError;
pub use generation::{Lack, Missing, Store};
pub use history::{HistoryReport, read_history};
pub use journal::{WalkReport, walk};
pub use missing::{Mended, mend, missing};
pub use open::{Options, Stores, open};
pub use run::{Run, RunState};
pub use vectors::SqliteVectors;
pub use walker::Walker;
