//! The barriers between an untrusted tool call and this machine.
//!
//! Here: the path jail, in which file tools see one folder and nothing else; the lock that gives a
//! data directory one holder, the mark that identifies its owner, and its small files; [`handover`],
//! which passes keys to the next program of a process; and the [`cage`] in which commands run. Not
//! here: what a tool does with a file, who may call it, and what a command means. Start at
//! [`Jail::open`], where a path from a model becomes a [`JailPath`] first and every operation takes a
//! `JailPath`, or at [`cage::Cages`].
//!
//! Every function blocks; callers on an async runtime move the work to a blocking thread. Linux 5.6
//! or newer only, for `openat2`; if the kernel lacks it, [`Jail::open`] refuses. A cage needs more, and says what.

pub mod cage;
mod error;
pub mod handover;
mod jail;
mod kernel;
mod lock;
mod owner;
mod path;
mod small;
mod sys;
mod temp;

pub use error::JailError;
pub use jail::{
    Entries, Entry, Facts, HeldFolder, Jail, Kind, Listing, OpenFile, Protected, Visit, WalkLimits,
    WalkOmissions, WriteResult,
};
pub use lock::{DirLock, LockError, wait_until_free};
pub use owner::{Foreign, Owner, Ownership};
pub use path::JailPath;
pub use small::{SmallFile, SmallFiles, Survival, close_to_others};
