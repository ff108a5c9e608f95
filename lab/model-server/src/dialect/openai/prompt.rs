//! A request to the model: what it asks for, or why it is refused.
//!
//! The schema has the rules of its fields; here is what a schema cannot say: parameters that
//! need or exclude each other, and the order of calls and results.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use jsonschema::{ValidationError, Validator, error::ValidationErrorKind as Rule};
use serde_json::Value;

use crate::{
    dialect::schema::{self, items, joined, text},
    prompt::Prompt,
    script::Failure,
};

static SCHEMA: LazyLock<Validator> =
    LazyLock::new(|| schema::compile(include_str!("../openai.json")));

pub(in crate::dialect) fn read(
    headers: &HeaderMap,
    body: Option<&Value>,
) -> Result<Prompt, Failure> {
    check_content_type(headers)?;
    let body = body.filter(|body| body.is_object()).ok_or_else(|| {
        let message = "We could not parse the JSON body of your request: an object is expected.";
        Failure::new(400, message)
    })?;
    if matches!(body["model"].as_str(), Some("")) || body.get("model").is_none() {
        return Err(Failure::new(400, "you must provide a model parameter"));
    }
    SCHEMA.validate(body).map_err(|error| refuse(&error))?;
    let mut prompt = read_messages(items(&body["messages"]))?;
    check_combinations(body)?;
    let tools = items(&body["tools"]).iter();
    prompt.tools = tools
        .map(|tool| text(&tool["function"]["name"]).to_owned())
        .collect();
    text(&body["model"]).clone_into(&mut prompt.model);
    prompt.streams = body["stream"] == true;
    prompt.wants_usage = body["stream_options"]["include_usage"] == true;
    Ok(prompt)
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Failure> {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    if content_type.starts_with(b"application/json") {
        return Ok(());
    }
    let message = format!(
        "Unsupported content type: '{}'. Only 'application/json' is accepted.",
        String::from_utf8_lossy(&content_type)
    );
    Err(Failure::new(415, message).code("unsupported_content_type"))
}

/// The refusal of a field that breaks a rule of the schema.
fn refuse(error: &ValidationError<'_>) -> Failure {
    let param = schema::path(error, |index| format!("[{index}]"));
    let code = match error.kind() {
        Rule::Minimum { limit } if limit.is_f64() => "decimal_below_min_value",
        Rule::Minimum { .. } => "integer_below_min_value",
        Rule::Maximum { limit } if limit.is_f64() => "decimal_above_max_value",
        Rule::Maximum { .. } => "integer_above_max_value",
        Rule::Required { .. } => "missing_required_parameter",
        Rule::AdditionalProperties { .. } | Rule::UnevaluatedProperties { .. } => {
            "unknown_parameter"
        }
        Rule::Type { .. } => "invalid_type",
        Rule::MinLength { .. } => "empty_string",
        Rule::MaxLength { .. } => "string_above_max_length",
        Rule::MinItems { .. } => "empty_array",
        Rule::MaxItems { .. } => "array_above_max_length",
        // The schema of a function's parameters alone has alternatives.
        Rule::AnyOf { .. } => "invalid_function_parameters",
        _ => "invalid_value",
    };
    refused(&param, &format!("Invalid '{param}': {}.", error.masked())).code(code)
}

/// Status 400 for the parameter `param`.
fn refused(param: &str, message: &str) -> Failure {
    Failure::new(400, message).param(param)
}

fn check_combinations(body: &Value) -> Result<(), Failure> {
    let has = |name| body.get(name).is_some();
    for name in ["tool_choice", "parallel_tool_calls"] {
        if has(name) && !has("tools") {
            let message = format!("'{name}' is only allowed when 'tools' are specified.");
            return Err(refused(name, &message));
        }
    }
    if has("max_tokens") && has("max_completion_tokens") {
        let message = "'max_tokens' and 'max_completion_tokens' cannot be set at the same time.";
        return Err(refused("max_tokens", message).code("invalid_parameter_combination"));
    }
    if body.get("stream_options").is_some_and(Value::is_object) && body["stream"] != true {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(refused("stream_options", message));
    }
    Ok(())
}

/// The calls of the assistant message before the results that are being read.
struct Calls<'a> {
    /// Where the assistant message is.
    index: usize,
    all: Vec<&'a str>,
    unanswered: Vec<&'a str>,
}

/// Notes what the messages say, or refuses their order.
fn read_messages(messages: &[Value]) -> Result<Prompt, Failure> {
    let mut prompt = Prompt::default();
    let mut calls: Option<Calls<'_>> = None;
    for (index, message) in messages.iter().enumerate() {
        let role = text(&message["role"]);
        if role != "tool" {
            check_all_answered(calls.take())?;
        }
        match role {
            "system" | "developer" => prompt.system += &content(message, index)?,
            "user" => {
                prompt.last_user = content(message, index)?;
                prompt.tool_results_since_user = 0;
            }
            "assistant" => {
                let others = ["tool_calls", "function_call", "refusal", "audio"];
                if others.iter().all(|name| message[name].is_null()) {
                    content(message, index)?;
                }
                let called = items(&message["tool_calls"]).iter();
                let all: Vec<_> = called.map(|call| text(&call["id"])).collect();
                calls = (!all.is_empty()).then(|| Calls {
                    index,
                    unanswered: all.clone(),
                    all,
                });
            }
            "tool" => {
                check_result(calls.as_mut(), message, index)?;
                prompt.last_tool_result = content(message, index)?;
                prompt.tool_results += 1;
                prompt.tool_results_since_user += 1;
            }
            _ => {}
        }
    }
    check_all_answered(calls)?;
    Ok(prompt)
}

/// What a message says, which must be something.
fn content(message: &Value, index: usize) -> Result<String, Failure> {
    if message["content"].is_null() {
        let message = "Invalid value for 'content': expected a string, got null.";
        return Err(refused(&ordered(index, "content"), message));
    }
    Ok(joined(&message["content"]))
}

fn check_result<'a>(
    calls: Option<&mut Calls<'a>>,
    message: &'a Value,
    index: usize,
) -> Result<(), Failure> {
    let Some(calls) = calls else {
        let message = "Invalid parameter: messages with role 'tool' must be a response to a \
                       preceding message with 'tool_calls'.";
        return Err(refused(&ordered(index, "role"), message));
    };
    let id = text(&message["tool_call_id"]);
    let message = if !calls.all.contains(&id) {
        format!(
            "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of previous \
             message."
        )
    } else if let Some(place) = calls.unanswered.iter().position(|open| *open == id) {
        calls.unanswered.remove(place);
        return Ok(());
    } else {
        format!("Duplicate value for 'tool_call_id' of '{id}'.")
    };
    Err(refused(&ordered(index, "tool_call_id"), &message))
}

/// Every call must have its result before anything else is said.
fn check_all_answered(calls: Option<Calls<'_>>) -> Result<(), Failure> {
    let Some(calls) = calls.filter(|calls| !calls.unanswered.is_empty()) else {
        return Ok(());
    };
    let message = format!(
        "An assistant message with 'tool_calls' must be followed by tool messages responding to \
         each 'tool_call_id'. These had no response: {}",
        calls.unanswered.join(", ")
    );
    Err(refused(&ordered(calls.index, "role"), &message))
}

/// How the checks of the order of messages, unlike those of their fields, write a path.
fn ordered(index: usize, name: &str) -> String {
    format!("messages.[{index}].{name}")
}
