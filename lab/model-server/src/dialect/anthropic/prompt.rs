//! A request to the model: what it asks for, or why it is refused.
//!
//! The schema has the rules of its fields; here and in `order.rs` is what a schema cannot say.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use super::{BETA, VERSION, marks, order};
use crate::{
    dialect::schema::{self, items, joined, text},
    prompt::Prompt,
    script::Failure,
};

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| schema::compile(include_str!("../anthropic.json")));

const VERSIONS: [&str; 2] = ["2023-01-01", "2023-06-01"];

/// Parameters that are known only to requests that name a beta.
const BETA_PARAMETERS: [&str; 4] = [
    "context_management",
    "mcp_servers",
    "output_format",
    "speed",
];

/// With thinking, as much of the probable must be kept.
const LEAST_TOP_P: f64 = 0.95;

pub(super) fn read(headers: &HeaderMap, body: Option<&Value>) -> Result<Prompt, Failure> {
    check_version(headers)?;
    let body = body.ok_or_else(|| Failure::new(400, "The request body is not valid JSON"))?;
    check_beta(headers, body)?;
    SCHEMA.validate(body).map_err(|error| refuse(&error))?;
    let tools = items(&body["tools"]).iter();
    let tools: Vec<_> = tools.map(|tool| text(&tool["name"]).to_owned()).collect();
    check_tools(&tools, &body["tool_choice"])?;
    check_thinking(body)?;
    let boundaries = marks::boundaries(body)?;
    order::check(items(&body["messages"]), &body["thinking"])?;

    let mut prompt = Prompt {
        model: text(&body["model"]).to_owned(),
        system: joined(&body["system"]),
        tools,
        boundaries,
        streams: body["stream"] == true,
        wants_usage: true,
        ..Prompt::default()
    };
    note(items(&body["messages"]), &mut prompt);
    Ok(prompt)
}

/// The refusal of what is at `path`.
pub(super) fn refused(path: &str, why: &str) -> Failure {
    Failure::new(400, format!("{path}: {why}"))
}

/// The refusal of a field that breaks a rule of the schema.
fn refuse(error: &ValidationError<'_>) -> Failure {
    let path = schema::path(error, |index| format!(".{index}"));
    refused(&path, &error.masked().to_string())
}

fn check_version(headers: &HeaderMap) -> Result<(), Failure> {
    let Some(version) = headers.get(VERSION).map(HeaderValue::as_bytes) else {
        return Err(refused(VERSION, "header is required"));
    };
    let version = String::from_utf8_lossy(version);
    if VERSIONS.contains(&version.as_ref()) {
        return Ok(());
    }
    let why = format!("\"{version}\" is not a valid version");
    Err(refused(VERSION, &why))
}

fn check_beta(headers: &HeaderMap, body: &Value) -> Result<(), Failure> {
    let mut unknown = BETA_PARAMETERS.iter();
    match unknown.find(|name| body.get(name).is_some() && !headers.contains_key(BETA)) {
        Some(name) => Err(refused(name, "Extra inputs are not permitted")),
        None => Ok(()),
    }
}

fn check_tools(names: &[String], choice: &Value) -> Result<(), Failure> {
    let is_repeated = |(place, name)| names[..place].contains(name);
    if names.iter().enumerate().any(is_repeated) {
        return Err(refused("tools", "Tool names must be unique."));
    }
    let name = text(&choice["name"]);
    let why = match text(&choice["type"]) {
        "any" | "auto" | "tool" if names.is_empty() => {
            "tool_choice may only be specified while providing tools.".to_owned()
        }
        "tool" if !names.iter().any(|known| known == name) => {
            format!("Tool '{name}' not found in provided tools")
        }
        _ => return Ok(()),
    };
    Err(Failure::new(400, why))
}

/// Refuses parameters that thinking does not go with.
fn check_thinking(body: &Value) -> Result<(), Failure> {
    let thinking = &body["thinking"];
    if thinking["type"] != "enabled" && thinking["type"] != "adaptive" {
        return Ok(());
    }
    let is_below = |name: &str, least| body[name].as_f64().is_some_and(|given| given < least);
    let why = if thinking["budget_tokens"].as_f64() >= body["max_tokens"].as_f64() {
        "`max_tokens` must be greater than `thinking.budget_tokens`."
    } else if is_below("temperature", 1.0) {
        "`temperature` may only be set to 1 when thinking is enabled."
    } else if !body["top_k"].is_null() {
        "`top_k` must be unset when thinking is enabled."
    } else if is_below("top_p", LEAST_TOP_P) {
        "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled."
    } else if matches!(text(&body["tool_choice"]["type"]), "any" | "tool") {
        "Thinking may not be enabled when tool_choice forces tool use."
    } else {
        return Ok(());
    };
    Err(Failure::new(400, why))
}

/// Notes what the messages say. Results are in a user's message, but the user did not say them.
fn note(messages: &[Value], prompt: &mut Prompt) {
    for message in messages.iter().filter(|one| one["role"] == "user") {
        let content = &message["content"];
        for block in items(content) {
            if block["type"] == "tool_result" {
                prompt.last_tool_result = joined(&block["content"]);
                prompt.tool_results += 1;
                prompt.tool_results_since_user += 1;
            }
        }
        if content.is_string()
            || items(content)
                .iter()
                .any(|block| block["type"] != "tool_result")
        {
            prompt.last_user = joined(content);
            prompt.tool_results_since_user = 0;
        }
    }
}
