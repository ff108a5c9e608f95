//! JSON that is read out of an event, borrowed from it where that can be.

use std::borrow::Cow;

use samovar_core::json::Plain;
use samovar_locale as locale;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::fault::{Fault, clean};

/// A string that is borrowed when it has no escapes, inside an `Option` too.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Tokens of one kind that one answer is believed to have cost, at most: more would spoil every sum
/// that it is added to.
const MAX_TOKENS: u64 = 1 << 40;

/// Reads what an answer is not void for: of another shape than ours, it is none.
///
/// # Errors
/// It is no JSON.
pub(crate) fn lenient<'de, D, T>(json: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let raw = <&RawValue>::deserialize(json)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

/// Reads a number of tokens, also one that is written as a text: none when it is negative, broken or
/// no number, and never more than [`MAX_TOKENS`].
///
/// # Errors
/// It is no JSON.
pub(crate) fn tokens<'de, D: Deserializer<'de>>(json: D) -> Result<Option<u64>, D::Error> {
    let raw = <&RawValue>::deserialize(json)?;
    let tokens = raw.get().trim_matches('"').trim();
    let tokens = tokens.strip_suffix(".0").unwrap_or(tokens);
    Ok(tokens
        .parse()
        .ok()
        .map(|tokens: u64| tokens.min(MAX_TOKENS)))
}

/// Reads a value that a server has its own idea of.
///
/// # Errors
/// It is no JSON, or has the key that the reader keeps for itself.
pub(crate) fn plain<'de, D: Deserializer<'de>>(json: D) -> Result<Option<Value>, D::Error> {
    let read = Option::<Plain>::deserialize(json)?;
    Ok(read.map(|Plain(value)| value))
}

/// As [`plain`], for a list.
///
/// # Errors
/// As [`plain`].
pub(crate) fn plain_list<'de, D>(json: D) -> Result<Option<Vec<Value>>, D::Error>
where
    D: Deserializer<'de>,
{
    let read = Option::<Vec<Plain>>::deserialize(json)?;
    Ok(read.map(|list| list.into_iter().map(|Plain(value)| value).collect()))
}

/// Reads a piece of an answer.
///
/// # Errors
/// It is not what this kind of server sends.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Fault> {
    serde_json::from_str(json).map_err(|_| no_piece(json))
}

/// What is not a piece of an answer, in the server's own words.
pub(crate) fn no_piece(piece: &str) -> Fault {
    Fault::bad(locale::provider::no_piece(clean(piece)))
}
