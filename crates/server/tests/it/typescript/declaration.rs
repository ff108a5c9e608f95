//! A JSON Schema, as schemars makes them of the wire's types, as a TypeScript declaration.

use serde_json::{Map, Value};

/// Between the name of a generic type and its argument in the name of a schema.
const OF: &str = "_of_";
/// Letters in a line of a comment, at most; what is before them takes no more than ten.
const WIDTH: usize = 90;
/// What may stand in a schema; with another keyword something would be dropped in silence.
const KEYWORDS: &[&str] = &[
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maximum",
    "minimum",
    "oneOf",
    "properties",
    "required",
    "type",
];

type Object = Map<String, Value>;

/// The declaration of a named type. `PaginatedResult_of_SessionInfo` becomes `PaginatedResult<T>`.
pub(super) fn declaration(name: &str, schema: &Value) -> String {
    let schema = object(schema);
    let (head, argument) = match name.split_once(OF) {
        Some((generic, argument)) => (format!("{generic}<T>"), Some(argument)),
        None => (name.to_owned(), None),
    };
    let writer = Writer { argument };
    let has = |key: &str| schema.contains_key(key);
    let declared = if has("properties") && !has("oneOf") && !has("$ref") {
        format!("export interface {head} {}", writer.fields(schema))
    } else {
        let written = writer.of(schema);
        let gap = if written.starts_with('\n') { "" } else { " " };
        format!("export type {head} ={gap}{written};")
    };
    commented(text(schema, "description"), &declared)
}

/// A type as it stands where it is used: its name, or all of it when it has none.
pub(super) fn type_of(schema: &Value) -> String {
    Writer { argument: None }.of(object(schema))
}

/// The type that a schema names; none when it does not name one.
pub(super) fn named(schema: &Value) -> Option<&str> {
    schema["$ref"].as_str()?.strip_prefix("#/$defs/")
}

/// Code under its documentation comment, if it has one.
pub(super) fn commented(about: &str, code: &str) -> String {
    let words: Vec<_> = about.split_whitespace().collect();
    let whole = words.join(" ");
    if whole.is_empty() {
        return code.to_owned();
    }
    if whole.len() <= WIDTH {
        return format!("/** {whole} */\n{code}");
    }
    let mut lines = vec![String::new()];
    for word in words {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!(" {word}")),
        }
    }
    format!("/**\n *{}\n */\n{code}", lines.join("\n *"))
}

/// Lines between braces, each after the first moved to the right.
pub(super) fn block(lines: &[String]) -> String {
    format!("{{{}\n}}", moved(&format!("\n{}", lines.join("\n"))))
}

fn moved(lines: &str) -> String {
    lines.replace('\n', "\n  ")
}

/// Writes types, with `T` for the argument of the generic type that is being declared.
struct Writer<'a> {
    argument: Option<&'a str>,
}

impl Writer<'_> {
    fn of(&self, schema: &Object) -> String {
        let mut keys = schema.keys();
        let unknown = keys.find(|key| !KEYWORDS.contains(&key.as_str()));
        assert_eq!(unknown, None, "no TypeScript is known for {schema:?}");
        let choices = schema.get("oneOf").or(schema.get("anyOf"));
        let choices = choices.map(|choices| self.choices(choices));
        match (self.base(schema), choices) {
            (Some(base), Some(choices)) => format!("{base} & ({choices}\n)"),
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => "unknown".to_owned(),
        }
    }

    /// What a schema says beside its choices.
    fn base(&self, schema: &Object) -> Option<String> {
        if let Some(value) = schema.get("const") {
            return Some(value.to_string());
        }
        if let Some(values) = schema.get("enum") {
            return Some(joined(array(values).iter().map(Value::to_string)));
        }
        let fields = schema.contains_key("properties");
        let fields = fields.then(|| self.fields(schema));
        match (fields, schema.get("$ref").map(|name| self.name(name))) {
            (Some(fields), Some(name)) => return Some(format!("{fields} & {name}")),
            (Some(one), None) | (None, Some(one)) => return Some(one),
            (None, None) => {}
        }
        match schema.get("type")? {
            Value::Array(names) => {
                let names = names.iter().filter_map(|name| self.primitive(name, schema));
                Some(joined(names))
            }
            name => self.primitive(name, schema),
        }
    }

    fn primitive(&self, name: &Value, schema: &Object) -> Option<String> {
        let written = match name.as_str()? {
            name @ ("string" | "boolean" | "null") => name.to_owned(),
            "integer" | "number" => "number".to_owned(),
            "array" => {
                let item = schema.get("items").map(object);
                let item = item.map_or_else(|| "unknown".to_owned(), |item| self.of(item));
                let is_word = item.chars().all(char::is_alphanumeric);
                let list = format!("{item}[]");
                if is_word {
                    list
                } else {
                    format!("Array<{item}>")
                }
            }
            // Beside choices it says only that each of them is one.
            "object" if schema.contains_key("oneOf") => return None,
            "object" => match schema.get("additionalProperties") {
                Some(Value::Object(value)) => format!("Record<string, {}>", self.of(value)),
                Some(Value::Bool(true)) => "Record<string, unknown>".to_owned(),
                _ => "Record<string, never>".to_owned(),
            },
            other => panic!("no TypeScript is known for the type {other}"),
        };
        Some(written)
    }

    fn fields(&self, schema: &Object) -> String {
        let required = schema.get("required").map_or(&[][..], array);
        let lines: Vec<_> = object(&schema["properties"])
            .iter()
            .map(|(name, field)| {
                let (field, key) = (object(field), key(name));
                let line = if required.iter().any(|required| required == name) {
                    format!("{key}: {};", self.of(field))
                } else {
                    format!("{key}?: {};", self.of(&without_null(field)))
                };
                let about = text(field, "description").to_owned() + &bounds(field);
                commented(&about, &line)
            })
            .collect();
        block(&lines)
    }

    /// A choice a line, each under its comment.
    fn choices(&self, choices: &Value) -> String {
        let lines = array(choices).iter().map(|choice| {
            let choice = object(choice);
            let line = moved(&format!("| {}", self.of(choice)));
            format!("\n{}", commented(text(choice, "description"), &line))
        });
        moved(&lines.collect::<String>())
    }

    fn name(&self, reference: &Value) -> String {
        let name = reference.as_str();
        let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
        let name = name.unwrap_or_else(|| panic!("{reference} does not name a type"));
        match name.split_once(OF) {
            _ if self.argument == Some(name) => "T".to_owned(),
            Some((generic, argument)) => format!("{generic}<{argument}>"),
            None => name.to_owned(),
        }
    }
}

/// What TypeScript cannot say of a number.
fn bounds(field: &Object) -> String {
    match (field.get("minimum"), field.get("maximum")) {
        (Some(least), Some(most)) => format!(" From {least} to {most}."),
        // Without an upper bound the lower one is that of the Rust type.
        _ => String::new(),
    }
}

/// The name of a property, in quotes unless it is an identifier.
fn key(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    if name.chars().all(is_plain) {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

/// What may be missing is left out, and not given as null.
fn without_null(field: &Object) -> Object {
    let mut field = field.clone();
    if let Some(Value::Array(names)) = field.get_mut("type") {
        names.retain(|name| name != "null");
    }
    if let Some(Value::Array(choices)) = field.get_mut("anyOf") {
        choices.retain(|choice| choice["type"] != "null");
    }
    field
}

fn joined(kinds: impl Iterator<Item = String>) -> String {
    kinds.collect::<Vec<_>>().join(" | ")
}

fn text<'s>(schema: &'s Object, key: &str) -> &'s str {
    schema.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn object(schema: &Value) -> &Object {
    schema
        .as_object()
        .unwrap_or_else(|| panic!("{schema} is not the schema of a type"))
}

fn array(values: &Value) -> &[Value] {
    values
        .as_array()
        .unwrap_or_else(|| panic!("{values} is not a list"))
}
