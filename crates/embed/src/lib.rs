//! Texts as vectors that are near each other when the texts mean the same, in English, Russian, Ukrainian
//! and Chinese, without a network (MD-15).
//!
//! Here: the model file ([`Model::read`]), its tokenizer, the forward pass ([`Model::embed`]), the model
//! that lies in the binary ([`embedded`], with the feature `embedded-model`), and [`Vector`], in which a
//! store keeps what comes out. Not here: what is embedded when, where vectors are kept, which of them
//! answer a query.
//!
//! Start with `model`. The weights stay where they lie, in the pages of the binary: only the table of
//! the tokenizer is built up.

mod centre;
mod embedded;
mod file;
mod forward;
mod math;
mod model;
mod script;
mod tokens;
mod vector;

pub use centre::{Means, Side};
pub use embedded::{IS_EMBEDDED, NAME, embedded, means};
pub use file::{Fault, MAX_TOKENS};
pub use model::Model;
pub use vector::{DIMENSIONS, Vector};
