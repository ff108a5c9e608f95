//! What the texts of a language have in common is taken out of their vectors. Otherwise texts would be
//! alike by language first, and nothing would be found across languages.

use std::collections::HashMap;

use crate::file::Fault;
use crate::script::Language;
use crate::vector::{DIMENSIONS, Vector};

/// How much of it is taken out.
const SHARE: f32 = 0.8;
/// How many texts the mean that comes with the model counts for, beside those that are there.
const PRIOR: f32 = 32.0;

/// What a text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It asks.
    Query,
    /// It is found.
    Passage,
}

impl Side {
    pub(crate) const fn prefix(self) -> &'static str {
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

/// The mean vectors of ordinary sentences, for each language and side.
#[derive(Debug)]
pub struct Means(Vec<Vec<f32>>);

impl Means {
    /// Reads a JSON object whose keys are as `p_ru` (a passage) or `q_zh` (a query).
    ///
    /// # Errors
    /// [`Fault`]: a mean is missing, or has another dimension.
    pub fn read(json: &str) -> Result<Self, Fault> {
        let wrong = || Fault::Wrong {
            at: "the means of the languages".to_owned(),
        };
        let mut read: HashMap<String, Vec<f32>> =
            serde_json::from_str(json).map_err(|_| wrong())?;
        let mut all = vec![Vec::new(); 2 * Language::ALL.len()];
        for language in Language::ALL {
            for side in [Side::Query, Side::Passage] {
                let mean = read.remove(&format!("{}_{}", side.letter(), language.code()));
                let mean = mean.filter(|mean| mean.len() == DIMENSIONS);
                all[place(language, side)] = mean.ok_or_else(wrong)?;
            }
        }
        Ok(Self(all))
    }

    /// The vector of a query without what its language has in common.
    pub(crate) fn query(&self, text: &str, mut numbers: Vec<f32>) -> Option<Vector> {
        let mean = &self.0[place(Language::of(text), Side::Query)];
        without(&mut numbers, mean);
        Vector::of(&numbers)
    }

    /// The vectors of passages without what the texts of their language have in common: the mean of all
    /// that are given, and of the sentences that come with the model as if these were 32 more. A vector
    /// of another dimension is left alone.
    pub fn centred(&self, texts: &[(&str, &Vector)]) -> Vec<Vector> {
        let mut sums: Vec<(f32, Vec<f32>)> = Vec::new();
        for language in Language::ALL {
            let mean = self.0[place(language, Side::Passage)].iter();
            sums.push((PRIOR, mean.map(|n| n * PRIOR).collect()));
        }
        let fitting = texts
            .iter()
            .filter(|(_, vector)| vector.dimensions() == DIMENSIONS);
        for (text, vector) in fitting {
            let (count, sum) = &mut sums[Language::of(text) as usize];
            *count += 1.0;
            sum.iter_mut()
                .zip(vector.numbers())
                .for_each(|(sum, n)| *sum += n);
        }
        for (count, sum) in &mut sums {
            for n in sum {
                *n /= *count;
            }
        }
        let centred = texts.iter().map(|(text, vector)| {
            let mut numbers: Vec<_> = vector.numbers().collect();
            without(&mut numbers, &sums[Language::of(text) as usize].1);
            let centred = Some(numbers).filter(|numbers| numbers.len() == DIMENSIONS);
            centred
                .and_then(|numbers| Vector::of(&numbers))
                .unwrap_or_else(|| (*vector).clone())
        });
        centred.collect()
    }
}

fn without(numbers: &mut [f32], mean: &[f32]) {
    numbers
        .iter_mut()
        .zip(mean)
        .for_each(|(n, mean)| *n -= SHARE * mean);
}

/// Where the mean of a language and a side is.
const fn place(language: Language, side: Side) -> usize {
    language as usize * 2 + side as usize
}
