//! Texts as the tokens of the model: the split into pieces whose scores are the highest together
//! (the unigram model of `SentencePiece`).

use std::collections::HashMap;

use crate::file::Pieces;

/// What a space is among the pieces.
const SPACE: char = '\u{2581}';
/// How much worse than the worst piece a character is that no piece has.
const UNKNOWN: f32 = 10.0;

#[derive(Debug)]
pub(crate) struct Tokenizer<'a> {
    tokens: HashMap<&'a [u8], (u32, f32)>,
    /// The bytes of the longest piece.
    longest: usize,
    changes: HashMap<u32, Vec<u32>>,
    unknown: (u32, f32),
    begin: u32,
    end: u32,
}

impl<'a> Tokenizer<'a> {
    pub(crate) fn new(pieces: Pieces<'a>) -> Self {
        let worst = pieces.all.iter().map(|(_, score)| *score);
        let worst = worst.fold(f32::MAX, f32::min);
        let longest = pieces.all.iter().map(|(piece, _)| piece.len()).max();
        let tokens = (0..).zip(&pieces.all);
        let tokens =
            tokens.filter(|(token, (piece, _))| *token != pieces.unknown && !piece.is_empty());
        Self {
            tokens: tokens
                .map(|(token, (piece, score))| (*piece, (token, *score)))
                .collect(),
            longest: longest.unwrap_or(1),
            changes: pieces.changes,
            unknown: (pieces.unknown, worst - UNKNOWN),
            begin: pieces.begin,
            end: pieces.end,
        }
    }

    /// The tokens of a text with those of its begin and end, at most `limit`; of a longer text the first.
    pub(crate) fn split(&self, text: &str, limit: usize) -> Vec<u32> {
        // No piece is empty, so what comes after this many characters is no token that counts.
        let text = self.spelled(text, limit.saturating_mul(self.longest));
        let ends: Vec<_> = text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .collect();
        // The best way to each character: what it is worth, from where, and by which token.
        let mut best = vec![(f32::MIN, 0, self.unknown.0); ends.len()];
        best[0].0 = 0.0;
        for from in 0..ends.len() - 1 {
            let worth = best[from].0;
            let mut reach = |to: usize, token: u32, score: f32| {
                if worth + score > best[to].0 {
                    best[to] = (worth + score, from, token);
                }
            };
            let within = ends[from + 1..]
                .iter()
                .take_while(|end| *end - ends[from] <= self.longest);
            for (to, end) in (from + 1..).zip(within) {
                if let Some((token, score)) = self.tokens.get(&text.as_bytes()[ends[from]..*end]) {
                    reach(to, *token, *score);
                }
            }
            reach(from + 1, self.unknown.0, self.unknown.1);
        }
        let mut tokens = Vec::new();
        let mut at = ends.len() - 1;
        while at > 0 {
            let (_, from, token) = best[at];
            tokens.push(token);
            at = from;
        }
        tokens.push(self.begin);
        tokens.reverse();
        tokens.truncate(limit.saturating_sub(1));
        tokens.push(self.end);
        tokens
    }

    /// The text as the pieces spell it: changed characters, and a mark for each run of spaces, with one
    /// in front.
    fn spelled(&self, text: &str, limit: usize) -> String {
        let mut spelled = String::from(SPACE);
        let mut push = |c: char| match c {
            ' ' | SPACE if spelled.ends_with(SPACE) => {}
            ' ' => spelled.push(SPACE),
            c => spelled.push(c),
        };
        for c in text.chars().take(limit) {
            match self.changes.get(&u32::from(c)) {
                Some(changed) => changed
                    .iter()
                    .copied()
                    .filter_map(char::from_u32)
                    .for_each(&mut push),
                None => push(c),
            }
        }
        spelled
    }
}
