//! The messages of a prompt: each on its own, and calls with their results.

use serde_json::Value;

use super::{
    fields::{
        Object, check_known, check_length, has, items, missing, object, refused, string, under,
        wrong_type, wrong_value,
    },
    tools,
};
use crate::{asked::Asked, script::Failure};

const ROLES: [&str; 6] = [
    "system",
    "assistant",
    "user",
    "function",
    "tool",
    "developer",
];
const MOST_CALL_ID_CHARS: usize = 40;
const MOST_CALLS: usize = 128;

const FIELDS: [&str; 3] = ["role", "content", "name"];
/// The last three are not of the format's inventor, but the servers that send reasoning want it back.
const ASSISTANT_FIELDS: [&str; 7] = [
    "tool_calls",
    "function_call",
    "refusal",
    "audio",
    "reasoning_content",
    "reasoning",
    "reasoning_details",
];
const TOOL_FIELDS: [&str; 1] = ["tool_call_id"];
const CALL_FIELDS: [&str; 3] = ["id", "type", "function"];
const FUNCTION_FIELDS: [&str; 2] = ["name", "arguments"];

/// Reads the messages in order, or refuses them.
pub(super) fn read(messages: &[Value]) -> Result<Asked, Failure> {
    let mut reader = Reader::default();
    for (index, message) in messages.iter().enumerate() {
        reader.message(index, message)?;
    }
    reader.end_of_results()?;
    Ok(reader.asked)
}

#[derive(Default)]
struct Reader<'a> {
    asked: Asked,
    /// The calls of the assistant message before the results that are being read.
    calls: Option<Calls<'a>>,
}

struct Calls<'a> {
    /// Where the assistant message is.
    index: usize,
    all: Vec<&'a str>,
    unanswered: Vec<&'a str>,
}

impl<'a> Reader<'a> {
    fn message(&mut self, index: usize, message: &'a Value) -> Result<(), Failure> {
        let at = format!("messages[{index}]");
        let message = object(message, &at)?;
        let role = string(message, &at, "role")?;
        if role != "tool" {
            self.end_of_results()?;
        }
        match role {
            "system" | "developer" => {
                check_known(message, &at, &[&FIELDS])?;
                self.asked.system.push_str(&content(message, index)?);
            }
            "user" => {
                check_known(message, &at, &[&FIELDS])?;
                self.asked.last_user = content(message, index)?;
                self.asked.tool_results_since_user = 0;
            }
            "assistant" => {
                check_known(message, &at, &[&FIELDS, &ASSISTANT_FIELDS])?;
                self.calls = assistant(message, index)?;
            }
            "tool" => {
                check_known(message, &at, &[&FIELDS, &TOOL_FIELDS])?;
                self.tool_result(index, message)?;
            }
            "function" => check_known(message, &at, &[&FIELDS])?,
            other => return Err(wrong_value(&under(&at, "role"), other, &ROLES)),
        }
        Ok(())
    }

    fn tool_result(&mut self, index: usize, message: &'a Object) -> Result<(), Failure> {
        let Some(calls) = &mut self.calls else {
            let message = "Invalid parameter: messages with role 'tool' must be a response to a \
                           preceding message with 'tool_calls'.";
            return Err(refused(&ordered(index, "role"), message.to_owned()));
        };
        let id = string(message, &format!("messages[{index}]"), "tool_call_id")?;
        if !calls.all.contains(&id) {
            let message = format!(
                "Invalid parameter: 'tool_call_id' of '{id}' not found in 'tool_calls' of \
                 previous message."
            );
            return Err(refused(&ordered(index, "tool_call_id"), message));
        }
        let Some(place) = calls.unanswered.iter().position(|open| *open == id) else {
            let message = format!("Duplicate value for 'tool_call_id' of '{id}'.");
            return Err(refused(&ordered(index, "tool_call_id"), message));
        };
        calls.unanswered.remove(place);
        self.asked.last_tool_result = content(message, index)?;
        self.asked.tool_results += 1;
        self.asked.tool_results_since_user += 1;
        Ok(())
    }

    /// Every call must have its result before anything else is said.
    fn end_of_results(&mut self) -> Result<(), Failure> {
        match self.calls.take() {
            Some(calls) if !calls.unanswered.is_empty() => {
                let message = format!(
                    "An assistant message with 'tool_calls' must be followed by tool messages \
                     responding to each 'tool_call_id'. These had no response: {}",
                    calls.unanswered.join(", ")
                );
                Err(refused(&ordered(calls.index, "role"), message))
            }
            Some(_) | None => Ok(()),
        }
    }
}

fn assistant(message: &Object, index: usize) -> Result<Option<Calls<'_>>, Failure> {
    let says_something = ["tool_calls", "function_call", "refusal", "audio"]
        .iter()
        .any(|name| has(message, name));
    if has(message, "content") || !says_something {
        content(message, index)?;
    }
    let at = format!("messages[{index}].tool_calls");
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => return Ok(None),
        Some(calls) => items(calls, &at)?,
    };
    if calls.len() > MOST_CALLS {
        let message = format!("Invalid '{at}': array too long. At most {MOST_CALLS} are allowed.");
        return Err(refused(&at, message).code("array_above_max_length"));
    }
    let calls = calls.iter().enumerate();
    let ids = calls
        .map(|(place, call)| call_id(call, &format!("{at}[{place}]")))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Some(Calls {
        index,
        unanswered: ids.clone(),
        all: ids,
    }))
}

/// The id of a call that is as it should be.
fn call_id<'a>(call: &'a Value, at: &str) -> Result<&'a str, Failure> {
    let call = object(call, at)?;
    check_known(call, at, &[&CALL_FIELDS])?;
    let id = string(call, at, "id")?;
    check_length(id, MOST_CALL_ID_CHARS, &under(at, "id"))?;
    tools::check_type(call, at)?;
    let at = under(at, "function");
    let function = object(call.get("function").ok_or_else(|| missing(&at))?, &at)?;
    check_known(function, &at, &[&FUNCTION_FIELDS])?;
    tools::check_name(string(function, &at, "name")?, &under(&at, "name"))?;
    string(function, &at, "arguments")?;
    Ok(id)
}

/// The text of a message's content: a string, or parts of which the texts are joined.
fn content(message: &Object, index: usize) -> Result<String, Failure> {
    match message.get("content") {
        None | Some(Value::Null) => {
            let message = "Invalid value for 'content': expected a string, got null.";
            Err(refused(&ordered(index, "content"), message.to_owned()))
        }
        Some(Value::String(text)) => Ok(text.clone()),
        Some(parts @ Value::Array(_)) => {
            let at = format!("messages[{index}].content");
            let parts = items(parts, &at)?.iter().enumerate();
            parts
                .map(|(place, part)| part_text(part, &format!("{at}[{place}]")))
                .collect()
        }
        Some(other) => {
            let param = format!("messages[{index}].content");
            Err(wrong_type(&param, "a string or an array of objects", other))
        }
    }
}

fn part_text<'a>(part: &'a Value, at: &str) -> Result<&'a str, Failure> {
    const KINDS: [&str; 5] = ["text", "image_url", "input_audio", "refusal", "file"];
    let part = object(part, at)?;
    match string(part, at, "type")? {
        "text" => string(part, at, "text"),
        known if KINDS.contains(&known) => Ok(""),
        other => Err(wrong_value(&under(at, "type"), other, &KINDS)),
    }
}

/// How the checks of the order of messages, unlike those of their fields, write a path.
fn ordered(index: usize, name: &str) -> String {
    format!("messages.[{index}].{name}")
}
