//! Finds the keys of a process in text, however they are spelled, and replaces them.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::Secret;
use super::pattern::Pattern;
use super::spelling::{Spellings, is_escape};

/// Keys, and what is looked for on their behalf. Pure: the same keys and text give the same text.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Vec<Known>,
    patterns: Vec<(Pattern, usize)>,
    starts: Option<Arc<Starts>>,
}

#[derive(Clone)]
struct Known {
    secret: Secret,
    mark: String,
}

/// With which bytes a key can begin: a text without keys pays for a look at each byte.
struct Starts {
    /// The first byte as it is, or an escape.
    firsts: [bool; 256],
    /// The first two bytes, a bit each.
    pairs: Box<[u64; 1024]>,
    /// The patterns that begin with a byte.
    patterns: Vec<Vec<usize>>,
}

/// A key in a text, or what may become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The key with this number is here.
    Key {
        start: usize,
        end: usize,
        key: usize,
    },
    /// The text ends with the beginning of a key.
    Begun(usize),
    Nothing,
}

/// How a pattern fits at a place.
struct Fit {
    /// Where the whole of it ends.
    end: Option<usize>,
    /// Whether the text ends before that is known.
    is_begun: bool,
}

/// Whether more of a text may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextEnd {
    Final,
    Open,
}

/// Keys that people give to servers that want none.
const PLACEHOLDERS: &[&str] = &[
    "anything",
    "llama-cpp",
    "llama.cpp",
    "lm-studio",
    "lmstudio",
    "localhost",
    "no-key-needed",
    "no-key-required",
    "not-needed",
    "not-required",
    "placeholder",
    "sk-no-key-required",
    "unused-key",
];

/// Bytes between two bytes of a key, at most: line ends and the next line's indentation.
const MAX_PAUSE: usize = 64;
/// A character of no width, which a text may have between any two.
const NO_WIDTH: &[&[u8]] = &[
    "\u{200b}".as_bytes(),
    "\u{2060}".as_bytes(),
    "\u{ad}".as_bytes(),
];

impl Redactor {
    /// Bytes of a key, at least: replacing shorter ones would mangle text that means something else.
    pub const LEAST_BYTES: usize = 8;

    /// The same, and one more key. `name` is for the mark.
    #[must_use]
    pub fn with(mut self, name: &str, secret: &Secret) -> Self {
        let text = secret.expose();
        let is_known = self.known.iter().any(|known| known.secret == *secret);
        if is_known || text.len() < Self::LEAST_BYTES || PLACEHOLDERS.contains(&text) {
            return self;
        }
        let key = self.known.len();
        let patterns = Pattern::of(secret).into_iter();
        self.patterns.extend(patterns.map(|pattern| (pattern, key)));
        self.starts = Some(Arc::new(Starts::of(&self.patterns)));
        self.known.push(Known {
            secret: secret.clone(),
            mark: format!("[redacted: {name}]"),
        });
        self
    }

    /// Whether it knows no key.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// The text with a mark in the place of each key: `[redacted: OPENAI_API_KEY]`.
    pub fn redact<'text>(&self, text: &'text str) -> Cow<'text, str> {
        let (mut out, mut kept) = (String::new(), 0);
        while let Found::Key { start, end, key } = self.find(text, kept, TextEnd::Final) {
            out.push_str(&text[kept..start]);
            out.push_str(&self.known[key].mark);
            kept = end;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(&text[kept..]);
        Cow::Owned(out)
    }

    /// The same of a text that is owned.
    pub fn redact_in(&self, text: &mut String) {
        if let Cow::Owned(redacted) = self.redact(text) {
            *text = redacted;
        }
    }

    /// The same of every text in a value, names of fields too.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => self.redact_fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The same of an object.
    pub fn redact_fields(&self, fields: &mut Map<String, Value>) {
        fields
            .values_mut()
            .for_each(|value| self.redact_value(value));
        let is_hit = |name: &String| matches!(self.redact(name), Cow::Owned(_));
        if fields.keys().any(is_hit) {
            let renamed = std::mem::take(fields).into_iter();
            let renamed = renamed.map(|(name, value)| (self.redact(&name).into_owned(), value));
            fields.extend(renamed);
        }
    }

    /// The first mark of a key of ours in a text: what writes it back would lose the key.
    pub fn mark_in(&self, text: &str) -> Option<&str> {
        let marks = self.known.iter().map(|known| known.mark.as_str());
        marks.into_iter().find(|mark| text.contains(*mark))
    }

    pub(super) fn mark(&self, key: usize) -> &str {
        &self.known[key].mark
    }

    /// The first key at or after a place.
    pub(super) fn find(&self, text: &str, from: usize, end: TextEnd) -> Found {
        let Some(starts) = &self.starts else {
            return Found::Nothing;
        };
        let bytes = text.as_bytes();
        for start in from..bytes.len() {
            if starts.may_begin(bytes, start) {
                match self.fit(starts, bytes, start) {
                    (_, true) if end == TextEnd::Open => return Found::Begun(start),
                    (Some((end, key)), _) => return Found::Key { start, end, key },
                    (None, _) => {}
                }
            }
        }
        Found::Nothing
    }

    /// The longest key at a place, and whether a longer one may have begun.
    fn fit(&self, starts: &Starts, text: &[u8], start: usize) -> (Option<(usize, usize)>, bool) {
        let (mut longest, mut is_begun) = (None, false);
        let spellings = Spellings::at(text, start);
        is_begun |= spellings.is_cut;
        for (byte, next) in spellings.iter() {
            for &number in &starts.patterns[usize::from(byte)] {
                let (pattern, key) = &self.patterns[number];
                let fit = follow(pattern, text, next);
                is_begun |= fit.is_begun;
                let is_longer = |end: &usize| longest.is_none_or(|(other, _)| other < *end);
                if let Some(end) = fit.end.filter(is_longer) {
                    longest = Some((end, *key));
                }
            }
        }
        (longest, is_begun)
    }
}

impl Starts {
    fn of(patterns: &[(Pattern, usize)]) -> Self {
        let mut starts = Self {
            firsts: [false; 256],
            pairs: Box::new([0; 1024]),
            patterns: vec![Vec::new(); 256],
        };
        for (number, (pattern, _)) in patterns.iter().enumerate() {
            for first in 0..=u8::MAX {
                if !pattern.is(0, first) {
                    continue;
                }
                starts.firsts[usize::from(first)] = true;
                starts.patterns[usize::from(first)].push(number);
                for second in 0..=u8::MAX {
                    let is_next = pattern.is(1, second)
                        || pattern.may_pause(1, second)
                        || is_escape(second)
                        || matches!(second, b'\n' | b'\r' | 0)
                        || NO_WIDTH.iter().any(|mark| mark[0] == second);
                    if is_next {
                        let (word, bit) = pair(first, second);
                        starts.pairs[word] |= bit;
                    }
                }
            }
        }
        starts
    }

    fn may_begin(&self, text: &[u8], at: usize) -> bool {
        let first = text[at];
        if is_escape(first) {
            return true;
        }
        match text.get(at + 1) {
            Some(&second) => {
                let (word, bit) = pair(first, second);
                self.pairs[word] & bit != 0
            }
            None => self.firsts[usize::from(first)],
        }
    }
}

fn pair(first: u8, second: u8) -> (usize, u64) {
    let at = usize::from(first) << 8 | usize::from(second);
    (at / 64, 1 << (at % 64))
}

/// Places in a text that a pattern may have got to; few, since few bytes have two spellings.
#[derive(Default)]
struct Places {
    at: [usize; 4],
    count: usize,
}

impl Places {
    fn add(&mut self, place: usize) {
        if self.count < self.at.len() && !self.at[..self.count].contains(&place) {
            self.at[self.count] = place;
            self.count += 1;
        }
    }
}

/// Follows a pattern whose first byte ends before `from`.
fn follow(pattern: &Pattern, text: &[u8], from: usize) -> Fit {
    let (mut places, mut is_begun) = (Places::default(), false);
    places.add(from);
    for place in 1..pattern.bytes.len() {
        let mut next = Places::default();
        for at in places.at[..places.count].iter().copied() {
            is_begun |= step(pattern, place, text, at, &mut next);
        }
        if next.count == 0 {
            // Another spelling of an earlier byte may go beyond the text.
            return Fit {
                end: None,
                is_begun,
            };
        }
        places = next;
    }
    let end = places.at[..places.count].iter().copied().max();
    Fit { end, is_begun }
}

/// Where the pattern's byte at a place can end; whether the text ends before that is known.
fn step(pattern: &Pattern, place: usize, text: &[u8], at: usize, next: &mut Places) -> bool {
    let (mut at, end) = (at, at + MAX_PAUSE);
    let mut is_cut = false;
    let mut is_new_line = false;
    loop {
        if at >= text.len() {
            return true;
        }
        let spellings = Spellings::at(text, at);
        is_cut |= spellings.is_cut;
        let mut pause = None;
        for (byte, after) in spellings.iter() {
            if pattern.is(place, byte) {
                next.add(after);
            }
            let is_line_end = matches!(byte, b'\n' | b'\r' | 0);
            let is_indent = is_new_line && matches!(byte, b' ' | b'\t');
            if is_line_end || is_indent || pattern.may_pause(place, byte) {
                is_new_line |= is_line_end;
                pause = Some(after);
            }
        }
        let mark = NO_WIDTH.iter().find(|mark| text[at..].starts_with(mark));
        match mark.map(|mark| at + mark.len()).or(pause) {
            Some(after) if after < end => at = after,
            Some(_) | None => return is_cut,
        }
    }
}
