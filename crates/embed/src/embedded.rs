//! The model that lies in the binary.

use crate::centre::Means;
use crate::file::Fault;
use crate::model::Model;

/// Its name, kept with each vector: a vector of another model says nothing beside those of this one.
pub const NAME: &str = "multilingual-e5-small-q4-38k";

/// From `intfloat/multilingual-e5-small` (MIT; see `model/NOTICE.md`).
#[cfg(feature = "embedded-model")]
pub(crate) static FILE: Option<&[u8]> = Some(include_bytes!("../model/me5-small-q4-38k.bin"));
#[cfg(not(feature = "embedded-model"))]
pub(crate) static FILE: Option<&[u8]> = None;
const MEANS: &str = include_str!("../model/means.json");

/// Whether this binary has the model.
pub const IS_EMBEDDED: bool = FILE.is_some();

/// Builds the model up; `None` in a binary without it (feature `embedded-model`).
///
/// # Errors
/// [`Fault`]: the file in the binary is damaged.
pub fn embedded() -> Result<Option<Model<'static>>, Fault> {
    let read = |file| Model::read(file, means()?);
    FILE.map(read).transpose()
}

/// The means that come with the model.
///
/// # Errors
/// [`Fault`]: the file in the binary is damaged.
pub fn means() -> Result<Means, Fault> {
    Means::read(MEANS)
}
