//! The languages that are understood, and which of them a text may be in.

use serde::Deserialize;

use crate::table::TABLE;

/// A language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Language {
    En,
    Ru,
    Uk,
    Zh,
}

impl Language {
    /// All of them.
    pub(crate) const ALL: [Self; 4] = [Self::En, Self::Ru, Self::Uk, Self::Zh];

    /// The languages in whose letters a text is written, the likeliest first; never empty.
    pub(crate) fn candidates(text: &str) -> Vec<Self> {
        let has = |is: fn(char) -> bool| text.chars().any(is);
        let mut found = Vec::new();
        if has(is_han) {
            found.push(Self::Zh);
        }
        let words = TABLE
            .words
            .phrase("ukrainian", Self::Uk)
            .unwrap_or_default();
        let is_word = |word: &str| words.split('|').any(|one| one == word);
        let is_ukrainian = || {
            let text = text.to_lowercase();
            text.split(|c: char| !c.is_alphabetic()).any(is_word)
        };
        if has(|c| "іїєґІЇЄҐ".contains(c)) || is_ukrainian() {
            found.extend([Self::Uk, Self::Ru]);
        } else if has(|c| ('\u{400}'..='\u{4ff}').contains(&c)) {
            found.extend([Self::Ru, Self::Uk]);
        }
        if found.is_empty() || has(|c| c.is_ascii_alphabetic()) {
            found.push(Self::En);
        }
        found
    }
}

/// Whether a character is a Chinese one, which needs no space before or after it.
pub(crate) fn is_han(c: char) -> bool {
    ('\u{4e00}'..='\u{9fff}').contains(&c)
}
