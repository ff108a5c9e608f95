//! Finds the words of the tables in a text, and by them the language it is written in.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::text::{Kind, Token, is_han, normalise};
use super::words::{Concept, Language, NUMBER_ENDINGS};

/// What a piece of a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A word or phrase of the tables.
    Is(Concept),
    /// A number in plain digits, by a word or by digits.
    Number(String),
    /// One character of arithmetic.
    Operator(char),
    /// Text in quotation marks: its first byte, and the first byte behind it.
    Quoted(usize, usize),
    /// A word that looks like a path.
    Path,
    /// A word of no table.
    Unknown,
    /// Punctuation.
    Mark(char),
}

/// One or more tokens with one meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// What it means.
    pub(super) meaning: Meaning,
    /// Its first byte.
    pub(super) start: usize,
    /// The first byte behind it.
    pub(super) end: usize,
    /// Whether nothing but the piece before it lies in front.
    pub(super) glued: bool,
    /// It as the tables spell it.
    pub(super) norm: String,
    /// How many tokens it is made of.
    tokens: usize,
}

impl Piece {
    /// Whether it is this word.
    pub(super) fn is(&self, concept: Concept) -> bool {
        self.meaning == Meaning::Is(concept)
    }

    /// Whether it is one of these words.
    pub(super) fn is_any(&self, concepts: &[Concept]) -> bool {
        matches!(self.meaning, Meaning::Is(concept) if concepts.contains(&concept))
    }
}

/// Reads tokens in the language that knows most of them.
pub(super) fn read(tokens: &[Token]) -> (Language, Vec<Piece>) {
    let mut best = (0, fallback(tokens), Vec::new());
    for language in Language::ALL {
        let pieces = pieces(tokens, language);
        let known: usize = pieces.iter().map(known).sum();
        let letters = language.letters();
        let own = tokens
            .iter()
            .any(|token| token.norm.contains(|c| letters.contains(c)));
        let score = if known == 0 {
            0
        } else {
            known + usize::from(own)
        };
        if score > best.0 {
            best = (score, language, pieces);
        }
    }
    if best.0 == 0 {
        best.2 = pieces(tokens, best.1);
    }
    (best.1, best.2)
}

/// Reads tokens in a language that is known.
pub(super) fn read_in(tokens: &[Token], language: Language) -> Vec<Piece> {
    pieces(tokens, language)
}

/// The spellings of one cell, to be looked for in any language.
pub(super) struct Cell(Vec<Spelling>);

impl Cell {
    /// A cell as the tables write it.
    pub(super) fn new(cell: &str) -> Self {
        let spellings = cell.split('|');
        Self(
            spellings
                .map(|spelling| Spelling::parse(spelling, Sense::Number(0)))
                .collect(),
        )
    }

    /// Where one of its spellings stands in a text: its first token, and how many it has. None lies in
    /// another.
    pub(super) fn spots(&self, tokens: &[Token]) -> Vec<(usize, usize)> {
        let mut spots = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let spellings = self.0.iter();
            let fitting = spellings.filter(|spelling| spelling.fits(&tokens[at..]));
            let len = fitting.map(|spelling| spelling.words.len()).max();
            spots.extend(len.map(|len| (at, len)));
            at += len.unwrap_or(1);
        }
        spots
    }
}

/// The number that a text begins with, in plain digits, and how many tokens it takes.
pub(super) fn number(tokens: &[Token], language: Language) -> Option<(String, usize)> {
    let token = tokens.first()?;
    let (meaning, len) = match token.kind {
        Kind::Number => plain(tokens, language),
        Kind::Word | Kind::Han => number_words(tokens, &LEXICONS[language as usize])?,
        Kind::Operator(_) | Kind::Quoted { .. } | Kind::Mark(_) => return None,
    };
    match meaning {
        Meaning::Number(digits) => Some((digits, len)),
        Meaning::Is(_)
        | Meaning::Operator(_)
        | Meaning::Quoted(..)
        | Meaning::Path
        | Meaning::Unknown
        | Meaning::Mark(_) => None,
    }
}

/// How much of a text a piece explains: its words twice, its Han characters once.
fn known(piece: &Piece) -> usize {
    let by_word = !piece.norm.starts_with(|c: char| c.is_ascii_digit());
    let explains = match piece.meaning {
        Meaning::Is(_) => true,
        Meaning::Number(_) => by_word,
        Meaning::Operator(_)
        | Meaning::Quoted(..)
        | Meaning::Path
        | Meaning::Unknown
        | Meaning::Mark(_) => false,
    };
    let han = piece.norm.chars().filter(|c| is_han(*c)).count();
    match (explains, han) {
        (false, _) => 0,
        (true, 0) => 2 * piece.tokens,
        (true, han) => han,
    }
}

/// The language of a text of which no word is known, by its letters.
fn fallback(tokens: &[Token]) -> Language {
    let has = |test: fn(char) -> bool| tokens.iter().any(|token| token.norm.contains(test));
    if has(|c| Language::Ukrainian.letters().contains(c)) {
        Language::Ukrainian
    } else if has(|c| matches!(c, '\u{400}'..='\u{4FF}')) {
        Language::Russian
    } else if has(is_han) {
        Language::Chinese
    } else {
        Language::English
    }
}

/// What a word of the tables stands for.
#[derive(Clone, Copy)]
enum Sense {
    Concept(Concept),
    Number(u64),
}

/// One spelling of a table's cell.
struct Spelling {
    /// Its words; of the last character on, any ending when the flag is set.
    words: Vec<(String, bool)>,
    sense: Sense,
}

impl Spelling {
    fn parse(cell: &str, sense: Sense) -> Self {
        let mut words = Vec::new();
        for word in cell.split_whitespace() {
            if word.starts_with(is_han) {
                words.extend(word.chars().map(|c| (c.to_string(), false)));
            } else {
                let stem = word.trim_end_matches('*');
                words.push((stem.to_owned(), stem.len() < word.len()));
            }
        }
        Self { words, sense }
    }

    fn fits(&self, tokens: &[Token]) -> bool {
        let fits = |((stem, open), token): (&(String, bool), &Token)| {
            is_word(token)
                && (token.norm == *stem || (*open && token.norm.starts_with(stem.as_str())))
        };
        let joined = |token: &Token| token.kind != Kind::Han || token.glued;
        tokens.len() >= self.words.len()
            && self.words.iter().zip(tokens).all(fits)
            && tokens[1..self.words.len()].iter().all(joined)
    }

    /// How much of a text it pins down; the spelling that pins down most is the one meant.
    fn weight(&self) -> usize {
        self.words
            .iter()
            .map(|(stem, open)| 2 * stem.chars().count() + usize::from(!open))
            .sum()
    }
}

/// A language's spellings by their first character.
type Lexicon = HashMap<char, Vec<Spelling>>;

static LEXICONS: LazyLock<[Lexicon; 4]> = LazyLock::new(|| Language::ALL.map(lexicon));

fn lexicon(language: Language) -> Lexicon {
    let words = language
        .words()
        .iter()
        .map(|(concept, cell)| (Sense::Concept(*concept), *cell));
    let numbers = language
        .numbers()
        .iter()
        .map(|(value, cell)| (Sense::Number(*value), *cell));
    let mut lexicon = Lexicon::new();
    for (sense, cell) in words.chain(numbers) {
        for spelling in cell.split('|') {
            let first = spelling.chars().next().unwrap_or(' ');
            lexicon
                .entry(first)
                .or_default()
                .push(Spelling::parse(spelling, sense));
        }
    }
    lexicon
}

fn pieces(tokens: &[Token], language: Language) -> Vec<Piece> {
    let spellings = &LEXICONS[language as usize];
    let mut pieces = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let (meaning, len) = number_words(&tokens[at..], spellings)
            .or_else(|| {
                let spelling = longest(&tokens[at..], spellings)?;
                let Sense::Concept(concept) = spelling.sense else {
                    return None;
                };
                Some((Meaning::Is(concept), spelling.words.len()))
            })
            .unwrap_or_else(|| plain(&tokens[at..], language));
        pieces.push(piece(&tokens[at..at + len], meaning));
        at += len;
    }
    pieces
}

fn piece(tokens: &[Token], meaning: Meaning) -> Piece {
    let (first, last) = (&tokens[0], &tokens[tokens.len() - 1]);
    let norm = tokens.iter().map(|token| token.norm.as_str()).collect();
    Piece {
        meaning,
        start: first.start,
        end: last.end,
        glued: first.glued,
        norm,
        tokens: tokens.len(),
    }
}

/// The meaning of what is in no table, and how many tokens it takes.
fn plain(tokens: &[Token], language: Language) -> (Meaning, usize) {
    let token = &tokens[0];
    let meaning = match token.kind {
        Kind::Mark(c) => Meaning::Mark(c),
        Kind::Operator(c) => Meaning::Operator(c),
        Kind::Quoted { from, to } => Meaning::Quoted(from, to),
        Kind::Number => {
            let ending = |token: &Token| NUMBER_ENDINGS.contains(&format!("|{}|", token.norm));
            let ended = tokens.get(1).is_some_and(|next| next.glued && ending(next));
            return (
                Meaning::Number(decimal(&token.norm, language)),
                1 + usize::from(ended),
            );
        }
        Kind::Word if is_path(&token.norm) => Meaning::Path,
        Kind::Word | Kind::Han => Meaning::Unknown,
    };
    (meaning, 1)
}

fn longest<'a>(tokens: &[Token], spellings: &'a Lexicon) -> Option<&'a Spelling> {
    let first = tokens.first()?.norm.chars().next()?;
    let fitting = spellings
        .get(&first)?
        .iter()
        .filter(|spelling| spelling.fits(tokens));
    fitting.max_by_key(|spelling| spelling.weight())
}

/// A number in words, such as `twenty five` or `一百二十`, and how many tokens it takes.
fn number_words(tokens: &[Token], spellings: &Lexicon) -> Option<(Meaning, usize)> {
    let (mut sum, mut units, mut at) = (0_u64, 0_u64, 0);
    while let Some((value, len)) = number_word(&tokens[at..], spellings) {
        if matches!(value, 10 | 100) && units > 0 {
            sum = sum.checked_add(units.checked_mul(value)?)?;
            units = 0;
        } else {
            sum = sum.checked_add(units)?;
            units = value;
        }
        at += len;
    }
    (at > 0).then(|| (Meaning::Number((sum.saturating_add(units)).to_string()), at))
}

fn number_word(tokens: &[Token], spellings: &Lexicon) -> Option<(u64, usize)> {
    if let Some(spelling) = longest(tokens, spellings) {
        let Sense::Number(value) = spelling.sense else {
            return None;
        };
        return Some((value, spelling.words.len()));
    }
    let token = tokens.first().filter(|token| token.norm.contains('-'))?;
    let values = token.norm.split('-').map(|word| {
        let word = Token {
            norm: word.to_owned(),
            ..token.clone()
        };
        match longest(std::slice::from_ref(&word), spellings)?.sense {
            Sense::Number(value) => Some(value),
            Sense::Concept(_) => None,
        }
    });
    Some((values.sum::<Option<u64>>()?, 1))
}

/// Spells the digits of a number with a point before its fraction, and nothing else.
fn decimal(digits: &str, language: Language) -> String {
    let groups: Vec<_> = digits.split(',').collect();
    let thousands = groups[1..]
        .iter()
        .all(|group| group.split('.').next().map(str::len) == Some(3));
    let point = groups.len() == 2 && !digits.contains('.');
    if point && (language.has_decimal_comma() || !thousands) {
        groups.join(".")
    } else {
        groups.concat()
    }
}

fn is_word(token: &Token) -> bool {
    matches!(token.kind, Kind::Word | Kind::Han) && !is_path(&token.norm)
}

/// Whether a word looks like a path: it has a separator, an ending, or begins with a dot.
fn is_path(word: &str) -> bool {
    word.contains(['/', '\\']) || matches!(word, "." | "..") || has_ending(word)
}

/// Whether a name has an ending such as `.txt`.
pub(super) fn has_ending(name: &str) -> bool {
    let ending = normalise(name)
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_owned());
    ending.is_some_and(|ending| {
        (1..=10).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending.contains(|c: char| c.is_ascii_alphabetic())
    })
}

#[cfg(test)]
mod tests {
    use super::super::text::tokens;
    use super::*;

    #[test]
    fn no_spelling_stands_in_a_table_twice() {
        for language in Language::ALL {
            let words = language
                .words()
                .iter()
                .flat_map(|(_, cell)| cell.split('|'));
            let numbers = language
                .numbers()
                .iter()
                .flat_map(|(_, cell)| cell.split('|'));
            let mut seen = std::collections::HashSet::new();
            for spelling in words.chain(numbers) {
                assert!(seen.insert(spelling), "{language:?}: {spelling:?}");
                let same = spelling
                    .split('*')
                    .map(normalise)
                    .collect::<Vec<_>>()
                    .join("*");
                assert_eq!(spelling, same, "not spelled as texts are looked up");
            }
        }
    }

    #[test]
    fn numbers_are_read_in_words_and_in_digits() {
        let check = |text: &str, expected: &[&str]| {
            let (_, pieces) = read(&tokens(text));
            let numbers = pieces.iter().filter_map(|piece| match &piece.meaning {
                Meaning::Number(digits) => Some(digits.as_str()),
                _ => None,
            });
            assert_eq!(numbers.collect::<Vec<_>>(), expected, "{text}");
        };
        check(
            "list twenty five files, or twenty-six, or 1,000, or 2.5",
            &["25", "26", "1000", "2.5"],
        );
        check(
            "покажи двадцать один файл и сто два, и 3-х, и 2,5",
            &["21", "102", "3", "2.5"],
        );
        check("покажи п'ять файлів і п’ятнадцять", &["5", "15"]);
        check(
            "列出十五个文件，二十个，一百二十三个，３个",
            &["15", "20", "123", "3"],
        );
        check("two hundred", &["200"]);
    }

    #[test]
    fn the_language_is_the_one_that_knows_most_words() {
        let check = |text: &str, expected| assert_eq!(read(&tokens(text)).0, expected, "{text}");
        check("list the files", Language::English);
        check("write привет to a.txt", Language::English);
        check("покажи файлы", Language::Russian);
        check("покажи файли", Language::Ukrainian);
        check("列出文件", Language::Chinese);
        check("їжак", Language::Ukrainian);
        check("ёжик", Language::Russian);
        check("刺猬", Language::Chinese);
        check("", Language::English);
    }
}
