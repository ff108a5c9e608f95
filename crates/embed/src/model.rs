//! The model: a text in, a vector out.

use std::collections::HashMap;

use crate::file::{Fault, File};
use crate::forward::Encoder;
use crate::script::Language;
use crate::tokens::Tokenizer;
use crate::vector::{DIMENSIONS, Vector};

/// The tokens that a text may have, at most.
pub const MAX_TOKENS: usize = 512;

/// How much of what the texts of a language have in common is taken away.
const CENTRING: f32 = 0.8;

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It asks.
    Query,
    /// It is found.
    Passage,
}

impl Side {
    const fn prefix(self) -> &'static str {
        match self {
            Self::Query => "query: ",
            Self::Passage => "passage: ",
        }
    }

    const fn letter(self) -> char {
        match self {
            Self::Query => 'q',
            Self::Passage => 'p',
        }
    }
}

/// A model whose file lies in memory.
pub struct Model<'a> {
    tokenizer: Tokenizer<'a>,
    encoder: Encoder<'a>,
    means: Vec<Vec<f32>>,
}

impl<'a> Model<'a> {
    /// Builds up the table of the tokenizer; the weights stay where they are. `means` is a JSON object
    /// with the mean vector of some texts for each language and side, `p_ru` or `q_zh`.
    ///
    /// # Errors
    /// [`Fault`]: it is another file, cut, or its parts do not fit together.
    pub fn read(file: &'a [u8], means: &str) -> Result<Self, Fault> {
        let file = File::read(file)?;
        Ok(Self {
            encoder: Encoder::read(&file)?,
            tokenizer: Tokenizer::new(file.pieces),
            means: self::means(means)?,
        })
    }

    /// The vector of a text, of which at most `tokens` count, never more than [`MAX_TOKENS`]. What all
    /// texts of its language have in common is taken away: otherwise texts would be alike by language
    /// first.
    ///
    /// About 2 ms of CPU a token, on one thread.
    pub fn embed(&self, side: Side, text: &str, tokens: usize) -> Option<Vector> {
        let mut numbers = self.raw(side, text, tokens);
        let mean = &self.means[place(Language::of(text), side)];
        for (n, mean) in numbers.iter_mut().zip(mean) {
            *n -= CENTRING * mean;
        }
        Vector::of(&numbers)
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

/// Where the mean of a language and a side is.
const fn place(language: Language, side: Side) -> usize {
    language as usize * 2 + side as usize
}

fn means(json: &str) -> Result<Vec<Vec<f32>>, Fault> {
    let wrong = || Fault::Wrong {
        at: "the means of the languages".to_owned(),
    };
    let mut read: HashMap<String, Vec<f32>> = serde_json::from_str(json).map_err(|_| wrong())?;
    let mut all = vec![Vec::new(); 2 * Language::ALL.len()];
    for language in Language::ALL {
        for side in [Side::Query, Side::Passage] {
            let mean = read.remove(&format!("{}_{}", side.letter(), language.code()));
            let mean = mean.filter(|mean| mean.len() == DIMENSIONS);
            all[place(language, side)] = mean.ok_or_else(wrong)?;
        }
    }
    Ok(all)
}

#[cfg(all(test, feature = "embedded-model"))]
mod tests;
