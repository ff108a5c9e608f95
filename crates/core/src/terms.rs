//! The terms of a text: what an index has of it, and what is looked for.
//!
//! A term is a word without its case and its diacritics. Where a script has no spaces, it is a pair
//! of neighbouring characters. One such character between others that are no letters is no term of the
//! index: a query for it alone would read a large part of that.

use std::ops::Range;

/// Bytes of a term; what is longer is told apart by its beginning only.
const MAX_TERM_BYTES: usize = 64;

/// Bytes of a message's text that can be found, counted from its beginning.
const MAX_INDEXED_BYTES: usize = 64 << 10;

/// So much of a text as can be found.
pub fn indexed(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_INDEXED_BYTES)]
}

/// What a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A word.
    Word,
    /// Two characters, and how many pairs of their run are before.
    Pair(usize),
    /// The last character of a run, or its only one.
    Last {
        /// Whether its run has no other.
        is_alone: bool,
    },
}

/// Calls `take` with each term of a text, in order, and the bytes of the text that it stands for.
pub fn each_term(text: &str, take: impl FnMut(&str, Shape, Range<usize>)) {
    let mut reader = Reader {
        take,
        term: String::new(),
        word: 0..0,
        run: None,
    };
    for (at, c) in text.char_indices() {
        reader.read(c, at..at + c.len_utf8());
    }
    reader.end_word();
    reader.end_run();
}

/// All terms of a text with spaces between, as the index takes them.
pub fn joined(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    each_term(text, |term, shape, _| {
        if !matches!(shape, Shape::Last { .. }) {
            all.push_str(term);
            all.push(' ');
        }
    });
    all
}

struct Reader<F> {
    take: F,
    /// The word so far.
    term: String,
    word: Range<usize>,
    /// The last character of an unfinished run, its place, and how many were before.
    run: Option<(char, Range<usize>, usize)>,
}

impl<F: FnMut(&str, Shape, Range<usize>)> Reader<F> {
    fn read(&mut self, c: char, at: Range<usize>) {
        if c.is_ascii_alphanumeric() || !c.is_ascii() && c.is_alphanumeric() {
            if has_no_spaces(c) {
                self.end_word();
                self.lengthen_run(c, at);
            } else {
                self.end_run();
                self.lengthen_word(c, at);
            }
        } else if !is_within_words(c) {
            self.end_word();
            self.end_run();
        }
    }

    fn lengthen_word(&mut self, c: char, at: Range<usize>) {
        if self.word.is_empty() {
            self.word = at.clone();
        }
        self.word.end = at.end;
        if self.term.len() < MAX_TERM_BYTES {
            fold(c, &mut self.term);
        }
    }

    fn lengthen_run(&mut self, c: char, at: Range<usize>) {
        let Some((before, start, count)) = self.run.take() else {
            self.run = Some((c, at, 0));
            return;
        };
        self.term.extend([before, c]);
        (self.take)(&self.term, Shape::Pair(count), start.start..at.end);
        self.term.clear();
        self.run = Some((c, at, count + 1));
    }

    fn end_word(&mut self) {
        if !self.term.is_empty() {
            (self.take)(&self.term, Shape::Word, self.word.clone());
        }
        self.term.clear();
        self.word = 0..0;
    }

    fn end_run(&mut self) {
        if let Some((c, at, count)) = self.run.take() {
            let shape = Shape::Last {
                is_alone: count == 0,
            };
            (self.take)(c.encode_utf8(&mut [0; 4]), shape, at);
        }
    }
}

/// Whether a letter's script writes words without spaces, or with endings that a pair leaves out.
fn has_no_spaces(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}' // Korean
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{31ff}' // Japanese
        | '\u{ff66}'..='\u{ff9d}'
        | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}') // Chinese
}

/// Whether a character is no letter, and no border of a word: accents of their own, soft hyphens,
/// joiners.
fn is_within_words(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}' | '\u{ad}' | '\u{200c}' | '\u{200d}'
    )
}

/// Appends a letter without case, diacritics and width.
fn fold(c: char, to: &mut String) {
    if c.is_ascii() {
        to.push(c.to_ascii_lowercase());
        return;
    }
    let wide = u32::from(c).wrapping_sub(0xff01) < 0x5e;
    let narrow = char::from_u32(u32::from(c).wrapping_sub(0xfee0)).filter(|_| wide);
    for c in narrow.unwrap_or(c).to_lowercase() {
        match plain(c) {
            "" if is_within_words(c) => {}
            "" => to.push(c),
            plain => to.push_str(plain),
        }
    }
}

/// A small letter without its diacritics; empty if it has none.
fn plain(c: char) -> &'static str {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' => "a",
        'æ' => "ae",
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => "c",
        'ď' | 'đ' | 'ð' => "d",
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => "e",
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => "g",
        'ĥ' | 'ħ' => "h",
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' | 'ı' | 'ǐ' => "i",
        'ĵ' => "j",
        'ķ' => "k",
        'ĺ' | 'ļ' | 'ľ' | 'ŀ' | 'ł' => "l",
        'ñ' | 'ń' | 'ņ' | 'ň' => "n",
        'ò'..='ö' | 'ø' | 'ō' | 'ŏ' | 'ő' | 'ơ' | 'ǒ' => "o",
        'œ' => "oe",
        'ŕ' | 'ŗ' | 'ř' => "r",
        'ś' | 'ŝ' | 'ş' | 'š' | 'ș' => "s",
        'ß' => "ss",
        'ţ' | 'ť' | 'ŧ' | 'ț' => "t",
        'þ' => "th",
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' | 'ư' | 'ǔ' => "u",
        'ŵ' => "w",
        'ý' | 'ÿ' | 'ŷ' => "y",
        'ź' | 'ż' | 'ž' => "z",
        'ά' => "α",
        'έ' => "ε",
        'ή' => "η",
        'ί' | 'ϊ' | 'ΐ' => "ι",
        'ό' => "ο",
        'ς' => "σ",
        'ύ' | 'ϋ' | 'ΰ' => "υ",
        'ώ' => "ω",
        'й' => "и",
        'ё' => "е",
        'ї' => "і",
        'ў' => "у",
        _ => "",
    }
}
