//! Which memories have the words of a query, best first: BM25 over words without their case, accents
//! and endings, and over pairs of characters where a script has no spaces.

use std::collections::{HashMap, HashSet};

use samovar_core::terms::{Shape, each_term};

/// Terms of a query that count, from its beginning.
const MAX_TERMS: usize = 64;
/// The letters of a word that are its beginning, at least, and those that may follow it as an ending.
const MIN_STEM: usize = 4;
const MAX_ENDING: usize = 2;
/// What a word counts that differs in its ending only.
const BY_STEM: f32 = 0.6;
/// How soon further words of a memory make it less worth.
const LENGTH: f32 = 0.4;
/// A hit has at least this part of the best one's worth.
const LEAST_OF_BEST: f32 = 0.3;

/// The memories by their places, with the terms of each.
#[derive(Debug, Default)]
pub struct Index {
    places: HashMap<String, Vec<u32>>,
    stems: HashMap<String, Vec<u32>>,
    lengths: Vec<u32>,
    average: f32,
}

impl Index {
    /// That of texts, which are found by their places in the order given.
    pub fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut index = Self::default();
        for (place, text) in texts.enumerate() {
            let place = u32::try_from(place).unwrap_or(u32::MAX);
            let terms = terms(text);
            let count = u32::try_from(terms.len()).unwrap_or(u32::MAX);
            index.lengths.push(count);
            for term in terms {
                for stem in stems(&term) {
                    let places = index.stems.entry(stem.to_owned()).or_default();
                    if places.last() != Some(&place) {
                        places.push(place);
                    }
                }
                index.places.entry(term).or_default().push(place);
            }
        }
        let total: u64 = index.lengths.iter().map(|length| u64::from(*length)).sum();
        index.average = ratio(total, index.lengths.len().max(1));
        index
    }

    /// The places of the texts that have words of a query, with what each is worth, the best and newest
    /// first: 1 for a text of usual length that has all words of the query.
    pub fn find(&self, query: &str) -> Vec<(usize, f32)> {
        let mut worth: HashMap<u32, f32> = HashMap::new();
        let mut all = 0.0;
        for term in terms(query).iter().take(MAX_TERMS) {
            let exact = self.places.get(term).map_or(&[][..], Vec::as_slice);
            let alike = stems(term).filter_map(|stem| self.stems.get(stem));
            let mut alike: Vec<_> = alike.flatten().copied().collect();
            alike.sort_unstable();
            alike.dedup();
            alike.retain(|place| exact.binary_search(place).is_err());
            // A word that no text has counts as one that a single text has.
            all += self.rarity(if exact.is_empty() {
                alike.len()
            } else {
                exact.len()
            });
            self.count(exact, 1.0, &mut worth);
            self.count(&alike, BY_STEM, &mut worth);
        }
        let mut found: Vec<_> = worth.into_iter().collect();
        found.sort_unstable_by(|(one, worth), (other, others)| {
            others.total_cmp(worth).then(other.cmp(one))
        });
        let best = found.first().map_or(0.0, |(_, worth)| *worth);
        found.retain(|(_, worth)| *worth >= best * LEAST_OF_BEST);
        let found = found.into_iter();
        found
            .map(|(place, worth)| (place as usize, worth / all))
            .collect()
    }

    /// What a word is worth that so many texts have. Its square makes words that are in many texts count
    /// for little beside a name or a number.
    fn rarity(&self, having: usize) -> f32 {
        let rarity = (1.0 + ratio(self.lengths.len() as u64, having.max(1))).ln();
        rarity * rarity
    }

    fn count(&self, places: &[u32], weight: f32, worth: &mut HashMap<u32, f32>) {
        let rarity = self.rarity(places.len());
        for place in places {
            let length = self.lengths.get(*place as usize).copied().unwrap_or(1);
            let length = ratio(length.into(), 1) / self.average.max(1.0);
            *worth.entry(*place).or_default() += weight * rarity / (1.0 - LENGTH + LENGTH * length);
        }
    }
}

/// Each term of a text once.
fn terms(text: &str) -> Vec<String> {
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    each_term(text, |term, shape, _| {
        let counts = !matches!(shape, Shape::Last { is_alone: false });
        if counts && seen.insert(term.to_owned()) {
            all.push(term.to_owned());
        }
    });
    all
}

/// The beginnings of a word that its other forms have, too, and itself.
fn stems(term: &str) -> impl Iterator<Item = &str> {
    let ends = term.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<_> = ends.collect();
    let shortest = ends.len().saturating_sub(MAX_ENDING).max(MIN_STEM);
    let ends = ends.into_iter().skip(shortest - 1);
    ends.map(|end| &term[..end])
}

#[expect(clippy::cast_precision_loss, reason = "they are counts of words")]
fn ratio(one: u64, other: usize) -> f32 {
    one as f32 / other as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves MD-11
    #[test]
    fn the_memory_that_fits_best_is_found_in_four_languages() {
        let texts = [
            "The person likes green tea without sugar.",
            "The build server is called otter and runs Debian.",
            "Человек любит зелёный чай без сахара.",
            "Сервер сборки называется выдра.",
            "Людина любить зелений чай.",
            "用户喜欢不加糖的绿茶。",
            "Deploys happen on Thursdays after the tests.",
        ];
        let index = Index::new(texts.into_iter());
        for (query, expected) in [
            ("which tea does the person like", 0),
            ("name of the build server", 1),
            ("какой чай любит человек", 2),
            ("серверы", 3),
            ("що людина любить", 4),
            ("绿茶", 5),
            ("when do we deploy", 6),
        ] {
            let found = index.find(query);
            assert_eq!(found.first().map(|(at, _)| *at), Some(expected), "{query}");
        }
        assert_eq!(index.find("zebra"), []);
        assert_eq!(index.find(""), []);
    }

    // proves MD-11
    #[test]
    fn ten_thousand_memories_are_searched_by_the_words_of_the_query_alone() {
        let texts: Vec<_> = (0..10_000)
            .map(|n| format!("the fact number{n} is so"))
            .collect();
        let index = Index::new(texts.iter().map(String::as_str));
        let found = index.find("number4711");
        assert_eq!(found.first().map(|(at, _)| *at), Some(4711));
        // Of equal ones the newest is first.
        assert_eq!(index.find("fact").first().map(|(at, _)| *at), Some(9_999));
    }
}
