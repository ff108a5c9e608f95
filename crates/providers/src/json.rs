//! JSON that is read out of an event, borrowed from it where that can be.

use std::borrow::Cow;

use samovar_locale as locale;
use serde::Deserialize;

use crate::fault::Fault;

/// A string that is borrowed when it has no escapes, inside an `Option` too.
#[derive(Deserialize)]
pub(crate) struct Text<'a>(#[serde(borrow)] pub(crate) Cow<'a, str>);

/// Reads a piece of an answer.
///
/// # Errors
/// It is not what this kind of server sends.
pub(crate) fn read<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, Fault> {
    serde_json::from_str(json).map_err(|error| Fault::bad(locale::provider::no_piece(error)))
}
