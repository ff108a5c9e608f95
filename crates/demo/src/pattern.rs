//! The language of patterns, in which the table says what people write.
//!
//! A pattern is words with spaces between them, and matches a whole request:
//!
//! ```text
//! word      that word; `word*` begins so; `:` is a colon
//! (a|b c)   one of these
//! [a|b]     one of these, or nothing
//! ..        anything
//! <name>    the phrase of that name, in the language of the pattern
//! {name}    a value; {name:kind} where its kind is not its name
//! ```
//!
//! A kind is one of those in [`Reader::kind`], else a list of values or a phrase of `words.toml`.
//! Case, marks between words and words of politeness around the request do not matter. What is in
//! quotation marks is one piece, whatever it says.

use std::cell::RefCell;
use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder, escape};
use regex_automata::nfa::thompson::{
    self,
    pikevm::{Cache, PikeVM},
};
use regex_automata::util::{captures::Captures, primitives::PatternID, syntax};

use crate::language::{Language, is_han};
use crate::table::Words;

/// What a pattern found, by name.
pub(crate) type Values = BTreeMap<String, String>;

/// A regular expression has at most so many bytes.
const MAX_REGEX_BYTES: usize = 1 << 24;
/// Where pieces in quotation marks are put aside.
const FIRST_QUOTED: u32 = 0xE000;
const QUOTED: &str = "[\u{E000}-\u{F8FF}]";
/// What may stand after a request, such as a smile.
const END: &str = r"[\s,.!?…。！？=\u{2600}-\u{27BF}\u{FE0F}\u{1F300}-\u{1FAFF}]";
/// Marks that open a quotation, each with the one that closes it.
const MARKS: &[(char, char)] = &[
    ('"', '"'),
    ('“', '”'),
    ('„', '“'),
    ('«', '»'),
    ('`', '`'),
    ('\'', '\''),
    ('‘', '’'),
    ('「', '」'),
];

/// A text with its quotations put aside.
#[derive(Debug)]
pub(crate) struct Sentence {
    /// A space, then the text, with a private character for each quotation.
    pub(crate) text: String,
    /// The quotations, with their marks.
    quoted: Vec<String>,
}

impl Sentence {
    pub(crate) fn new(text: &str) -> Self {
        let mut sentence = Self {
            text: " ".to_owned(),
            quoted: Vec::new(),
        };
        let mut rest = text.trim();
        while let Some(c) = rest.chars().next() {
            let is_inside = sentence.text.ends_with(char::is_alphanumeric) && c == '\'';
            let quotation = (!is_inside).then(|| quotation(rest)).flatten();
            let place = u32::try_from(sentence.quoted.len()).ok();
            let mark = place.and_then(|place| char::from_u32(FIRST_QUOTED + place));
            let piece = if let (Some(quotation), Some(mark)) = (quotation, mark) {
                sentence.text.push(mark);
                sentence.quoted.push(quotation.to_owned());
                quotation
            } else {
                // A private character of the person's own would stand for a quotation.
                let is_private = ('\u{E000}'..='\u{F8FF}').contains(&c);
                sentence.text.push(if is_private { '\u{FFFD}' } else { c });
                &rest[..c.len_utf8()]
            };
            rest = &rest[piece.len()..];
        }
        sentence
    }

    /// A value as the person wrote it: without its marks when it is one quotation.
    fn restore(&self, value: &str) -> String {
        let value = value.trim();
        let quoted = |c: char| {
            let place = u32::from(c).checked_sub(FIRST_QUOTED)?;
            self.quoted.get(usize::try_from(place).ok()?)
        };
        let mut chars = value.chars();
        if let (Some(whole), None) = (chars.next().and_then(quoted), chars.next()) {
            let mut inside = whole.chars();
            inside.next();
            inside.next_back();
            return inside.as_str().to_owned();
        }
        let pieces = value.chars().map(|c| match quoted(c) {
            Some(quotation) => quotation.clone(),
            None => c.to_string(),
        });
        pieces.collect()
    }
}

/// The quotation that a text begins with. Its end is followed by no letter, so an apostrophe ends
/// none.
fn quotation(text: &str) -> Option<&str> {
    let open = text.chars().next()?;
    let (_, close) = MARKS.iter().find(|(mark, _)| *mark == open)?;
    let from = open.len_utf8();
    let ends = text[from..].match_indices(*close).find(|(at, _)| {
        let next = text[from + at + close.len_utf8()..].chars().next();
        *close != '\'' || !next.is_some_and(char::is_alphanumeric)
    });
    ends.map(|(at, _)| &text[..from + at + close.len_utf8()])
}

thread_local! {
    /// What the patterns write on while they are tried, one after the other.
    static SCRATCH: RefCell<Option<Cache>> = const { RefCell::new(None) };
}

/// A pattern, ready to be matched.
#[derive(Debug)]
pub(crate) struct Pattern(PikeVM);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// It is none: a bracket is open, a phrase is not known, or a name stands in it twice.
    pub(crate) fn new(pattern: &str, language: Language, words: &Words) -> Result<Self, String> {
        let reader = |rest| Reader {
            rest,
            language,
            words,
        };
        let polite = reader("<please>").all()?;
        let asked = reader(pattern).all()?;
        let regex = format!(r"^(?:{polite})*{asked}(?:{polite})*{END}*$");
        let syntax = syntax::Config::new()
            .case_insensitive(true)
            .dot_matches_new_line(true);
        let built = PikeVM::builder()
            .syntax(syntax)
            .thompson(thompson::Config::new().nfa_size_limit(Some(MAX_REGEX_BYTES)))
            .build(&regex);
        built.map(Self).map_err(|error| format!("{regex}: {error}"))
    }

    /// What a sentence says, when it is of this pattern.
    pub(crate) fn read(&self, sentence: &Sentence) -> Option<Values> {
        let Self(pattern) = self;
        SCRATCH.with_borrow_mut(|scratch| {
            let scratch = scratch.get_or_insert_with(|| pattern.create_cache());
            scratch.reset(pattern);
            // Nearly all do not match, which costs less to find out than where they would.
            if !pattern.is_match(scratch, &sentence.text) {
                return None;
            }
            let mut found = pattern.create_captures();
            pattern.captures(scratch, &sentence.text, &mut found);
            let names = found.group_info().pattern_names(PatternID::ZERO).flatten();
            Some(
                names
                    .filter_map(|name| value(name, &found, sentence))
                    .collect(),
            )
        })
    }
}

/// A value under its name; the group of a listed value is called `name__value`.
fn value(name: &str, found: &Captures, sentence: &Sentence) -> Option<(String, String)> {
    let text = &sentence.text[found.get_group_by_name(name)?.range()];
    Some(match name.split_once("__") {
        Some((name, listed)) => (name.to_owned(), listed.to_owned()),
        None => (name.to_owned(), sentence.restore(text)),
    })
}

/// Spellings with `|` between them, in any languages, to be found anywhere in a text.
pub(crate) fn cell(spellings: &str) -> String {
    let spelled = spellings.split('|').map(|spelling| {
        let words: Vec<_> = spelling.split(' ').map(word).collect();
        if spelling.contains(is_han) {
            words.concat()
        } else {
            format!(r"\b{}\b", words.join(r"\s+"))
        }
    });
    format!("(?:{})", spelled.collect::<Vec<_>>().join("|"))
}

/// A regular expression that takes no notice of case.
///
/// # Errors
/// It is none.
pub(crate) fn build(regex: &str) -> Result<Regex, String> {
    let mut builder = RegexBuilder::new(regex);
    let built = builder
        .case_insensitive(true)
        .dot_matches_new_line(true)
        .size_limit(MAX_REGEX_BYTES)
        .build();
    built.map_err(|error| format!("{regex}: {error}"))
}

fn word(word: &str) -> String {
    let (stem, end) = match word.strip_suffix('*') {
        Some(stem) => (stem, r"[a-zа-яёіїєґ]*"),
        None => (word, ""),
    };
    let stem = escape(stem).replace('\'', "['’ʼ]").replace('ё', "[её]");
    stem + end
}

/// Reads a pattern from the left, and writes a regular expression.
struct Reader<'a> {
    rest: &'a str,
    language: Language,
    words: &'a Words,
}

impl<'a> Reader<'a> {
    fn all(mut self) -> Result<String, String> {
        let regex = self.choice()?;
        match self.rest {
            "" => Ok(regex),
            rest => Err(format!("what is not a pattern: {rest}")),
        }
    }

    /// Alternatives, up to a closing bracket.
    fn choice(&mut self) -> Result<String, String> {
        let mut regex = "(?:".to_owned();
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.chars().next() {
                None | Some(')' | ']') => return Ok(regex + ")"),
                Some('|') => {
                    regex.push('|');
                    self.rest = &self.rest[1..];
                }
                Some(_) => regex.push_str(&self.item()?),
            }
        }
    }

    fn item(&mut self) -> Result<String, String> {
        let gap = self.gap();
        Ok(match self.rest.chars().next() {
            Some('(') => self.bracket(")")?,
            Some('[') => self.bracket("]")? + "?",
            Some('<') => {
                let name = self.until('>')?;
                self.reader(self.words.phrase(name, self.language)?).all()?
            }
            Some('{') => {
                let name = self.until('}')?;
                let (name, kind) = name.split_once(':').unwrap_or((name, name));
                self.value(name, kind)?
            }
            _ => match self.plain() {
                ".." => format!("(?:{gap}.*)?"),
                ":" => r"\s*[:：]".to_owned(),
                plain => format!("{gap}{}", word(plain)),
            },
        })
    }

    fn bracket(&mut self, close: &str) -> Result<String, String> {
        self.rest = &self.rest[1..];
        let regex = self.choice()?;
        let rest = self.rest.strip_prefix(close);
        self.rest = rest.ok_or_else(|| format!("no {close} before: {}", self.rest))?;
        Ok(regex)
    }

    fn until(&mut self, close: char) -> Result<&'a str, String> {
        let (name, rest) = self.rest[1..].split_once(close).ok_or("no end of a name")?;
        self.rest = rest;
        Ok(name)
    }

    fn plain(&mut self) -> &'a str {
        let is_end = |c: char| c.is_whitespace() || "()[]{}<>|".contains(c);
        let (plain, rest) = self
            .rest
            .split_at(self.rest.find(is_end).unwrap_or(self.rest.len()));
        self.rest = rest;
        plain
    }

    fn reader<'b>(&'b self, rest: &'b str) -> Reader<'b> {
        Reader {
            rest,
            language: self.language,
            words: self.words,
        }
    }

    /// What is between two words.
    fn gap(&self) -> &'static str {
        match self.language {
            Language::Zh => r"[\s，,、；;：:。．！!？?…]*",
            Language::En | Language::Ru | Language::Uk => r"(?:[\s,;:!?…—–]|\.\s)+",
        }
    }

    fn value(&self, name: &str, kind: &str) -> Result<String, String> {
        let gap = self.gap();
        let listed = self.words.values(kind).map(|(value, spellings)| {
            let regex = self.reader(spellings).all()?;
            Ok(format!("(?P<{name}__{value}>{regex})"))
        });
        let mut listed = listed.collect::<Result<Vec<_>, String>>()?;
        if listed.is_empty() || kind == "n" {
            listed.push(if let Some(regex) = self.kind(kind) {
                format!("{gap}(?P<{name}>{regex})")
            } else {
                let phrase = self.words.phrase(kind, self.language)?;
                format!("(?P<{name}>{})", self.reader(phrase).all()?)
            });
        }
        Ok(format!("(?:{})", listed.join("|")))
    }

    fn kind(&self, kind: &str) -> Option<String> {
        let is_spaced = self.language != Language::Zh;
        // A name whose last word has a dot or a slash may have words with spaces before it.
        let path = if is_spaced {
            r"(?:[^\s,;:?!.]+\s){0,3}?[^\s,;:?!]*(?:[./][^\s,;:?!]*[^\s,;:?!.]|/)|(?-i:[A-Z]{3,}|Makefile)"
        } else {
            r"[\w.~/-]*?[./][A-Za-z0-9_~/-]*|(?-i:[A-Z]{3,}|Makefile)"
        };
        let name = if is_spaced {
            r"[^\s,;:?!]+?"
        } else {
            "[A-Za-z0-9_./~-]+?"
        };
        let folder = if is_spaced {
            r"\.{0,2}/?[^\s,;:?!.]+|\.{1,2}/?|/"
        } else {
            "[A-Za-z0-9_/~-]+?"
        };
        Some(match kind {
            "n" => "[0-9]{1,6}".to_owned(),
            "path" => format!("{QUOTED}|{path}"),
            "place" => format!("{QUOTED}|{path}|{name}"),
            "folder" => format!("{QUOTED}|{folder}"),
            "url" => r"https?://[^\s]*[^\s.,:;!?…。！？]".to_owned(),
            "word" => name.to_owned(),
            "quoted" => QUOTED.to_owned(),
            "text" => ".+?".to_owned(),
            "rest" => r"\S.*".to_owned(),
            "question" => r"\S.*[?？]".to_owned(),
            "sum" => {
                let signs: Vec<_> = self
                    .words
                    .values("sign")
                    .map(|(_, cell)| self::cell(cell))
                    .collect();
                format!(
                    r"[(（0-9−-](?:[0-9.,()（）+*/^×÷·−\s-]|{})*",
                    signs.join("|")
                )
            }
            _ => return None,
        })
    }
}
