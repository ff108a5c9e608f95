//! The declaration of a tool that runs elsewhere, and its bounds.

use std::time::Duration;

use samovar_core::tool::{Origin, Sharing};
use samovar_core::{Asks, Closer, Effect, ToolSpec};
use samovar_locale as locale;
use serde_json::{Value, json};

/// Bytes of a description, at most: every prompt carries it.
const MAX_DESCRIPTION_BYTES: usize = 4 * 1024;
/// Bytes of a schema as JSON, at most.
const MAX_SCHEMA_BYTES: usize = 16 * 1024;
/// Levels of objects and arrays in a schema, at most.
const MAX_SCHEMA_DEPTH: usize = 32;
/// The longest that one call may run.
const MAX_TIMEOUT: Duration = Duration::from_hours(1);

/// A tool's declaration by its owner.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name that a model calls.
    pub name: String,
    /// For the model: what it does and when to use it. At most 4 KiB.
    pub description: String,
    /// The JSON Schema of its arguments, of the type `object`. At most 16 KiB and 32 levels.
    pub parameters: Value,
    /// What it does to the world.
    pub effect: Effect,
    /// How long one call may run, up to an hour.
    pub timeout: Duration,
    /// Where it comes from.
    pub origin: Origin,
    /// As in [`ToolSpec::closed`].
    pub closed: bool,
}

/// Why a tool cannot be taken as it was declared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeclaredError {
    /// Nothing says what it does.
    #[error("{}", locale::tool::no_description(locale::quoted(.0)))]
    NoDescription(String),
    /// The description is too long.
    #[error("{}", locale::tool::long_description(locale::quoted(.0), MAX_DESCRIPTION_BYTES))]
    LongDescription(String),
    /// The schema is too large.
    #[error("{}", locale::tool::large_schema(locale::quoted(.0), MAX_SCHEMA_BYTES))]
    LargeSchema(String),
    /// The schema is nested too deep.
    #[error("{}", locale::tool::deep_schema(locale::quoted(.0), MAX_SCHEMA_DEPTH))]
    DeepSchema(String),
    /// The schema is not one of an object.
    #[error("{}", locale::tool::no_object_schema(locale::quoted(.0)))]
    NoObject(String),
    /// The timeout is out of bounds.
    #[error("{}", locale::tool::bad_timeout(locale::quoted(.0), MAX_TIMEOUT.as_secs()))]
    Timeout(String),
}

/// The schema of a tool that takes no arguments.
pub fn no_arguments() -> Value {
    json!({"type": "object", "properties": {}})
}

impl Declared {
    /// Refuses what is out of bounds. Whether the name and the schema are ones, the toolbox says.
    ///
    /// # Errors
    /// [`DeclaredError`].
    pub fn check(&self) -> Result<(), DeclaredError> {
        let name = || self.name.chars().take(64).collect();
        if self.description.trim().is_empty() {
            return Err(DeclaredError::NoDescription(name()));
        }
        if self.description.len() > MAX_DESCRIPTION_BYTES {
            return Err(DeclaredError::LongDescription(name()));
        }
        if self.parameters["type"] != "object" {
            return Err(DeclaredError::NoObject(name()));
        }
        if depth(&self.parameters) > MAX_SCHEMA_DEPTH {
            return Err(DeclaredError::DeepSchema(name()));
        }
        if self.parameters.to_string().len() > MAX_SCHEMA_BYTES {
            return Err(DeclaredError::LargeSchema(name()));
        }
        if self.timeout < Duration::from_secs(1) || self.timeout > MAX_TIMEOUT {
            return Err(DeclaredError::Timeout(name()));
        }
        Ok(())
    }

    pub(crate) fn spec(self, closer: Closer) -> ToolSpec {
        ToolSpec {
            name: self.name,
            description: self.description,
            parameters: self.parameters,
            effect: self.effect,
            // Only the operator declares tools, and is believed about what they do (TL-4).
            asks: (self.effect != Effect::Read).then_some(Asks::FOREIGN),
            origin: self.origin,
            closed: self.closed,
            timeout: self.timeout,
            sharing: Sharing::Parallel,
            closer,
        }
    }
}

fn depth(value: &Value) -> usize {
    let deepest = match value {
        Value::Object(map) => map.values().map(depth).max(),
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + deepest.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared() -> Declared {
        Declared {
            name: "book".to_owned(),
            description: "Books a table.".to_owned(),
            parameters: no_arguments(),
            effect: Effect::Unsafe,
            timeout: Duration::from_mins(1),
            origin: Origin::Registered,
            closed: false,
        }
    }

    fn nested(levels: usize) -> Value {
        let mut schema = json!({"type": "object"});
        for _ in 1..levels {
            schema = json!({"type": "object", "x": schema});
        }
        schema
    }

    type Change = fn(&mut Declared);

    // proves TL-17
    #[test]
    fn a_declared_tool_is_held_to_its_bounds() {
        let most: [Change; 5] = [
            |_| {},
            |tool| tool.description = "d".repeat(MAX_DESCRIPTION_BYTES),
            |tool| tool.parameters = nested(MAX_SCHEMA_DEPTH),
            |tool| tool.timeout = MAX_TIMEOUT,
            |tool| tool.timeout = Duration::from_secs(1),
        ];
        for change in most {
            let mut tool = declared();
            change(&mut tool);
            assert_eq!(tool.check(), Ok(()));
        }
        let name = || "book".to_owned();
        let refused: [(Change, DeclaredError); 8] = [
            (
                |tool| tool.description = " \n".to_owned(),
                DeclaredError::NoDescription(name()),
            ),
            (
                |tool| tool.description = "d".repeat(MAX_DESCRIPTION_BYTES + 1),
                DeclaredError::LongDescription(name()),
            ),
            (
                |tool| tool.parameters = json!({"type": "string"}),
                DeclaredError::NoObject(name()),
            ),
            (
                |tool| tool.parameters = json!([]),
                DeclaredError::NoObject(name()),
            ),
            (
                |tool| tool.parameters = nested(MAX_SCHEMA_DEPTH + 1),
                DeclaredError::DeepSchema(name()),
            ),
            (
                |tool| tool.parameters["x"] = "x".repeat(MAX_SCHEMA_BYTES).into(),
                DeclaredError::LargeSchema(name()),
            ),
            (
                |tool| tool.timeout = Duration::from_millis(999),
                DeclaredError::Timeout(name()),
            ),
            (
                |tool| tool.timeout = MAX_TIMEOUT + Duration::from_secs(1),
                DeclaredError::Timeout(name()),
            ),
        ];
        for (change, error) in refused {
            let mut tool = declared();
            change(&mut tool);
            assert_eq!(tool.check(), Err(error));
        }
    }
}
