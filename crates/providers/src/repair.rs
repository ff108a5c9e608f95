//! JSON as servers write it that do not use a library for it: numbers that are none, characters that
//! must be escaped, halves of a character, several documents where one belongs.
//!
//! Only what can be meant in one way is mended, and only after the text was read in vain. Nothing is
//! added to a text that breaks off.

use std::borrow::Cow;

use samovar_core::ToolCall;
use serde_json::Value;
use serde_json::value::RawValue;

/// Whether a text is one whole JSON document.
pub(crate) fn is_whole(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// The documents in a text, one after the other; those in a list of objects each for itself.
///
/// # Errors
/// One is no JSON, or breaks off.
pub(crate) fn documents(text: &str) -> serde_json::Result<Vec<String>> {
    let read = |text: &str| -> serde_json::Result<Vec<String>> {
        let documents = serde_json::Deserializer::from_str(text).into_iter::<Box<RawValue>>();
        let documents: Vec<_> = documents.collect::<Result<_, _>>()?;
        Ok(documents.iter().map(|raw| raw.get().to_owned()).collect())
    };
    let documents =
        read(text).or_else(|error| mended(text).map_or(Err(error), |text| read(&text)))?;
    match documents.as_slice() {
        [list] if list.starts_with('[') => {
            let items: Vec<Box<RawValue>> = serde_json::from_str(list)?;
            Ok(items.iter().map(|raw| raw.get().to_owned()).collect())
        }
        _ => Ok(documents),
    }
}

/// The text with what makes it no JSON replaced; `None` if there is nothing of the kind in it.
///
/// `NaN` and infinities become `null`, control characters in strings are escaped, and half of a pair
/// of UTF-16 becomes one of [`HALVES`].
pub(crate) fn mended(text: &str) -> Option<String> {
    let mut mended = String::with_capacity(text.len());
    let mut rest = text;
    let mut is_string = false;
    while let Some(letter) = rest.chars().next() {
        let (taken, put): (usize, Cow<'_, str>) = match (is_string, letter) {
            (_, '"') => {
                is_string = !is_string;
                (1, Cow::Borrowed("\""))
            }
            (true, '\\') => escape(rest),
            (true, '\0'..='\u{1f}') => (1, Cow::Owned(format!("\\u{:04x}", letter as u32))),
            (false, 'N' | 'I' | '-') => number(rest),
            (_, letter) => (letter.len_utf8(), Cow::Borrowed(&rest[..letter.len_utf8()])),
        };
        mended.push_str(&put);
        rest = &rest[taken..];
    }
    (mended != text).then_some(mended)
}

/// What no library writes for a number.
fn number(rest: &str) -> (usize, Cow<'_, str>) {
    let found = ["NaN", "Infinity", "-Infinity", "-NaN"]
        .iter()
        .find(|name| rest.starts_with(**name));
    match found {
        Some(name) => (name.len(), Cow::Borrowed("null")),
        None => (1, Cow::Borrowed(&rest[..1])),
    }
}

/// An escape in a string: a half of a pair is told apart, every other stays as it is.
fn escape(rest: &str) -> (usize, Cow<'_, str>) {
    let unit = |text: &str| {
        let digits = text.strip_prefix("\\u")?.get(..4)?;
        u32::from_str_radix(digits, 16).ok()
    };
    let length = rest.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
    let as_it_is = |length: usize| (length, Cow::Borrowed(&rest[..length]));
    match unit(rest) {
        Some(0xd800..=0xdbff) if rest.get(6..).and_then(unit).is_some_and(is_low) => as_it_is(12),
        Some(half @ 0xd800..=0xdfff) => {
            let mark =
                char::from_u32(HALVES + half - 0xd800).unwrap_or(char::REPLACEMENT_CHARACTER);
            (6, Cow::Owned(mark.to_string()))
        }
        Some(_) => as_it_is(6),
        None => as_it_is(length),
    }
}

fn is_low(unit: u32) -> bool {
    (0xdc00..=0xdfff).contains(&unit)
}

/// Where the marks of the halves begin: the last characters for private use, which no text has.
const HALVES: u32 = 0x10_f000;

/// Puts the halves of characters together that servers send in two pieces.
#[derive(Default)]
pub(crate) struct Halves(Option<u32>);

impl Halves {
    /// The text with its halves put together; the last one is kept for the text that follows.
    pub(crate) fn join(&mut self, text: String) -> String {
        if self.0.is_none() && !text.contains(is_half) {
            return text;
        }
        let mut joined = String::with_capacity(text.len());
        for letter in text.chars() {
            let half = is_half(letter).then(|| letter as u32 - HALVES + 0xd800);
            match (self.0.take(), half) {
                (Some(high), Some(low)) if is_low(low) => {
                    let whole = 0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                    joined.extend(char::from_u32(whole));
                }
                (high, Some(half)) => {
                    joined.extend(high.map(|_| char::REPLACEMENT_CHARACTER));
                    if is_low(half) {
                        joined.push(char::REPLACEMENT_CHARACTER);
                    } else {
                        self.0 = Some(half);
                    }
                }
                (high, None) => {
                    joined.extend(high.map(|_| char::REPLACEMENT_CHARACTER));
                    joined.push(letter);
                }
            }
        }
        joined
    }
}

fn is_half(letter: char) -> bool {
    (HALVES..HALVES + 0x800).contains(&(letter as u32))
}

/// A call's arguments. Unlike [`ToolCall::parse_args`], it also takes what must have been escaped.
pub(crate) fn args(raw: &str) -> Value {
    match ToolCall::parse_args(raw) {
        Value::String(raw) => match mended(&raw).map(|text| ToolCall::parse_args(&text)) {
            Some(args @ Value::Object(_)) => args,
            Some(_) | None => Value::String(raw),
        },
        args => args,
    }
}

#[cfg(test)]
mod tests;
