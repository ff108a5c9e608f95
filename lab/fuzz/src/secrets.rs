//! Texts in which keys and hidden characters must not survive.

use std::borrow::Cow;
use std::fmt::Write as _;

use samovar_core::approval::{visible, visible_line};
use samovar_core::redact::{Redactor, Secret, Tail, foreign};

use crate::pieces::{text_cuts, text_place, two_texts};

/// A key of ours on the first line, then a text that gets it at some place in several spellings: none
/// is left, in one piece or in several, and a text without the key stays as it was.
pub(crate) fn own_keys(data: &[u8]) {
    let Some((key, text)) = two_texts(data) else {
        return;
    };
    // A mark must not be a way to write the key again.
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+=".contains(&byte);
    let Some(secret) = Secret::new(key).filter(|_| key.bytes().all(is_plain)) else {
        return;
    };
    let redactor = Redactor::default().with("KEY", &secret);
    if redactor.is_empty() || "[redacted: KEY]".contains(key) {
        return;
    }
    pieces(&redactor, key, text);
    let (before, after) = text.split_at(text_place(text));
    for spelled in spellings(key) {
        let text = format!("{before}{spelled}{after}");
        let shown = redactor.redact(&text);
        assert!(!shown.contains(&spelled), "{text:?} became {shown:?}");
        pieces(&redactor, &spelled, &text);
    }
}

/// Whatever the pieces, no key is shown, and a text without keys is whole.
fn pieces(redactor: &Redactor, key: &str, text: &str) {
    let whole = redactor.redact(text);
    for pieces in text_cuts(text) {
        let mut tail = Tail::default();
        let mut shown = String::new();
        for piece in pieces {
            shown.push_str(&tail.push(redactor, piece.to_owned()));
        }
        shown.push_str(&tail.end(redactor));
        assert!(!shown.contains(key), "{text:?} became {shown:?}");
        if matches!(whole, Cow::Borrowed(_)) {
            assert_eq!(shown, text);
        }
    }
}

/// The key as it is, in hex, percent and JSON escapes.
fn spellings(key: &str) -> [String; 4] {
    let each = |spell: fn(&mut String, u8) -> std::fmt::Result| {
        let mut spelled = String::new();
        for byte in key.bytes() {
            spell(&mut spelled, byte).expect("a string takes every byte");
        }
        spelled
    };
    [
        key.to_owned(),
        each(|spelled, byte| write!(spelled, "{byte:02x}")),
        each(|spelled, byte| write!(spelled, "%{byte:02X}")),
        each(|spelled, byte| write!(spelled, "\\u{byte:04x}")),
    ]
}

/// Keys of others, for logs: one of a known format is gone wherever it stands as a word. A second pass
/// may find more, since a mark ends what stood around it.
pub(crate) fn foreign_keys(data: &[u8]) {
    const KEY: &str = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz";
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    assert_eq!(
        matches!(foreign(text), Cow::Borrowed(_)),
        foreign(text) == text
    );
    // In a longer word it is no key.
    if text.contains(KEY) {
        return;
    }
    let (before, after) = text.split_at(text_place(text));
    let text = format!("{before} {KEY} {after}");
    let shown = foreign(&text);
    assert!(!shown.contains(KEY), "{text:?} became {shown:?}");
}

/// A text that a person approves: nothing in it is hidden or moves the cursor.
pub(crate) fn shown_text(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let shown = visible(&text);
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    // Directions, joiners and tags.
    let is_hidden = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}');
    assert!(
        !shown.contains(|c| is_control(c) || is_hidden(c)),
        "{shown:?}"
    );
    assert_eq!(visible(&shown), shown);
    assert!(!visible_line(&text).contains(char::is_control));
    if shown == text {
        assert!(matches!(shown, Cow::Borrowed(_)));
    }
}
