//! The limit of this process.

use std::io;
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The soft limit before this process raised it.
static FOUND: OnceLock<Option<u64>> = OnceLock::new();

/// How many descriptors this process may open: its soft limit; `u64::MAX` without one.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the soft limit to the hard one.
///
/// # Errors
/// The system refuses; the limit is as it was.
pub fn raise() -> io::Result<()> {
    let found = getrlimit(Resource::Nofile);
    FOUND.get_or_init(|| found.current);
    set(found.maximum, found)
}

/// Gives the soft limit back that [`raise`] found, for a program that takes this one's place. Many
/// programs are slow or break with a high limit, such as those that use `select`.
///
/// # Errors
/// The system refuses; the limit is as it was.
pub fn restore() -> io::Result<()> {
    match FOUND.get() {
        Some(found) => set(*found, getrlimit(Resource::Nofile)),
        None => Ok(()),
    }
}

fn set(soft: Option<u64>, now: Rlimit) -> io::Result<()> {
    let limit = Rlimit {
        current: soft,
        ..now
    };
    Ok(setrlimit(Resource::Nofile, limit)?)
}
