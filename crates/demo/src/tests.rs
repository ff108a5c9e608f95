//! Tests of the provider as its callers see it.

mod sentences;
mod turns;
pub(super) mod world;
