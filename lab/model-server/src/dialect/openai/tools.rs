//! The tools that a prompt offers.

use serde_json::Value;

use super::fields::{
    Object, check_known, check_length, missing, object, refused, string, under, wrong_value,
};
use crate::script::Failure;

const MOST_TOOLS: usize = 128;
const MOST_NAME_CHARS: usize = 64;

/// The names of the tools, or why they are refused.
pub(super) fn read(tools: &[Value]) -> Result<Vec<String>, Failure> {
    if tools.len() > MOST_TOOLS {
        let message = format!(
            "Invalid 'tools': array too long. Expected at most {MOST_TOOLS} items, \
             but got {} instead.",
            tools.len()
        );
        return Err(refused("tools", message).code("array_above_max_length"));
    }
    let tools = tools.iter().enumerate();
    tools
        .map(|(index, tool)| name(tool, &format!("tools[{index}]")))
        .collect()
}

fn name(tool: &Value, at: &str) -> Result<String, Failure> {
    let tool = object(tool, at)?;
    check_known(tool, at, &[&["type", "function"]])?;
    check_type(tool, at)?;
    let at = under(at, "function");
    let function = object(tool.get("function").ok_or_else(|| missing(&at))?, &at)?;
    check_known(
        function,
        &at,
        &[&["name", "description", "parameters", "strict"]],
    )?;
    let name = string(function, &at, "name")?;
    check_name(name, &under(&at, "name"))?;
    if let Some(parameters) = function.get("parameters") {
        check_parameters(parameters, name, &under(&at, "parameters"))?;
    }
    Ok(name.to_owned())
}

/// Refuses anything but a function, for tools and calls alike.
pub(super) fn check_type(object: &Object, at: &str) -> Result<(), Failure> {
    match string(object, at, "type")? {
        "function" => Ok(()),
        other => Err(wrong_value(&under(at, "type"), other, &["function"])),
    }
}

/// Refuses names that no function can have.
pub(super) fn check_name(name: &str, param: &str) -> Result<(), Failure> {
    check_length(name, MOST_NAME_CHARS, param)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if name.bytes().all(fits) {
        return Ok(());
    }
    let message = format!(
        "Invalid '{param}': string does not match pattern. \
         Expected a string that matches '^[a-zA-Z0-9_-]+$'."
    );
    Err(refused(param, message).code("invalid_value"))
}

fn check_parameters(parameters: &Value, name: &str, param: &str) -> Result<(), Failure> {
    let parameters = object(parameters, param)?;
    // No parameters at all is the one schema that needs no type.
    if parameters.is_empty() || parameters.get("type").is_some_and(|kind| kind == "object") {
        return Ok(());
    }
    let message =
        format!("Invalid schema for function '{name}': the schema must be of 'type: \"object\"'.");
    Err(refused(param, message).code("invalid_function_parameters"))
}
