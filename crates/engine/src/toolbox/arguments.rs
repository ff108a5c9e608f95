//! The arguments of a call: small slips of a model are mended, the rest is told in sentences.

use jsonschema::error::{TypeKind, ValidationErrorKind as Rule};
use jsonschema::{ValidationError, Validator};
use samovar_core::message::MAX_ARGS_DEPTH;
use samovar_core::tool::Origin;
use samovar_core::{Closer, ToolSpec};
use serde_json::{Map, Value};

/// Violations of a schema that a model is told of at once, at most.
const MAX_VIOLATIONS: usize = 5;
/// Characters of a wrong value that are repeated, at most.
const MAX_SHOWN_CHARS: usize = 60;

/// The arguments as the tool gets them: an optional `null` counts as left out, and for a built-in
/// tool so does an optional empty text; `"2"` becomes 2 where the schema has numbers alone.
///
/// A tool that is closed from outside reads the arguments in the log, so nothing is mended for it.
pub(super) fn mend(spec: &ToolSpec, args: &mut Value) {
    let (Value::Object(args), Some(fields)) = (args, fields(spec)) else {
        return;
    };
    if spec.closer != Closer::Tool {
        return;
    }
    let required = required(spec);
    args.retain(|name, value| {
        let Some(field) = fields.get(name) else {
            return true;
        };
        if !required.contains(&name.as_str()) {
            let is_empty = match value {
                Value::Null => !takes(field, "null"),
                Value::String(text) => spec.origin == Origin::BuiltIn && text.trim().is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => false,
            };
            if is_empty {
                return false;
            }
        }
        if let Some(mended) = converted(field, value) {
            *value = mended;
        }
        true
    });
}

/// What a model is told whose answer ended inside a call, most often at its token limit.
const CUT: &str = "the arguments end before they are complete, so nothing was run: the answer was \
                   probably cut at its token limit; call again with less in one call";

/// Checks mended arguments against the schema.
///
/// # Errors
/// A sentence that names each argument and the rule that it breaks (AS-12).
pub(super) fn check(spec: &ToolSpec, validator: &Validator, args: &Value) -> Result<(), String> {
    if let Value::String(raw) = args {
        let why = match samovar_core::json::read(raw.as_bytes()) {
            Ok(Value::Object(_)) => format!("nested deeper than {MAX_ARGS_DEPTH} levels"),
            Ok(_) => "not an object".to_owned(),
            Err(error) if error.is_eof() => return Err(CUT.to_owned()),
            Err(error) => error.to_string(),
        };
        return Err(format!(
            "the arguments are not a JSON object ({why}); call again with one JSON object"
        ));
    }
    let violations = validator.iter_errors(args).take(MAX_VIOLATIONS);
    let violations: Vec<String> = violations.map(|error| describe(&error)).collect();
    if violations.is_empty() {
        return Ok(());
    }
    let why = violations.join(", ");
    Err(format!("{why}; {} takes {}", spec.name, signature(spec)))
}

fn fields(spec: &ToolSpec) -> Option<&Map<String, Value>> {
    spec.parameters.get("properties")?.as_object()
}

fn required(spec: &ToolSpec) -> Vec<&str> {
    let names = spec.parameters.get("required").and_then(Value::as_array);
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Whether a field's schema may take values of a type; one that names no type may take any.
fn takes(field: &Value, kind: &str) -> bool {
    match &field["type"] {
        Value::String(one) => one == kind,
        Value::Array(some) => some.iter().any(|one| one == kind),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => true,
    }
}

/// A value in the type that the field has, if it says the same in another one.
fn converted(field: &Value, value: &Value) -> Option<Value> {
    let takes_integer = takes(field, "integer") && !takes(field, "number");
    match value {
        Value::String(_) if takes(field, "string") => None,
        Value::String(text) if takes(field, "integer") || takes(field, "number") => {
            let number: serde_json::Number = text.trim().parse().ok()?;
            let number = Value::Number(number);
            if takes_integer {
                whole(&number)
            } else {
                Some(number)
            }
        }
        Value::String(text) if takes(field, "boolean") => {
            Some(Value::Bool(text.trim().to_lowercase().parse().ok()?))
        }
        // JSON Schema takes 2.0 for an integer, and a tool's type may not.
        Value::Number(number) if takes_integer && number.is_f64() => whole(value),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => None,
    }
}

fn whole(number: &Value) -> Option<Value> {
    if number.is_u64() || number.is_i64() {
        return Some(number.clone());
    }
    let text = number.as_f64().filter(|float| float.fract() == 0.0)?;
    let integer: i64 = format!("{text:.0}").parse().ok()?;
    Some(integer.into())
}

/// The arguments that a tool takes; a question mark stands after those that may be left out.
fn signature(spec: &ToolSpec) -> String {
    let required = required(spec);
    let names = fields(spec).into_iter().flat_map(Map::keys);
    let names: Vec<_> = names
        .map(|name| {
            let mark = if required.contains(&name.as_str()) {
                ""
            } else {
                "?"
            };
            format!("{name}{mark}")
        })
        .collect();
    if names.is_empty() {
        return "no arguments".to_owned();
    }
    names.join(", ")
}

fn describe(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let path = path.trim_start_matches('/').replace('/', ".");
    let inside = |name: &str| match path.as_str() {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let subject = if path.is_empty() {
        "the arguments"
    } else {
        &path
    };
    let value = shown(error.instance());
    match error.kind() {
        Rule::AdditionalProperties { unexpected } => {
            let names: Vec<_> = unexpected.iter().map(|name| inside(name)).collect();
            let noun = if names.len() == 1 {
                "argument"
            } else {
                "arguments"
            };
            format!("unknown {noun} {}", names.join(", "))
        }
        Rule::Required { property } => {
            format!("{} is missing", inside(property.as_str().unwrap_or("?")))
        }
        Rule::Type { kind } => {
            let kinds: Vec<_> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(some) => some.iter().map(|one| one.to_string()).collect(),
            };
            format!(
                "{subject} must be of type {}, not {value}",
                kinds.join(" or ")
            )
        }
        Rule::Enum { options } => format!("{subject} must be one of {options}, not {value}"),
        Rule::Minimum { limit } => format!("{subject} must be at least {limit}, not {value}"),
        Rule::Maximum { limit } => format!("{subject} must be at most {limit}, not {value}"),
        _ => format!("{subject}: {error} (rule {})", error.schema_path()),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests;
