//! Named points in the code, for proofs alone.
//!
//! Here: [`failpoint!`], a point at which a proof can end the process as `kill -9` would, with a
//! hook that the binary sets; [`planted!`], a deliberate fault that a proof must find. Each has a
//! table of all its names. Without the features `failpoints` and `plant` both compile to nothing,
//! so the released binary has none. Not here: the choice of point or fault, and how the process
//! ends; the environment decides at run time, and only the binary reads it.
//!
//! The crate depends on nothing, so that every crate may use it; crates that know `core` take it
//! from there.

pub mod failpoint;
pub mod plant;
