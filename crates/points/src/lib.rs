//! Named places in the code, for proofs alone.
//!
//! Here: [`failpoint!`], a point at which a proof can end the process as `kill -9` would, with the
//! table of all points and the hook that the binary sets. Without the feature `failpoints` it is no
//! code at all, so the binary that people run has none.
//! Not here: which point, or how the process ends; that is chosen at run time by the environment,
//! which the binary alone reads.
//!
//! It knows nothing, so that every crate may use it; those that know `core` take it from there.

pub mod failpoint;
