//! JSON Schemas that every provider takes, made from Rust types.

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use schemars::{JsonSchema, Schema};
use serde_json::Value;

/// The description of a type and the schema of its values, without what is noise to a model or
/// unknown to some provider.
pub(crate) fn of<T: JsonSchema>() -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    RecursiveTransform(simplify).transform(&mut schema);
    let description = match schema.remove("description") {
        Some(Value::String(text)) => text,
        Some(_) | None => String::new(),
    };
    (description, schema.to_value())
}

fn simplify(schema: &mut Schema) {
    // `format` is Rust's (`uint64`), and a `default` of null says nothing.
    for noise in ["title", "format", "default"] {
        schema.remove(noise);
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        // Comments are wrapped where the source is, not where a sentence ends.
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    // A field that may be left out is not required; it needs no null as well.
    if let Some(kind) = schema.get_mut("type")
        && let Some(some) = without_null(kind)
    {
        *kind = some;
    }
}

fn without_null(kind: &Value) -> Option<Value> {
    let mut some = kind.as_array()?.iter().filter(|kind| *kind != "null");
    match (some.next(), some.next()) {
        (Some(one), None) => Some(one.clone()),
        _ => None,
    }
}
