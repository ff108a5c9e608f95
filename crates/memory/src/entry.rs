//! A memory as a line of a Markdown file: an item of a list, with what is known of it in a comment.

use std::fmt::{self, Write as _};

use samovar_core::terms::each_term;
use samovar_core::{TurnId, redact};
use samovar_locale::memory as locale;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// Hex digits of an id.
const ID_DIGITS: usize = 10;
/// Bytes of a memory's text, at most.
pub const MAX_TEXT_BYTES: usize = 2 * 1024;
/// What a comment says of a memory out of a session that had read text from outside.
const OUTSIDE: &str = "outside";
const TURN: &str = "turn=";
/// Before the digest of what a turn wrote: who corrects the text need not change it.
const WRITTEN: &str = "text=";

/// The id of a memory: `m` and ten hex digits; `h` of a line that was written by hand, made of its
/// words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MemoryId(String);

impl MemoryId {
    /// The id of what one call remembers: the same for each attempt of the call.
    pub fn of_call(session: &str, call: &str) -> Self {
        Self::hashed('m', &format!("{session}\n{call}"))
    }

    /// The id of a line without one: lines that say the same have the same.
    pub(crate) fn of_words(text: &str) -> Self {
        Self::hashed('h', &plain(text))
    }

    fn hashed(kind: char, text: &str) -> Self {
        Self(format!("{kind}{}", digest(text)))
    }

    /// The id that a word is.
    pub fn read(word: &str) -> Option<Self> {
        let digits = word.strip_prefix(['m', 'h'])?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let is_id = digits.len() == ID_DIGITS && digits.bytes().all(is_hex);
        is_id.then(|| Self(word.to_owned()))
    }

    /// Whether its line has it, so that it stays the same whatever the line says.
    pub(crate) fn is_kept(&self) -> bool {
        self.0.starts_with('m')
    }

    /// It as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A fact or a note, with where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its id.
    pub id: MemoryId,
    /// What it says, on one line.
    pub text: String,
    /// The day on which it was written, `2026-11-29`; `None` of a line that a hand wrote.
    pub date: Option<String>,
    /// The turn that it comes from.
    pub turn: Option<TurnId>,
    /// Whether it says what the turn wrote: no person has corrected it since.
    pub is_as_written: bool,
    /// Whether text from outside was in its session (TL-10).
    pub is_tainted: bool,
}

impl Entry {
    /// The entry of a line; `None` if that is no item of a list or says nothing.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let item = line
            .strip_prefix("- ")
            .or_else(|| line.strip_prefix("* "))?;
        let item = item.trim();
        let signed = item.strip_suffix("-->").and_then(|rest| {
            let (text, comment) = rest.rsplit_once("<!--")?;
            Self::signed(text.trim(), comment)
        });
        let entry = signed.unwrap_or_else(|| Self {
            id: MemoryId::of_words(item),
            text: item.to_owned(),
            date: None,
            turn: None,
            is_as_written: false,
            is_tainted: false,
        });
        (!entry.text.is_empty()).then_some(entry)
    }

    fn signed(text: &str, comment: &str) -> Option<Self> {
        let mut fields = comment.split_whitespace();
        let id = MemoryId::read(fields.next()?).filter(MemoryId::is_kept)?;
        let mut entry = Self {
            id,
            text: text.to_owned(),
            date: Some(fields.next()?.to_owned()),
            turn: None,
            is_as_written: false,
            is_tainted: false,
        };
        for field in fields {
            if let Some(turn) = field.strip_prefix(TURN) {
                entry.turn = TurnId::new(turn).ok();
            } else if let Some(written) = field.strip_prefix(WRITTEN) {
                entry.is_as_written = written == digest(&entry.text);
            } else {
                entry.is_tainted |= field == OUTSIDE;
            }
        }
        Some(entry)
    }

    /// Its line, without the line's end.
    pub(crate) fn line(&self) -> String {
        let Self {
            id,
            text,
            date,
            turn,
            is_as_written,
            is_tainted,
        } = self;
        let mut line = format!("- {text}");
        if let Some(date) = date {
            // Writing to a string cannot fail.
            let _infallible = write!(line, " <!-- {id} {date}");
            if let Some(turn) = turn {
                let _infallible = write!(line, " {TURN}{turn}");
            }
            if *is_as_written {
                let _infallible = write!(line, " {WRITTEN}{}", digest(text));
            }
            line.push_str(if *is_tainted { " outside -->" } else { " -->" });
        }
        line
    }

    /// Whether it says the same as a text, but for case, spaces and the sign at its end.
    pub(crate) fn says(&self, text: &str) -> bool {
        plain(&self.text) == plain(text)
    }

    /// It as a line that was written by hand.
    pub(crate) fn by_hand(self) -> Self {
        Self {
            id: MemoryId::of_words(&self.text),
            date: None,
            turn: None,
            ..self
        }
    }
}

/// A text on one line, fit for an entry, without keys of this process.
///
/// # Errors
/// Why it is refused, in one sentence.
pub(crate) fn one_line(text: &str) -> Result<String, String> {
    let text = &*redact::own().redact(text);
    let is_space = |c: char| c.is_whitespace() || c.is_control();
    let mut line = String::with_capacity(text.len().min(MAX_TEXT_BYTES));
    for word in text.split(is_space).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if line.len() > MAX_TEXT_BYTES {
            return Err(locale::too_long(MAX_TEXT_BYTES));
        }
    }
    if words(&line).is_empty() {
        return Err(locale::says_nothing().to_owned());
    }
    Ok(line)
}

/// The beginning of a text's hash, in hex.
fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let mut hex = String::with_capacity(ID_DIGITS);
    for byte in &digest[..ID_DIGITS / 2] {
        // Writing to a string cannot fail.
        let _infallible = write!(hex, "{byte:02x}");
    }
    hex
}

/// A text without what does not change its meaning: case, spaces, and `.` or `!` at its end.
fn plain(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    words
        .join(" ")
        .to_lowercase()
        .trim_end_matches(['.', '!'])
        .to_owned()
}

/// The words of a text, without case, accents and punctuation.
fn words(text: &str) -> String {
    let mut all = String::with_capacity(text.len());
    each_term(text, |term, _, _| {
        all.push_str(term);
        all.push(' ');
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str, is_tainted: bool) -> Entry {
        Entry {
            id: MemoryId::of_call("s", "c"),
            text: text.to_owned(),
            date: Some("2026-11-29".to_owned()),
            turn: TurnId::new("turn-1").ok(),
            is_as_written: true,
            is_tainted,
        }
    }

    // proves MD-9
    #[test]
    fn a_line_gives_back_what_was_written_into_it() {
        for text in [
            "The person likes tea.",
            "ends its mark --> <!-- m0000000000 2020-01-01 -->",
            "- <!-- m0000000000 2020-01-01 outside -->",
            "Чай. 茶 <b>tea</b>",
        ] {
            for is_tainted in [false, true] {
                let entry = entry(text, is_tainted);
                assert_eq!(Entry::read(&entry.line()), Some(entry));
            }
        }
    }

    // proves MD-9
    #[test]
    fn a_line_of_a_hand_has_an_id_of_its_words() {
        let by_hand = Entry::read("* Likes tea!").unwrap();
        assert_eq!(by_hand.text, "Likes tea!");
        assert_eq!(by_hand.id, Entry::read("- likes  TEA").unwrap().id);
        assert_ne!(by_hand.id, Entry::read("- Likes coffee!").unwrap().id);
        assert_eq!(by_hand.line(), "- Likes tea!");
        for line in [
            "",
            "# Facts",
            "Text",
            "- ",
            "-tea",
            "- <!-- m0123456789 2026-11-29 -->",
        ] {
            assert_eq!(Entry::read(line), None, "{line}");
        }
        let foreign = Entry::read("- tea <!-- note -->").unwrap();
        assert_eq!(foreign.text, "tea <!-- note -->");
    }

    // proves MD-9
    #[test]
    fn texts_that_differ_in_a_sign_are_different_facts() {
        for (one, other) in [
            ("I use C++", "I use C#"),
            ("1.5 million", "1,5 million"),
            ("the offset is -5", "the offset is +5"),
            ("/etc/foo_bar", "/etc/foo.bar"),
            (
                &format!("{}one", "a".repeat(70)),
                &format!("{}two", "a".repeat(70)),
            ),
        ] {
            assert!(!entry(one, false).says(other), "{one}");
            let ids = [one, other].map(|text| Entry::read(&format!("- {text}")).unwrap().id);
            assert_ne!(ids[0], ids[1], "{one}");
        }
        assert!(entry("The person likes tea.", false).says("the person  likes TEA"));
    }

    #[test]
    fn a_text_becomes_one_line_of_at_most_two_kilobytes() {
        assert_eq!(one_line(" a\n\n- b\u{0}c\r\n"), Ok("a - b c".to_owned()));
        for text in ["", " \n", "- ...", &"long ".repeat(13_000)] {
            assert!(one_line(text).is_err());
        }
    }
}
