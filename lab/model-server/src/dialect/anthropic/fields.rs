//! Refusals of single fields, in the words that clients match on.

use serde_json::{Map, Value};

use crate::script::Failure;

pub(super) type Object = Map<String, Value>;

/// Status 400 for what is at `at`.
pub(super) fn refused(at: &str, why: &str) -> Failure {
    Failure::new(400, format!("{at}: {why}"))
}

/// Refuses fields that the format does not have.
pub(super) fn check_known(object: &Object, at: &str, known: &[&str]) -> Result<(), Failure> {
    let mut names = object.keys();
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(unknown) => Err(refused(
            &under(at, unknown),
            "Extra inputs are not permitted",
        )),
        None => Ok(()),
    }
}

/// The field that must be there.
pub(super) fn required<'a>(object: &'a Object, at: &str, name: &str) -> Result<&'a Value, Failure> {
    let field = object.get(name);
    field.ok_or_else(|| refused(&under(at, name), "Field required"))
}

/// The field, unless it is absent or null, which is the same.
pub(super) fn optional<'a>(object: &'a Object, name: &str) -> Option<&'a Value> {
    object.get(name).filter(|value| !value.is_null())
}

/// The string that `object` must have under `name`.
pub(super) fn string<'a>(object: &'a Object, at: &str, name: &str) -> Result<&'a str, Failure> {
    let value = required(object, at, name)?.as_str();
    value.ok_or_else(|| refused(&under(at, name), "Input should be a valid string"))
}

/// The object that `value` is.
pub(super) fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Object, Failure> {
    let object = value.as_object();
    object.ok_or_else(|| refused(at, "Input should be a valid dictionary"))
}

/// The items of the list that `value` is.
pub(super) fn items<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], Failure> {
    let items = value.as_array().map(Vec::as_slice);
    items.ok_or_else(|| refused(at, "Input should be a valid list"))
}

/// Whether a switch is on; absent, it is off.
pub(super) fn flag(object: &Object, at: &str, name: &str) -> Result<bool, Failure> {
    let Some(value) = optional(object, name) else {
        return Ok(false);
    };
    let flag = value.as_bool();
    flag.ok_or_else(|| refused(&under(at, name), "Input should be a valid boolean"))
}

/// Refuses a string that is none of `known`.
pub(super) fn check_word(word: &str, at: &str, known: &[&str]) -> Result<(), Failure> {
    if known.contains(&word) {
        return Ok(());
    }
    let known: Vec<_> = known.iter().map(|word| format!("'{word}'")).collect();
    let expected = match known.as_slice() {
        [most @ .., last] if !most.is_empty() => format!("{} or {last}", most.join(", ")),
        known => known.concat(),
    };
    Err(refused(at, &format!("Input should be {expected}")))
}

/// Refuses a string with other characters than letters, digits, `_` and `-`, or with none, or
/// with more than `most`.
pub(super) fn check_name(name: &str, at: &str, most: Option<usize>) -> Result<(), Failure> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let is_short = most.is_none_or(|most| name.len() <= most);
    if !name.is_empty() && is_short && name.bytes().all(fits) {
        return Ok(());
    }
    let length = most.map_or("+".to_owned(), |most| format!("{{1,{most}}}"));
    let why = format!("String should match pattern '^[a-zA-Z0-9_-]{length}$'");
    Err(refused(at, &why))
}

/// The path of a field.
pub(super) fn under(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}
