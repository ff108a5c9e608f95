//! Words and meaning together: which memories answer a query.
//!
//! Meaning decides, and words vote for what a vector blurs: names, ports, error codes. A memory's words
//! vote only when they are a good part of the query's: the words of a question are in some memory by
//! chance nearly always, and then rank it first (measured in `lab/recall`).

use std::cmp::Ordering;

/// The part of a query's words that a memory must have for them to vote.
pub(crate) const LEAST_WORDS: f32 = 0.15;
/// What having all words of a query is worth beside a cosine.
pub(crate) const WORDS: f32 = 0.2;
/// A memory whose vector is further away is no hit by its meaning alone.
pub(crate) const LEAST_COSINE: f32 = 0.25;

/// A memory that answers a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// Its place among all.
    pub place: usize,
    /// What it is worth; the best is first.
    pub score: f32,
    /// How much of the query's words it has, from 0 to about 1.
    pub words: f32,
    /// How near its meaning is, from -1 to 1; `None` where that is not known.
    pub meaning: Option<f32>,
}

/// The memories that answer a query, the best first: those that have its words, each with how much of
/// them, as [`Index::find`](crate::Index::find) gives them, and those whose meaning is near. `cosines`
/// has one for each memory, or is empty where no vector of the query is there.
pub fn ranked(words: &[(usize, f32)], cosines: &[Option<f32>]) -> Vec<Ranked> {
    let mut of_words = vec![0.0; cosines.len()];
    for (place, worth) in words {
        if *place >= of_words.len() {
            of_words.resize(place + 1, 0.0);
        }
        of_words[*place] = *worth;
    }
    let all = of_words
        .into_iter()
        .enumerate()
        .filter_map(|(place, words)| {
            let meaning = cosines.get(place).copied().flatten();
            let vote = if words < LEAST_WORDS { 0.0 } else { words };
            let is_hit = match meaning {
                Some(cosine) => cosine >= LEAST_COSINE || vote > 0.0,
                None => words > 0.0,
            };
            // Without a vector words are all that can speak for it.
            let score = meaning.map_or(words, |cosine| WORDS.mul_add(vote, cosine));
            is_hit.then_some(Ranked {
                place,
                score,
                words,
                meaning,
            })
        });
    let mut all: Vec<_> = all.collect();
    all.sort_by(|one, other| match other.score.total_cmp(&one.score) {
        // Of equal ones the newer.
        Ordering::Equal => other.place.cmp(&one.place),
        by_score => by_score,
    });
    all
}
