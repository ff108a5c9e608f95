//! Refusals of single fields, in the words that clients match on.

use serde_json::{Map, Value};

use crate::script::Failure;

pub(super) type Object = Map<String, Value>;

/// Status 400 for the parameter `param`.
pub(super) fn refused(param: &str, message: String) -> Failure {
    Failure::new(400, message).param(param)
}

pub(super) fn missing(param: &str) -> Failure {
    refused(param, format!("Missing required parameter: '{param}'."))
        .code("missing_required_parameter")
}

pub(super) fn wrong_type(param: &str, expected: &str, got: &Value) -> Failure {
    let got = type_name(got);
    let message =
        format!("Invalid type for '{param}': expected {expected}, but got {got} instead.");
    refused(param, message).code("invalid_type")
}

pub(super) fn wrong_value(param: &str, got: &str, supported: &[&str]) -> Failure {
    let supported = supported.join("', '");
    let message = format!("Invalid value: '{got}'. Supported values are: '{supported}'.");
    refused(param, message).code("invalid_value")
}

pub(super) fn empty_array(param: &str) -> Failure {
    let message = format!("Invalid '{param}': empty array. At least one item is expected.");
    refused(param, message).code("empty_array")
}

/// Refuses fields that the format does not have.
pub(super) fn check_known(object: &Object, at: &str, known: &[&[&str]]) -> Result<(), Failure> {
    let mut names = object.keys();
    let unknown = names.find(|name| !known.iter().any(|known| known.contains(&name.as_str())));
    let Some(unknown) = unknown else {
        return Ok(());
    };
    let param = under(at, unknown);
    Err(refused(&param, format!("Unknown parameter: '{param}'.")).code("unknown_parameter"))
}

/// The object that `value` is.
pub(super) fn object<'a>(value: &'a Value, param: &str) -> Result<&'a Object, Failure> {
    value
        .as_object()
        .ok_or_else(|| wrong_type(param, "an object", value))
}

/// The items of a list that must have some.
pub(super) fn items<'a>(value: &'a Value, param: &str) -> Result<&'a [Value], Failure> {
    match value.as_array() {
        None => Err(wrong_type(param, "an array of objects", value)),
        Some(items) if items.is_empty() => Err(empty_array(param)),
        Some(items) => Ok(items),
    }
}

/// The string that `object` must have under `name`.
pub(super) fn string<'a>(object: &'a Object, at: &str, name: &str) -> Result<&'a str, Failure> {
    let param = under(at, name);
    match object.get(name) {
        None => Err(missing(&param)),
        Some(Value::String(text)) => Ok(text),
        Some(other) => Err(wrong_type(&param, "a string", other)),
    }
}

/// Refuses a string of fewer than one or more than `most` characters.
pub(super) fn check_length(text: &str, most: usize, param: &str) -> Result<(), Failure> {
    let length = text.chars().count();
    if length == 0 {
        let message =
            format!("Invalid '{param}': empty string. At least one character is expected.");
        return Err(refused(param, message).code("empty_string"));
    }
    if length > most {
        let message = format!(
            "Invalid '{param}': string too long. Expected at most {most} characters, \
             but got {length} instead."
        );
        return Err(refused(param, message).code("string_above_max_length"));
    }
    Ok(())
}

/// Whether a field is there and says something.
pub(super) fn has(object: &Object, name: &str) -> bool {
    object.get(name).is_some_and(|value| !value.is_null())
}

/// The path of a field.
pub(super) fn under(at: &str, name: &str) -> String {
    if at.is_empty() {
        name.to_owned()
    } else {
        format!("{at}.{name}")
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a decimal",
        Value::Number(_) => "an integer",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
