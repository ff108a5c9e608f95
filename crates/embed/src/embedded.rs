//! The model that lies in the binary.

use crate::file::Fault;
use crate::model::Model;

/// Its name, kept with each vector: a vector of another model says nothing beside those of this one.
pub const NAME: &str = "multilingual-e5-small-q4-38k";

/// From `intfloat/multilingual-e5-small` (MIT; see `model/NOTICE.md`).
#[cfg(feature = "embedded-model")]
pub(crate) static FILE: &[u8] = include_bytes!("../model/me5-small-q4-38k.bin");
#[cfg(feature = "embedded-model")]
pub(crate) static MEANS: &str = include_str!("../model/means.json");

/// Builds it up; `None` in a binary without it (feature `embedded-model`).
///
/// # Errors
/// [`Fault`]: the file in the binary is damaged.
#[cfg(feature = "embedded-model")]
pub fn embedded() -> Result<Option<Model<'static>>, Fault> {
    Model::read(FILE, MEANS).map(Some)
}

/// Builds it up; `None` in a binary without it (feature `embedded-model`).
///
/// # Errors
/// None without the feature.
#[cfg(not(feature = "embedded-model"))]
pub fn embedded() -> Result<Option<Model<'static>>, Fault> {
    Ok(None)
}
