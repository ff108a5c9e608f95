//! The model: a text in, a vector out.

use crate::centre::{Means, Side};
use crate::file::{Fault, File};
use crate::forward::Encoder;
use crate::tokens::Tokenizer;
use crate::vector::Vector;

/// A model whose file lies in memory.
pub struct Model<'a> {
    tokenizer: Tokenizer<'a>,
    encoder: Encoder<'a>,
    means: Means,
}

impl<'a> Model<'a> {
    /// Builds up the table of the tokenizer; the weights stay where they are.
    ///
    /// # Errors
    /// [`Fault`]: it is another file, cut, or its parts do not fit together.
    pub fn read(file: &'a [u8], means: Means) -> Result<Self, Fault> {
        let file = File::read(file)?;
        Ok(Self {
            encoder: Encoder::read(&file)?,
            tokenizer: Tokenizer::new(file.pieces),
            means,
        })
    }

    /// The vector of a text, of which at most `tokens` count, never more than [`MAX_TOKENS`](crate::MAX_TOKENS). That of a
    /// query is without what the texts of its language have in common; for passages [`Means::centred`]
    /// takes that out when it is known what there is.
    ///
    /// About 2 ms of CPU a token, on one thread.
    pub fn embed(&self, side: Side, text: &str, tokens: usize) -> Option<Vector> {
        let numbers = self.raw(side, text, tokens);
        match side {
            Side::Query => self.means.query(text, numbers),
            Side::Passage => Vector::of(&numbers),
        }
    }

    /// The vector as the model makes it, of length 1.
    fn raw(&self, side: Side, text: &str, tokens: usize) -> Vec<f32> {
        let limit = tokens.clamp(8, self.encoder.positions());
        let tokens = self
            .tokenizer
            .split(&format!("{}{text}", side.prefix()), limit);
        self.encoder.run(&tokens)
    }
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests;
