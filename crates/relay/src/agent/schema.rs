//! What a host's `toolSchema` says, as tools that a model can be given (RL-22).

use std::sync::Arc;
use std::time::Duration;

use samovar_core::tool::{Origin, Sharing};
use samovar_core::{Asks, Closer, Effect, ToolSpec};
use serde_json::{Map, Value, json};

/// Tools of a host that a model is given, at most: the first.
const MAX_TOOLS: usize = 64;
/// Bytes of a tool's description, at most; what is longer is cut.
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
/// Bytes of a tool's parameters, at most.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// How long a call may take: a relay gives a host half a minute.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(45);

/// The types of JSON Schema.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// The tools of a `toolSchema`, and why others of it are left out.
pub(super) fn read(tool_schema: &Value) -> (Vec<Arc<ToolSpec>>, Vec<String>) {
    let (mut specs, mut left_out) = (Vec::new(), Vec::new());
    let Value::Array(entries) = tool_schema else {
        if !tool_schema.is_null() {
            left_out.push("toolSchema is not a list".to_owned());
        }
        return (specs, left_out);
    };
    for entry in entries.iter().take(MAX_TOOLS) {
        match read_one(entry) {
            Ok(spec) => specs.push(Arc::new(spec)),
            Err(why) => left_out.push(why),
        }
    }
    if let Some(more) = entries
        .len()
        .checked_sub(MAX_TOOLS)
        .filter(|more| *more > 0)
    {
        left_out.push(format!("{more} tools behind the first {MAX_TOOLS}"));
    }
    (specs, left_out)
}

fn read_one(entry: &Value) -> Result<ToolSpec, String> {
    let name = entry.get("name").and_then(Value::as_str);
    let name = name.ok_or("a tool without a name")?;
    let description = entry.get("description").and_then(Value::as_str);
    let parameters = parameters(entry.get("parameters").unwrap_or(&Value::Null));
    let parameters = parameters.map_err(|why| format!("{name:?}: {why}"))?;
    let bytes = parameters.to_string().len();
    if bytes > MAX_SCHEMA_BYTES {
        return Err(format!("{name:?}: its parameters have {bytes} bytes"));
    }
    Ok(ToolSpec {
        name: name.to_owned(),
        description: cut(description.unwrap_or_default()).to_owned(),
        parameters,
        // Whatever it is, somebody else's word is no reason to call it twice.
        effect: Effect::Unsafe,
        asks: Some(Asks::FOREIGN),
        origin: Origin::Registered,
        closed: false,
        timeout: CALL_TIMEOUT,
        // A host does one thing after the other, and each changes what the next one finds.
        sharing: Sharing::Exclusive,
        closer: Closer::Tool,
    })
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_DESCRIPTION_BYTES)]
}

/// Both forms that there are become a JSON Schema of an object.
fn parameters(given: &Value) -> Result<Value, &'static str> {
    match given {
        Value::Null => Ok(json!({ "type": "object", "properties": {} })),
        Value::Object(given) if is_schema(given) => schema(given),
        Value::Object(given) => listed(given),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err("its parameters are not an object")
        }
    }
}

/// Whether it is a schema, and not the list of parameters: there a key is a parameter, and what it has
/// is an object.
fn is_schema(given: &Map<String, Value>) -> bool {
    let has = |key: &str, is: fn(&Value) -> bool| given.get(key).is_some_and(is);
    given.is_empty()
        || has("type", |kind| kind.is_string() || kind.is_array())
        || ["$schema", "$ref", "$id"]
            .iter()
            .any(|key| has(key, Value::is_string))
        || ["anyOf", "oneOf", "allOf", "required"]
            .iter()
            .any(|key| has(key, Value::is_array))
        || has("properties", |properties| {
            let mut values = properties.as_object().into_iter().flat_map(Map::values);
            properties.is_object() && values.all(Value::is_object)
        })
}

fn schema(given: &Map<String, Value>) -> Result<Value, &'static str> {
    match given.get("type") {
        None => {}
        Some(kind) if kind == "object" => {}
        Some(_) => return Err("its parameters are not the schema of an object"),
    }
    if has_reference(given) {
        return Err("its parameters refer to another schema");
    }
    let mut schema = given.clone();
    schema.insert("type".to_owned(), "object".into());
    schema.entry("properties").or_insert_with(|| json!({}));
    Ok(Value::Object(schema))
}

/// Whether a schema takes its rules from elsewhere, be it from itself: one that does so without an end
/// would never be done with.
fn has_reference(schema: &Map<String, Value>) -> bool {
    fn refers(value: &Value) -> bool {
        match value {
            Value::Object(map) => has_reference(map),
            Value::Array(items) => items.iter().any(refers),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }
    let is_reference = |key: &str| matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef");
    schema
        .iter()
        .any(|(key, value)| is_reference(key) || refers(value))
}

/// The form `{param: {type, description, enum?}}`. A parameter may be missing, unless it says that it
/// is required.
fn listed(given: &Map<String, Value>) -> Result<Value, &'static str> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, given) in given {
        let Value::Object(given) = given else {
            return Err("a parameter is not an object");
        };
        if has_reference(given) {
            return Err("its parameters refer to another schema");
        }
        if given.get("required") == Some(&Value::Bool(true)) {
            required.push(Value::from(name.as_str()));
        }
        properties.insert(name.clone(), Value::Object(parameter(given)));
    }
    let mut schema = json!({ "type": "object", "properties": properties });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    Ok(schema)
}

/// One parameter, without what a schema would not take.
fn parameter(given: &Map<String, Value>) -> Map<String, Value> {
    let mut schema = given.clone();
    if schema.get("required").is_some_and(Value::is_boolean) {
        schema.shift_remove("required");
    }
    if !schema.get("enum").is_none_or(Value::is_array) {
        schema.shift_remove("enum");
    }
    let kind = schema.get("type").and_then(Value::as_str);
    if !kind.is_some_and(|kind| TYPES.contains(&kind)) {
        // Its word for it is for the model to read; any value fits.
        if let Some(kind) = schema.shift_remove("type") {
            let said = schema.get("description").and_then(Value::as_str);
            let said = format!("{} (type: {kind})", said.unwrap_or_default());
            schema.insert("description".to_owned(), said.trim_start().into());
        }
    } else if kind == Some("array") && !schema.contains_key("items") {
        // Some providers refuse a list without.
        schema.insert("items".to_owned(), json!({}));
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(parameters: &Value) -> Result<Value, Vec<String>> {
        let (specs, left_out) = read(&json!([{"name": "t", "parameters": parameters}]));
        match specs.as_slice() {
            [spec] => Ok(spec.parameters.clone()),
            _ => Err(left_out),
        }
    }

    // proves RL-22
    #[test]
    fn both_forms_of_parameters_become_the_schema_of_an_object() {
        let object = |properties: Value| json!({"type": "object", "properties": properties});
        for (given, schema) in [
            (Value::Null, object(json!({}))),
            (json!({}), json!({"type": "object", "properties": {}})),
            (
                json!({"itemId": {"type": "string", "description": "which"}}),
                object(json!({"itemId": {"type": "string", "description": "which"}})),
            ),
            (
                json!({"order": {"type": "string", "enum": ["asc", "desc"], "required": true}}),
                json!({"type": "object",
                    "properties": {"order": {"type": "string", "enum": ["asc", "desc"]}},
                    "required": ["order"]}),
            ),
            (
                json!({"itemIds": {"type": "array"}, "n": {"type": "string | number"}}),
                object(json!({"itemIds": {"type": "array", "items": {}},
                    "n": {"description": "(type: \"string | number\")"}})),
            ),
            (
                json!({"type": {"type": "string", "required": false}}),
                object(json!({"type": {"type": "string"}})),
            ),
            (
                json!({"properties": {"type": "object", "description": "a map"}}),
                object(json!({"properties": {"type": "object", "description": "a map"}})),
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "integer"}},
                    "required": ["a"], "additionalProperties": false}),
                json!({"type": "object", "properties": {"a": {"type": "integer"}},
                    "required": ["a"], "additionalProperties": false}),
            ),
            (
                json!({"properties": {"a": {"type": "integer"}}}),
                json!({"properties": {"a": {"type": "integer"}}, "type": "object"}),
            ),
        ] {
            assert_eq!(one(&given), Ok(schema), "{given}");
        }
    }

    // proves RL-22
    #[test]
    fn tools_that_no_model_could_be_given_are_left_out_with_the_reason() {
        for parameters in [
            json!(true),
            json!([]),
            json!("object"),
            json!({"type": "array"}),
            json!({"a": 1}),
            json!({"type": "object", "properties": {"a": {"$ref": "#"}}}),
            json!({"a": {"anyOf": [{"$dynamicRef": "#x"}]}}),
            json!({"a": {"type": "string", "description": "x".repeat(MAX_SCHEMA_BYTES)}}),
        ] {
            assert!(one(&parameters).is_err(), "{parameters}");
        }
        let list: Vec<_> = (0..70)
            .map(|at| json!({"name": format!("t{at}")}))
            .collect();
        let (specs, left_out) = read(&json!(list));
        assert_eq!((specs.len(), left_out.len()), (MAX_TOOLS, 1));
        for odd in [json!({}), json!("x"), json!([1, {"name": 2}, null])] {
            let (specs, left_out) = read(&odd);
            assert!(specs.is_empty() && !left_out.is_empty(), "{odd}");
        }
        assert_eq!(read(&Value::Null), (Vec::new(), Vec::new()));
        let long = json!([{"name": "t", "description": "é".repeat(MAX_DESCRIPTION_BYTES)}]);
        assert!(read(&long).0[0].description.len() <= MAX_DESCRIPTION_BYTES);
    }
}
