//! A text that comes in pieces: a key may be split over two of them.

use super::Redactor;
use super::redactor::{Found, TextEnd};

/// Bytes at the end of a piece from which a key may begin, at least, for them to be held back. With
/// fewer, most words would wait for the next one; so up to three bytes of a key may be shown before
/// its mark.
const LEAST: usize = 4;

/// The end of a text that is held back, because a key may begin there.
#[derive(Default)]
pub struct Tail {
    held: String,
    /// The last bytes that were shown, fewer than [`LEAST`].
    shown: String,
}

impl Tail {
    /// Takes the next piece, and returns what can be shown now: no key, but for its first bytes.
    pub fn push(&mut self, redactor: &Redactor, piece: String) -> String {
        if redactor.is_empty() {
            return piece;
        }
        // What was shown stands before it, since a key may have begun there.
        let mut new = self.shown.len();
        let mut text = std::mem::take(&mut self.shown) + &std::mem::take(&mut self.held) + &piece;
        let mut shown = String::new();
        loop {
            match redactor.find(&text, 0, TextEnd::Open) {
                Found::Key { start, end, key } => {
                    shown.push_str(text.get(new..start).unwrap_or_default());
                    shown.push_str(redactor.mark(key));
                    text.drain(..end);
                    new = 0;
                }
                Found::Begun(start) if text.len() - start >= LEAST => {
                    self.held = text.split_off(start.max(new));
                    break;
                }
                Found::Begun(_) | Found::Nothing => break,
            }
        }
        let from = text.len().saturating_sub(LEAST - 1);
        text[text.ceil_char_boundary(from)..].clone_into(&mut self.shown);
        shown + &text[new..]
    }

    /// What was held back, when no more comes.
    pub fn end(&mut self, redactor: &Redactor) -> String {
        let before = std::mem::take(&mut self.shown);
        let text = before.clone() + &std::mem::take(&mut self.held);
        match redactor.find(&text, 0, TextEnd::Final) {
            Found::Key { start, .. } if start < before.len() => {
                let redacted = redactor.redact(&text).into_owned();
                redacted.get(start..).unwrap_or_default().to_owned()
            }
            _ => redactor.redact(&text[before.len()..]).into_owned(),
        }
    }
}
