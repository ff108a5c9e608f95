//! A text while it is being understood: its pieces, its names, and which of them are used up.

use super::lexicon::{self, Meaning, Piece};
use super::names::{self, Mention};
use super::request::{Doubt, Given, Topic};
use super::text;
use super::words::Concept::{
    self, All, And, Article, Called, Filler, For, Lines, Mine, Of, Text, With,
};
use super::words::Language;

/// A text with what is known of it.
#[derive(Clone, Debug)]
pub(super) struct Reading<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// The language it is written in.
    pub(super) language: Language,
    /// Its pieces.
    pub(super) pieces: Vec<Piece>,
    /// Names that were used up and may be longer.
    pub(super) doubts: Vec<Doubt>,
    /// What the person has answered and has no place yet.
    pub(super) given: Vec<Given>,
    mentions: Vec<Mention>,
    used: Vec<bool>,
}

/// Words around a quoted or dictated text that are not a part of it.
const LEADING: &[Concept] = &[Filler, Article, Text, All, Lines, Called, Of, For, With];

impl<'a> Reading<'a> {
    /// Reads a text; none when it is too long.
    pub(super) fn new(text: &'a str) -> Option<Self> {
        Self::with(text, lexicon::read)
    }

    /// Reads a text in a language that is known; none when it is too long.
    pub(super) fn new_in(text: &'a str, language: Language) -> Option<Self> {
        Self::with(text, |tokens| {
            (language, lexicon::read_in(tokens, language))
        })
    }

    fn with(
        text: &'a str,
        read: impl FnOnce(&[text::Token]) -> (Language, Vec<Piece>),
    ) -> Option<Self> {
        if text.len() > text::MAX_BYTES {
            return None;
        }
        let tokens = text::tokens(text);
        if tokens.len() > text::MAX_TOKENS {
            return None;
        }
        let (language, pieces) = read(&tokens);
        let pieces = names::join(text, &pieces);
        let mentions = names::mentions(text, &pieces);
        let used = vec![false; pieces.len()];
        Some(Self {
            text,
            language,
            pieces,
            doubts: Vec::new(),
            given: Vec::new(),
            mentions,
            used,
        })
    }

    /// Whether one of these words is there and not used up.
    pub(super) fn has(&self, concepts: &[Concept]) -> bool {
        self.first(concepts).is_some()
    }

    /// Where the first of these words stands.
    pub(super) fn first(&self, concepts: &[Concept]) -> Option<usize> {
        (0..self.pieces.len()).find(|at| self.is(*at, concepts))
    }

    /// Where the last of these words stands.
    pub(super) fn last(&self, concepts: &[Concept]) -> Option<usize> {
        (0..self.pieces.len())
            .rev()
            .find(|at| self.is(*at, concepts))
    }

    /// Whether a piece is one of these words and not used up.
    pub(super) fn is(&self, at: usize, concepts: &[Concept]) -> bool {
        !self.used[at] && self.pieces[at].is_any(concepts)
    }

    /// Whether a piece is free: neither used up nor beyond the end.
    pub(super) fn is_free(&self, at: usize) -> bool {
        self.used.get(at) == Some(&false)
    }

    /// The names that are not used up.
    pub(super) fn mentions(&self) -> Vec<Mention> {
        let free = |mention: &&Mention| (mention.first..=mention.last).all(|at| self.is_free(at));
        self.mentions.iter().filter(free).cloned().collect()
    }

    /// Uses pieces up.
    pub(super) fn take(&mut self, first: usize, last: usize) {
        self.used[first..=last].fill(true);
    }

    /// Uses a name up, with the words around it.
    pub(super) fn take_mention(&mut self, mention: &Mention) -> String {
        self.take(mention.first, mention.last);
        let owner = (mention.first..mention.last).find(|at| self.pieces[*at].is(Mine));
        let name = owner.filter(|at| self.pieces[at + 1].meaning == Meaning::Path);
        self.doubts.extend(name.map(|owner| Doubt {
            short: mention.text.clone(),
            long: self.slice(owner, owner + 1),
        }));
        mention.text.clone()
    }

    /// Uses up an answer that the person gave to a question of this kind.
    pub(super) fn take_given(&mut self, fits: impl Fn(&Topic) -> bool) -> Option<String> {
        let at = self.given.iter().position(|given| fits(&given.topic))?;
        Some(self.given.remove(at).answer)
    }

    /// The slice of the text from one piece to another.
    pub(super) fn slice(&self, first: usize, last: usize) -> String {
        self.text[self.pieces[first].start..self.pieces[last].end].to_owned()
    }

    /// The free pieces from here on that are none of these words and no punctuation.
    pub(super) fn run(&self, from: usize, stops: &[Concept]) -> (usize, usize) {
        let goes_on = |at: &usize| self.is_free(*at) && !self.stops(*at, stops);
        let length = (from..self.pieces.len()).take_while(goes_on).count();
        (from, from + length)
    }

    /// The free pieces before this one that are none of these words and no punctuation.
    pub(super) fn run_before(&self, end: usize, stops: &[Concept]) -> (usize, usize) {
        let goes_on = |at: &usize| self.is_free(*at) && !self.stops(*at, stops);
        let length = (0..end).rev().take_while(goes_on).count();
        (end - length, end)
    }

    fn stops(&self, at: usize, stops: &[Concept]) -> bool {
        self.pieces[at].is_any(stops) || matches!(self.pieces[at].meaning, Meaning::Mark(_))
    }

    /// The pieces of a run without the words around that are not meant literally.
    pub(super) fn core(&self, (mut from, mut to): (usize, usize)) -> Option<(usize, usize)> {
        while from < to && self.pieces[from].is_any(LEADING) {
            from += 1;
        }
        while from < to && self.pieces[to - 1].is_any(&[Filler, And]) {
            to -= 1;
        }
        (from < to).then(|| (from, to - 1))
    }

    /// Uses up a text that is meant literally: what is in quotation marks, else the words.
    pub(super) fn take_phrase(&mut self, run: (usize, usize)) -> Option<String> {
        let (first, last) = self.core(run)?;
        self.take(first, last);
        match self.pieces[first].meaning {
            Meaning::Quoted(from, to) => Some(self.text[from..to].to_owned()),
            _ => Some(self.slice(first, last)),
        }
    }

    /// Words, numbers and names that are not used up and mean nothing here, and these words.
    pub(super) fn unused(&self, also: &[Concept]) -> Vec<String> {
        let odd = |at: &usize| {
            let named = matches!(
                self.pieces[*at].meaning,
                Meaning::Path | Meaning::Quoted(..)
            );
            let plain = matches!(
                self.pieces[*at].meaning,
                Meaning::Unknown | Meaning::Number(_)
            );
            self.is_free(*at) && (named || plain || self.pieces[*at].is_any(also))
        };
        let mut words: Vec<String> = Vec::new();
        for at in (0..self.pieces.len()).filter(odd) {
            let glued = self.pieces[at].glued && at > 0 && odd(&(at - 1));
            match words.last_mut() {
                Some(word) if glued => word.push_str(&self.slice(at, at)),
                _ => words.push(self.slice(at, at)),
            }
        }
        words
    }
}
