//! The long proofs. The profile `proof` of nextest, and so `cargo xtask prove`, runs what lies in a
//! module of this name; the gate leaves it out.

mod damage;
mod kills;
mod pages;
pub(crate) mod plants;
mod points;
