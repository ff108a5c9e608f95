//! Schemas of tools as the strictest servers take them: no schema is a truth value, and references
//! into the same document are replaced by what they lead to.

use std::borrow::Cow;

use samovar_core::ToolSpec;
use samovar_core::tool::Origin;
use serde_json::{Map, Value};

/// How many values a schema may have without references; one that would have more keeps them.
const MAX_VALUES: usize = 4096;

/// Keys whose value is a schema.
const SCHEMA: [&str; 8] = [
    "items",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
];

/// Keys whose value is a list of schemas.
const LISTS: [&str; 4] = ["anyOf", "oneOf", "allOf", "prefixItems"];

/// Keys whose value has a schema under each name.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
    "definitions",
];

/// A tool's schema made plain. The server's own schemas are.
pub(crate) fn plain(tool: &ToolSpec) -> Cow<'_, Value> {
    let schema = &tool.parameters;
    if tool.origin == Origin::BuiltIn || !is_odd(schema) {
        return Cow::Borrowed(schema);
    }
    let mut inlined = Plain {
        root: schema,
        inlines: true,
        open: Vec::new(),
        values: 0,
    };
    let plain = inlined.schema(schema).map(|mut plain| {
        if let Value::Object(fields) = &mut plain {
            fields.retain(|name, _| name != "$defs" && name != "definitions");
        }
        plain
    });
    // One that leads to itself has no end without references.
    let plain = plain.or_else(|| {
        Plain {
            inlines: false,
            values: 0,
            open: Vec::new(),
            ..inlined
        }
        .schema(schema)
    });
    plain.map_or(Cow::Borrowed(schema), Cow::Owned)
}

/// Whether a schema may have what is made plain; names that are spelled like it count too.
fn is_odd(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, value)| name == "$ref" || value.is_boolean() || is_odd(value)),
        Value::Array(items) => items.iter().any(|item| item.is_boolean() || is_odd(item)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

struct Plain<'a> {
    root: &'a Value,
    inlines: bool,
    /// The references that are being followed.
    open: Vec<&'a str>,
    values: usize,
}

impl<'a> Plain<'a> {
    /// A schema made plain; `None` if it leads to itself, or becomes too large.
    fn schema(&mut self, schema: &'a Value) -> Option<Value> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return None;
        }
        let fields = match schema {
            Value::Bool(true) => return Some(Value::Object(Map::new())),
            Value::Object(fields) => fields,
            other => return Some(other.clone()),
        };
        let target = fields.get("$ref").filter(|_| self.inlines);
        let target = target.and_then(Value::as_str).and_then(|name| {
            let target = self.root.pointer(name.strip_prefix('#')?)?;
            Some((name, target))
        });
        let mut plain = Map::new();
        if let Some((name, target)) = target {
            if self.open.contains(&name) {
                return None;
            }
            self.open.push(name);
            let inlined = self.schema(target);
            self.open.pop();
            if let Value::Object(inlined) = inlined? {
                plain = inlined;
            }
        }
        for (name, value) in fields {
            if target.is_none() || name != "$ref" {
                plain.insert(name.clone(), self.field(name, value)?);
            }
        }
        Some(Value::Object(plain))
    }

    fn field(&mut self, name: &str, value: &'a Value) -> Option<Value> {
        match value {
            Value::Object(named) if NAMED.contains(&name) => {
                // What can never be given is not offered.
                let named = named
                    .iter()
                    .filter(|(_, schema)| **schema != Value::Bool(false));
                let named = named.map(|(name, schema)| Some((name.clone(), self.schema(schema)?)));
                named.collect::<Option<Map<_, _>>>().map(Value::Object)
            }
            Value::Array(items) if LISTS.contains(&name) => {
                let items = items.iter().map(|item| self.schema(item));
                items.collect::<Option<Vec<_>>>().map(Value::Array)
            }
            schema if SCHEMA.contains(&name) => self.schema(schema),
            other => Some(other.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
