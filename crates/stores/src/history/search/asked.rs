//! A query: what the index is asked for, and whether and where a text has it.

use samovar_core::terms::{Shape, each_term};

/// Terms of a query that count, from its beginning.
const MAX_TERMS: usize = 32;
/// Places in a text that are compared to find the words around the hit.
const MAX_PLACES: usize = 200;
/// Bytes in which terms are near each other.
const NEAR_BYTES: usize = 120;
/// Bytes before the hit that are shown, at most, and characters in all.
const BEFORE_BYTES: usize = 48;
const AROUND_CHARS: usize = 160;
/// Characters of a word that is also found by its beginning, and of one that is without its ending.
const MIN_BEGINNING: usize = 3;
const MIN_STEM: usize = 4;

/// How a term of a text may differ from that of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Looseness {
    /// Not at all.
    Words,
    /// It may be longer.
    Beginnings,
    /// It may also have another ending, about a quarter of the word. Of a run of four and more
    /// characters only every other pair counts.
    Stems,
}

impl Looseness {
    /// The strictest first.
    pub(super) const ALL: [Self; 3] = [Self::Words, Self::Beginnings, Self::Stems];
}

/// How well a text fits; the best is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// It has all terms.
    Scattered,
    /// It has them near each other.
    Near,
    /// It has them as they were typed.
    Phrase,
}

/// A text that fits.
pub(super) struct Fit {
    pub(super) worth: Worth,
    /// The words around the hit, on one line.
    pub(super) around: String,
}

/// A query.
pub(crate) struct Asked {
    /// The terms, each with its shape and the number of pairs in its run.
    terms: Vec<(String, Shape, usize)>,
}

/// What is looked for in place of a term.
#[derive(PartialEq, Eq)]
struct Sought<'a> {
    text: &'a str,
    is_beginning: bool,
    /// Whether it is one character of a script without spaces.
    is_character: bool,
}

impl Sought<'_> {
    fn fits(&self, term: &str) -> bool {
        term == self.text || self.is_beginning && term.starts_with(self.text)
    }

    /// What the index is asked. A term has letters and digits only, so nothing in it ends the string.
    fn expression(&self) -> String {
        let star = if self.is_beginning { "*" } else { "" };
        format!("\"{}\"{star}", self.text)
    }
}

impl Asked {
    pub(crate) fn read(text: &str) -> Self {
        let mut terms: Vec<(String, Shape, usize)> = Vec::new();
        each_term(text, |term, shape, _| {
            if terms.len() == MAX_TERMS || shape == (Shape::Last { is_alone: false }) {
                return;
            }
            if let Shape::Pair(before) = shape {
                let from = terms.len() - before.min(terms.len());
                terms[from..]
                    .iter_mut()
                    .for_each(|pair| pair.2 = before + 1);
                terms.push((term.to_owned(), shape, before + 1));
            } else {
                terms.push((term.to_owned(), shape, 0));
            }
        });
        Self { terms }
    }

    fn sought(&self, looseness: Looseness) -> Vec<Sought<'_>> {
        let terms = self.terms.iter();
        let sought = terms.filter_map(|(term, shape, pairs)| {
            let count = term.chars().count();
            let (text, is_beginning) = match (shape, looseness) {
                (Shape::Pair(before), Looseness::Stems) if *pairs > 2 && before % 2 == 1 => {
                    return None;
                }
                (Shape::Pair(_), _) | (Shape::Word, Looseness::Words) => (term.as_str(), false),
                (Shape::Word, Looseness::Stems) if count >= MIN_STEM && has_endings(term) => {
                    let kept = count - count / 4;
                    let end = term
                        .char_indices()
                        .nth(kept)
                        .map_or(term.len(), |(at, _)| at);
                    (&term[..end], true)
                }
                (Shape::Word, _) => (term.as_str(), count >= MIN_BEGINNING),
                (Shape::Last { .. }, _) => (term.as_str(), true),
            };
            Some(Sought {
                text,
                is_beginning,
                is_character: matches!(shape, Shape::Last { .. }),
            })
        });
        sought.collect()
    }

    /// What the index is asked; none if nothing is looked for, or if a stricter way did the same. Empty
    /// if only single characters are looked for, of which the index knows nothing.
    pub(super) fn expression(&self, looseness: Looseness) -> Option<String> {
        let sought = self.sought(looseness);
        let mut stricter = Looseness::ALL
            .into_iter()
            .take_while(|way| *way != looseness);
        if sought.is_empty() || stricter.any(|way| self.sought(way) == sought) {
            return None;
        }
        Some(expressions(&sought).join(" AND "))
    }

    /// What the index is asked for each term by itself, in any of its forms.
    pub(crate) fn each(&self) -> Vec<String> {
        expressions(&self.sought(Looseness::Stems))
    }

    /// Whether a text has all that is looked for.
    pub(super) fn fit(&self, text: &str, looseness: Looseness) -> Option<Fit> {
        let sought = self.sought(looseness);
        let mut reading = Reading {
            is_met: vec![false; sought.len()],
            sought,
            places: Vec::new(),
            begun: Vec::new(),
            phrase: None,
        };
        each_term(text, |term, shape, at| reading.meet(term, shape, at.start));
        reading.is_met.iter().all(|is_met| *is_met).then(|| {
            let (worth, at) = reading.best();
            let around = around(text, at);
            Fit { worth, around }
        })
    }
}

/// Those of terms, each once; the index has no single characters.
fn expressions(sought: &[Sought<'_>]) -> Vec<String> {
    let new = sought.iter().enumerate();
    let new = new.filter(|(at, one)| !one.is_character && !sought[..*at].contains(one));
    new.map(|(_, one)| one.expression()).collect()
}

/// Whether a word may have endings: it has letters only, unlike a number or an id.
fn has_endings(term: &str) -> bool {
    term.chars().all(char::is_alphabetic)
}

/// A text that is being read for a query.
struct Reading<'a> {
    sought: Vec<Sought<'a>>,
    is_met: Vec<bool>,
    /// Where which term is, the first of them.
    places: Vec<(usize, usize)>,
    /// Phrases that have begun: the terms that are met, and where the first is.
    begun: Vec<(usize, usize)>,
    phrase: Option<usize>,
}

impl Reading<'_> {
    fn meet(&mut self, term: &str, shape: Shape, at: usize) {
        for (number, sought) in self.sought.iter().enumerate() {
            if sought.fits(term) {
                self.is_met[number] = true;
                if self.places.len() < MAX_PLACES {
                    self.places.push((at, number));
                }
            }
        }
        if shape == (Shape::Last { is_alone: false }) || self.phrase.is_some() {
            return;
        }
        self.begun.push((0, at));
        let sought = &self.sought;
        self.begun.retain_mut(|(met, _)| {
            *met += 1;
            sought[*met - 1].fits(term)
        });
        let whole = self.begun.iter().find(|(met, _)| *met == sought.len());
        self.phrase = whole.map(|(_, from)| *from);
    }

    /// The best that is there, and where it begins.
    fn best(&self) -> (Worth, usize) {
        if let Some(from) = self.phrase {
            return (Worth::Phrase, from);
        }
        let near = |from: usize| {
            let (start, _) = self.places[from];
            let places = self.places[from..].iter();
            let near = places.take_while(|(at, _)| at - start < NEAR_BYTES);
            let mut met: Vec<_> = near.map(|(_, number)| number).collect();
            met.sort_unstable();
            met.dedup();
            met.len()
        };
        let counted = (0..self.places.len()).map(|from| (near(from), from));
        // The first of the best.
        let best = counted.max_by_key(|(near, from)| (*near, std::cmp::Reverse(*from)));
        let (near, from) = best.unwrap_or_default();
        let at = self.places.get(from).map_or(0, |(at, _)| *at);
        let is_near = near == self.sought.len();
        (
            if is_near {
                Worth::Near
            } else {
                Worth::Scattered
            },
            at,
        )
    }
}

/// The words around a place of a text, on one line, with signs where something was left out.
fn around(text: &str, at: usize) -> String {
    let mut from = text.floor_char_boundary(at.saturating_sub(BEFORE_BYTES));
    if from > 0 {
        // After a border of words, if there is one.
        let border = text[from..at].find(char::is_whitespace);
        from += border.unwrap_or_default();
    }
    let rest = &text[from..];
    let end = rest.char_indices().nth(AROUND_CHARS);
    let shown = match end {
        None => rest,
        Some((end, _)) => {
            let hit = at - from;
            let border = rest[hit..end].rfind(char::is_whitespace);
            &rest[..border.map_or(end, |border| hit + border)]
        }
    };
    let words: Vec<_> = shown.split_whitespace().collect();
    let left = if from > 0 { "…" } else { "" };
    let right = if shown.len() < rest.len() { "…" } else { "" };
    format!("{left}{}{right}", words.join(" "))
}
