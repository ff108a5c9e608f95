//! The rules of a request's fields, as the JSON Schema of a dialect.

use jsonschema::{
    ValidationError, Validator, error::ValidationErrorKind as Rule, paths::LocationSegment,
};
use serde_json::Value;

/// Compiles a schema, which a dialect does once.
pub(super) fn compile(schema: &str) -> Validator {
    let schema = serde_json::from_str(schema).expect("a file of this crate that is JSON");
    jsonschema::validator_for(&schema).expect("a file of this crate that is a schema")
}

/// The path of the field that breaks a rule, which may be missing or unknown; `item` spells the
/// place of an item in its list.
pub(super) fn path(error: &ValidationError<'_>, item: fn(usize) -> String) -> String {
    let segments = error.instance_path().into_iter();
    let mut path: String = segments
        .map(|segment| match segment {
            LocationSegment::Property(name) => format!(".{name}"),
            LocationSegment::Index(index) => item(index),
        })
        .collect();
    let field = match error.kind() {
        Rule::Required { property } => property.as_str(),
        Rule::AdditionalProperties { unexpected } | Rule::UnevaluatedProperties { unexpected } => {
            unexpected.first().map(String::as_str)
        }
        _ => None,
    };
    path.extend(field.map(|name| format!(".{name}")));
    path.trim_start_matches('.').to_owned()
}

/// The items of a list that the rules allow to be absent.
pub(super) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A string that the rules ask for.
pub(super) fn text(string: &Value) -> &str {
    string.as_str().unwrap_or_default()
}

/// What content says: a string, or the text of its parts.
pub(super) fn joined(content: &Value) -> String {
    let parts = items(content).iter();
    let texts = parts.filter(|part| part["type"] == "text");
    let texts: String = texts.map(|part| text(&part["text"])).collect();
    text(content).to_owned() + &texts
}
