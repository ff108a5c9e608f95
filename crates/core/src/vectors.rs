//! The third store's port: what texts mean, as numbers (MD-11). All of it can be made again from the
//! texts, which are elsewhere.

use crate::future::Future;

/// The SHA-256 of a text.
pub type TextHash = [u8; 32];

/// The vector of a text, as bytes that its maker can read.
pub type TextVector = (TextHash, Vec<u8>);

/// Keeps a vector for each text, by the text's hash. An error is one sentence.
pub trait Vectors: Send + Sync {
    /// Whether there may be any.
    fn is_there(&self) -> bool;

    /// The vectors that a model has made.
    fn load<'a>(&'a self, model: &'a str) -> Future<'a, Result<Vec<TextVector>, String>>;

    /// Keeps vectors that a model has made; one of another model for the same text goes.
    fn keep<'a>(
        &'a self,
        model: &'a str,
        vectors: Vec<TextVector>,
    ) -> Future<'a, Result<(), String>>;

    /// Removes the vectors of texts from the file, not from its tables alone.
    fn remove(&self, texts: Vec<TextHash>) -> Future<'_, Result<(), String>>;
}
