//! The tools that a prompt offers, and how the model is to choose among them.

use serde_json::Value;

use super::{
    caching,
    fields::{
        Object, check_known, check_name, flag, items, object, optional, refused, required, string,
        under,
    },
};
use crate::script::Failure;

pub(super) const MOST_NAME_CHARS: usize = 128;

/// Fields of a tool of the client's own.
const FIELDS: [&str; 8] = [
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "defer_loading",
    "input_examples",
];

/// The names of the tools, or why they or the choice among them are refused.
pub(super) fn read(body: &Object) -> Result<Vec<String>, Failure> {
    let tools = match optional(body, "tools") {
        Some(tools) => items(tools, "tools")?,
        None => &[],
    };
    let mut names = Vec::new();
    for (place, tool) in tools.iter().enumerate() {
        let at = format!("tools.{place}");
        let name = name(object(tool, &at)?, &at)?;
        if names.contains(&name) {
            return Err(refused("tools", "Tool names must be unique."));
        }
        names.push(name);
    }
    if let Some(choice) = optional(body, "tool_choice") {
        check_choice(object(choice, "tool_choice")?, &names)?;
    }
    Ok(names)
}

fn name(tool: &Object, at: &str) -> Result<String, Failure> {
    match optional(tool, "type").and_then(Value::as_str) {
        None | Some("custom") => {}
        // A tool of the service, such as its web search, has fields of its own.
        Some(_) => return string(tool, at, "name").map(str::to_owned),
    }
    let at = under(at, "custom");
    check_known(tool, &at, &FIELDS)?;
    caching::check(tool, &at)?;
    let name = string(tool, &at, "name")?;
    check_name(name, &under(&at, "name"), Some(MOST_NAME_CHARS))?;
    if let Some(description) = optional(tool, "description")
        && !description.is_string()
    {
        let at = under(&at, "description");
        return Err(refused(&at, "Input should be a valid string"));
    }
    check_schema(tool, &at)?;
    Ok(name.to_owned())
}

fn check_schema(tool: &Object, at: &str) -> Result<(), Failure> {
    let schema = required(tool, at, "input_schema")?;
    let at = under(at, "input_schema");
    let schema = object(schema, &at)?;
    match required(schema, &at, "type")? {
        kind if kind == "object" => {}
        _ => return Err(refused(&under(&at, "type"), "Input should be 'object'")),
    }
    let is_one_of_several = ["oneOf", "allOf", "anyOf"]
        .iter()
        .any(|name| schema.contains_key(*name));
    if is_one_of_several {
        let why = "input_schema does not support oneOf, allOf, or anyOf at the top level";
        return Err(refused(&at, why));
    }
    Ok(())
}

fn check_choice(choice: &Object, names: &[String]) -> Result<(), Failure> {
    let at = "tool_choice";
    let kind = string(choice, at, "type")?;
    let known: &[&str] = match kind {
        "auto" | "any" => &["type", "disable_parallel_tool_use"],
        "tool" => &["type", "name", "disable_parallel_tool_use"],
        "none" => &["type"],
        other => {
            let why = format!(
                "Input tag '{other}' found using 'type' does not match any of the expected tags: \
                 'any', 'auto', 'none', 'tool'"
            );
            return Err(refused(at, &why));
        }
    };
    check_known(choice, &under(at, kind), known)?;
    flag(choice, &under(at, kind), "disable_parallel_tool_use")?;
    if names.is_empty() && kind != "none" {
        let why = "tool_choice may only be specified while providing tools.";
        return Err(Failure::new(400, why));
    }
    if kind == "tool" {
        let name = string(choice, &under(at, kind), "name")?;
        if !names.iter().any(|known| known == name) {
            let why = format!("Tool '{name}' not found in provided tools");
            return Err(Failure::new(400, why));
        }
    }
    Ok(())
}
