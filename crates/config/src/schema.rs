//! The JSON Schema of the configuration, made from its types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use crate::settings::Settings;

/// The schema of a configuration file, as it is published.
pub fn schema() -> Value {
    let settings =
        SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<Settings>()
        .to_value();
    tidy(&mut schema);
    schema
}

/// Takes out what says nothing to a person: the sizes of our integers, defaults that only say that
/// there is none, sections repeated as defaults, the line breaks of comments.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            tidy_object(object);
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn tidy_object(object: &mut Map<String, Value>) {
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    let is_said = |default: &Value| !default.is_null() && !default.is_object();
    if !object.get("default").is_some_and(is_said) {
        object.remove("default");
    }
    let is_of_numbers = |format: &Value| {
        ["uint", "uint16", "uint32", "uint64", "double"]
            .iter()
            .any(|of| format == of)
    };
    if object.get("format").is_some_and(is_of_numbers) {
        object.remove("format");
    }
}
