//! Writes a piece of an answer in the usual way, where a server has a way of its own that can be meant
//! in one way alone. Only what could not be read as it came, or says nothing, gets here.

use samovar_core::json;
use serde_json::{Map, Value, json};

use crate::repair;

/// Objects that gateways put around an answer.
const WRAPPERS: [&str; 4] = ["data", "result", "response", "body"];

/// The names under which a model's last word comes.
const REASONS: [&str; 4] = [
    "finish_reason",
    "finishReason",
    "stop_reason",
    "done_reason",
];

/// The names of a call's arguments.
const ARGUMENTS: [&str; 4] = ["arguments", "parameters", "input", "args"];

/// The names of what a model thought.
const THOUGHTS: [&str; 3] = ["reasoning_content", "reasoning", "thinking"];

/// A piece as it is usually written; `None` if it is no JSON object.
pub(super) fn plain(piece: &str) -> Option<Value> {
    let mended = repair::mended(piece);
    let value = json::read(mended.as_deref().unwrap_or(piece).as_bytes()).ok()?;
    let Value::Object(mut chunk) = value else {
        return None;
    };
    if !chunk.contains_key("choices") {
        unwrap(&mut chunk);
    }
    let choices = match chunk.remove("choices") {
        Some(Value::Array(choices)) => choices.into_iter().filter_map(choice).collect(),
        Some(one @ Value::Object(_)) => choice(one).into_iter().collect(),
        other => other.unwrap_or_default(),
    };
    chunk.insert("choices".to_owned(), choices);
    Some(Value::Object(chunk))
}

/// Takes the answer out of what is around it, or puts what is usually around it there.
fn unwrap(chunk: &mut Map<String, Value>) {
    let has_answer = |name: &&&str| {
        chunk
            .get(**name)
            .and_then(|inner| inner.get("choices"))
            .is_some()
    };
    let inner = WRAPPERS.iter().find(has_answer);
    if let Some(Value::Object(inner)) = inner.and_then(|name| chunk.remove(*name)) {
        chunk.extend(inner);
    } else if ["delta", "message"]
        .iter()
        .any(|name| is_object(chunk.get(*name)))
    {
        let choice = Value::Object(chunk.clone());
        chunk.insert("choices".to_owned(), json!([choice]));
    }
}

fn is_object(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_object)
}

fn choice(choice: Value) -> Option<Value> {
    let Value::Object(mut choice) = choice else {
        return None;
    };
    let mut plain = Map::new();
    plain.insert("index".to_owned(), number(choice.get("index")));
    let reason = REASONS.iter().find_map(|name| choice.get(*name)?.as_str());
    plain.insert("finish_reason".to_owned(), json!(reason));
    plain.insert(
        "usage".to_owned(),
        choice.remove("usage").unwrap_or_default(),
    );
    for name in ["delta", "message"] {
        let said = match choice.remove(name) {
            Some(Value::Object(said)) => delta(said),
            Some(Value::String(text)) => json!({ "content": text }),
            _ => continue,
        };
        plain.insert(name.to_owned(), said);
    }
    if let Some(text) = choice.get("text").filter(|text| text.is_string()) {
        plain.entry("delta").or_insert(json!({ "content": text }));
    }
    Some(Value::Object(plain))
}

fn delta(mut said: Map<String, Value>) -> Value {
    let mut plain = Map::new();
    let content = content(said.remove("content"));
    plain.insert("content".to_owned(), content);
    let thoughts = THOUGHTS.iter().filter_map(|name| said.get(*name));
    let mut thoughts = thoughts.map(text).filter(|text| !text.is_empty());
    plain.insert("reasoning_content".to_owned(), json!(thoughts.next()));
    let refusal = said.get("refusal").filter(|refusal| refusal.is_string());
    plain.insert("refusal".to_owned(), json!(refusal));
    let details = said.remove("reasoning_details");
    let details = details.filter(Value::is_array).unwrap_or_default();
    plain.insert("reasoning_details".to_owned(), details);
    let calls = match said.remove("tool_calls") {
        Some(Value::Array(calls)) => calls,
        Some(one @ Value::Object(_)) => vec![one],
        _ => Vec::new(),
    };
    let calls: Vec<_> = calls.into_iter().filter_map(call).collect();
    plain.insert("tool_calls".to_owned(), Value::Array(calls));
    let call = said.remove("function_call").filter(Value::is_object);
    plain.insert("function_call".to_owned(), call.unwrap_or_default());
    Value::Object(plain)
}

/// A string, or a list of texts and thoughts.
fn content(content: Option<Value>) -> Value {
    match content {
        Some(Value::Array(pieces)) => pieces.into_iter().filter_map(piece).collect(),
        Some(value @ (Value::Object(_) | Value::Number(_) | Value::Bool(_))) => {
            Value::String(text(&value))
        }
        Some(value @ Value::String(_)) => value,
        Some(Value::Null) | None => Value::Null,
    }
}

fn piece(piece: Value) -> Option<Value> {
    match piece {
        Value::String(text) => Some(json!({ "text": text })),
        Value::Object(mut piece) => {
            if let Some(Value::String(text)) = piece.get("thinking") {
                let text = json!([{ "text": text }]);
                piece.insert("thinking".to_owned(), text);
            } else if piece.get("text").is_some_and(Value::is_object) {
                let text = text(&piece["text"]);
                piece.insert("text".to_owned(), Value::String(text));
            }
            Some(Value::Object(piece))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => None,
    }
}

/// The text in a value: itself, or what an object calls `text`, `value` or `content`.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Object(fields) => {
            let names = ["text", "value", "content", "parts"];
            names
                .iter()
                .find_map(|name| fields.get(*name))
                .map(text)
                .unwrap_or_default()
        }
        Value::Array(items) => items.iter().map(text).collect(),
        Value::Null => String::new(),
    }
}

/// A piece of a call, whose function may stand beside it or be its name alone.
fn call(call: Value) -> Option<Value> {
    let Value::Object(mut call) = call else {
        return None;
    };
    let mut function = match call.remove("function") {
        Some(Value::Object(function)) => function,
        Some(name @ Value::String(_)) => Map::from_iter([("name".to_owned(), name)]),
        _ => Map::new(),
    };
    let beside = |name: &str| call.get(name).filter(|value| !value.is_null()).cloned();
    if !function.contains_key("name") {
        function.insert("name".to_owned(), beside("name").unwrap_or_default());
    }
    let inside = ARGUMENTS.iter().find_map(|name| {
        function
            .get(*name)
            .filter(|value| !value.is_null())
            .cloned()
    });
    let arguments = inside.or_else(|| ARGUMENTS.iter().find_map(|name| beside(name)));
    function.insert("arguments".to_owned(), arguments.unwrap_or_default());
    let name = function.remove("name").filter(Value::is_string);
    let id = call.get("id").filter(|id| id.is_string() || id.is_number());
    Some(json!({
        "index": number(call.get("index")),
        "id": id.map(text),
        "function": {"name": name, "arguments": function.remove("arguments")},
        "extra_content": call.remove("extra_content"),
    }))
}

/// A number, also one that is written as a text.
fn number(value: Option<&Value>) -> Value {
    let number = match value {
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_i64(),
        None => None,
    };
    json!(number)
}
