//! Checks the parameters of a call against the very schema that the agent was shown: as much of
//! JSON Schema as the tools of this host use.

use serde_json::{Map, Value};

/// Bytes of a value that are repeated in a sentence, at most.
const MAX_SHOWN: usize = 60;

/// Why parameters do not fit a tool's schema; none when they do.
pub(crate) fn misfit(tool: &str, schema: &Value, params: &Map<String, Value>) -> Option<String> {
    let properties = schema["properties"].as_object()?;
    let named = params.keys().find(|name| !properties.contains_key(*name));
    if let Some(name) = named {
        let known: Vec<_> = properties.keys().map(String::as_str).collect();
        let known = if known.is_empty() {
            "it takes none".to_owned()
        } else {
            format!("it takes: {}", known.join(", "))
        };
        return Some(format!(
            "{tool} takes no {}; {known}",
            shown(&Value::from(name.as_str()))
        ));
    }
    let required = schema["required"].as_array().into_iter().flatten();
    let mut required = required.filter_map(Value::as_str);
    if let Some(name) = required.find(|name| !params.contains_key(*name)) {
        return Some(format!("{tool} requires {name}, which is missing"));
    }
    params.iter().find_map(|(name, value)| {
        let (path, why) = breach(name, &properties[name], value)?;
        let value = shown(value);
        Some(format!("{tool} requires {path} {why}; {name} was {value}"))
    })
}

/// What of a value breaks its schema: where, and what would be right.
fn breach(path: &str, schema: &Value, value: &Value) -> Option<(String, String)> {
    let here = |why: String| Some((path.to_owned(), why));
    if let Some(kinds) = schema["anyOf"].as_array() {
        let fitting = kinds.iter().find(|kind| is_of_type(kind, value));
        if let Some(kind) = fitting {
            return breach(path, kind, value);
        }
        let names: Vec<_> = kinds
            .iter()
            .filter_map(|kind| kind["type"].as_str())
            .collect();
        return here(format!("to be one of: {}", names.join(", ")));
    }
    if !is_of_type(schema, value) {
        let kind = schema["type"].as_str()?;
        return here(format!("to be of type {kind}"));
    }
    match value {
        Value::String(text) => of_text(schema, text).and_then(here),
        Value::Number(_) => of_number(schema, value).and_then(here),
        Value::Array(values) => {
            if let Some(why) = of_length(schema, ["minItems", "maxItems"], values.len(), "items") {
                return here(why);
            }
            let mut values = values.iter().enumerate();
            values.find_map(|(at, value)| breach(&format!("{path}[{at}]"), &schema["items"], value))
        }
        Value::Object(fields) => {
            let properties = schema["properties"].as_object()?;
            if let Some(name) = fields.keys().find(|name| !properties.contains_key(*name)) {
                return here(format!("to have no {}", shown(&Value::from(name.as_str()))));
            }
            properties
                .iter()
                .find_map(|(name, schema)| match fields.get(name) {
                    Some(value) => breach(&format!("{path}.{name}"), schema, value),
                    None => here(format!("to have {name}")),
                })
        }
        Value::Null | Value::Bool(_) => None,
    }
}

fn is_of_type(schema: &Value, value: &Value) -> bool {
    match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("integer" | "number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some(_) | None => false,
    }
}

fn of_text(schema: &Value, text: &str) -> Option<String> {
    if let Some(choices) = schema["enum"].as_array() {
        let choices: Vec<_> = choices.iter().filter_map(Value::as_str).collect();
        let is_known = choices.contains(&text);
        return (!is_known).then(|| format!("to be one of: {}", choices.join(", ")));
    }
    let chars = text.chars().count();
    of_length(schema, ["minLength", "maxLength"], chars, "characters")
}

fn of_number(schema: &Value, value: &Value) -> Option<String> {
    let number = value.as_f64()?;
    if schema["type"] == "integer" && number.fract() != 0.0 {
        return Some("to be a whole number".to_owned());
    }
    let least = schema["minimum"].as_f64().filter(|least| number < *least);
    let most = schema["maximum"].as_f64().filter(|most| number > *most);
    let least = least.map(|least| format!(">= {least}"));
    least.or_else(|| most.map(|most| format!("<= {most}")))
}

fn of_length(schema: &Value, [least, most]: [&str; 2], len: usize, of: &str) -> Option<String> {
    let len = u64::try_from(len).ok()?;
    let least = schema[least].as_u64().filter(|least| len < *least);
    let most = schema[most].as_u64().filter(|most| len > *most);
    let least = least.map(|least| format!("to have at least {least} {of}"));
    least.or_else(|| most.map(|most| format!("to have at most {most} {of}")))
}

/// A value as JSON, or its beginning.
pub(crate) fn shown(value: &Value) -> String {
    let json = value.to_string();
    if json.len() <= MAX_SHOWN {
        return json;
    }
    format!("{}..", &json[..json.floor_char_boundary(MAX_SHOWN)])
}
