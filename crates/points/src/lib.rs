//! Named places in the code, for proofs alone.
//!
//! Here: [`failpoint!`], a point at which a proof can end the process as `kill -9` would, with the
//! hook that the binary sets; [`planted!`], a fault made on purpose, which a proof must find. Each
//! has a table of all that there are. Without the features `failpoints` and `plant` they are no code
//! at all, so the binary that people run has none.
//! Not here: which point, which fault, or how the process ends; that is chosen at run time by the
//! environment, which the binary alone reads.
//!
//! It knows nothing, so that every crate may use it; those that know `core` take it from there.

pub mod failpoint;
pub mod plant;
