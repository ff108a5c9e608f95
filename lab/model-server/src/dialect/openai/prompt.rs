//! A request to the model: what it asks for, or why it is refused.

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use serde_json::Value;

use super::{
    fields::{Object, check_known, items, missing, object, refused, string, wrong_type},
    messages, tools,
};
use crate::{asked::Asked, script::Failure};

const PARAMETERS: [&str; 33] = [
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
    "user",
    "verbosity",
];

/// Numbers and where they may lie. The real `n` goes to 128, but a script has one reply for a
/// prompt, and a second choice that silently never comes would be worse than a refusal.
const RANGES: [Range; 7] = [
    Range::of("temperature", 0.0, 2.0),
    Range::of("top_p", 0.0, 1.0),
    Range::of("presence_penalty", -2.0, 2.0),
    Range::of("frequency_penalty", -2.0, 2.0),
    Range::of_integers("max_tokens", 1.0, f64::INFINITY),
    Range::of_integers("max_completion_tokens", 1.0, f64::INFINITY),
    Range::of_integers("n", 1.0, 1.0),
];

/// Parameters that make no sense without another one.
const NEEDS: [(&str, &str); 2] = [("tool_choice", "tools"), ("parallel_tool_calls", "tools")];

pub(in crate::dialect) fn read(
    headers: &HeaderMap,
    body: Option<&Value>,
) -> Result<Asked, Failure> {
    check_content_type(headers)?;
    let body = body.and_then(Value::as_object).ok_or_else(|| {
        let message = "We could not parse the JSON body of your request: an object is expected.";
        Failure::new(400, message)
    })?;
    let model = model(body)?;
    check_known(body, "", &[&PARAMETERS])?;
    let mut asked = match body.get("messages") {
        None => return Err(missing("messages")),
        Some(messages) => messages::read(items(messages, "messages")?)?,
    };
    for range in &RANGES {
        range.check(body)?;
    }
    check_combinations(body)?;
    if let Some(tools) = body.get("tools") {
        asked.tools = tools::read(items(tools, "tools")?)?;
    }
    asked.model = model;
    asked.streams = flag(body, "stream")?;
    asked.wants_usage = wants_usage(body, asked.streams)?;
    Ok(asked)
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

fn model(body: &Object) -> Result<String, Failure> {
    match string(body, "", "model") {
        Ok(model) if !model.is_empty() => Ok(model.to_owned()),
        Err(refusal) if body.contains_key("model") => Err(refusal),
        Ok(_) | Err(_) => Err(Failure::new(400, "you must provide a model parameter")),
    }
}

fn flag(body: &Object, name: &str) -> Result<bool, Failure> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(other) => Err(wrong_type(name, "a boolean", other)),
    }
}

fn wants_usage(body: &Object, streams: bool) -> Result<bool, Failure> {
    let options = match body.get("stream_options") {
        None | Some(Value::Null) => return Ok(false),
        Some(options) => object(options, "stream_options")?,
    };
    if !streams {
        let message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
        return Err(refused("stream_options", message.to_owned()));
    }
    flag(options, "include_usage")
}

fn check_combinations(body: &Object) -> Result<(), Failure> {
    for (name, needed) in NEEDS {
        if body.contains_key(name) && !body.contains_key(needed) {
            let message = format!("'{name}' is only allowed when '{needed}' are specified.");
            return Err(refused(name, message));
        }
    }
    if body.contains_key("max_tokens") && body.contains_key("max_completion_tokens") {
        let message = "'max_tokens' and 'max_completion_tokens' cannot be set at the same time.";
        return Err(refused("max_tokens", message.to_owned()).code("invalid_parameter_combination"));
    }
    Ok(())
}

/// Where a number may lie, both ends included.
struct Range {
    name: &'static str,
    least: f64,
    most: f64,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer,
    Decimal,
}

impl Range {
    const fn of(name: &'static str, least: f64, most: f64) -> Range {
        let kind = Kind::Decimal;
        Range {
            name,
            least,
            most,
            kind,
        }
    }

    const fn of_integers(name: &'static str, least: f64, most: f64) -> Range {
        let kind = Kind::Integer;
        Range {
            name,
            least,
            most,
            kind,
        }
    }

    fn check(&self, body: &Object) -> Result<(), Failure> {
        let value = match body.get(self.name) {
            None | Some(Value::Null) => return Ok(()),
            Some(value) => value,
        };
        let number = value.as_f64().filter(|_| {
            let is_integer = value.is_i64() || value.is_u64();
            is_integer || self.kind == Kind::Decimal
        });
        let Some(number) = number else {
            return Err(wrong_type(self.name, self.kind.expected(), value));
        };
        let kind = self.kind.name();
        let (side, sign, bound) = if number < self.least {
            ("below_min", ">=", self.least)
        } else if number > self.most {
            ("above_max", "<=", self.most)
        } else {
            return Ok(());
        };
        let message = format!(
            "Invalid '{}': expected a value {sign} {bound}, but got {value} instead.",
            self.name
        );
        Err(refused(self.name, message).code(format!("{kind}_{side}_value")))
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Integer => "integer",
            Kind::Decimal => "decimal",
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Kind::Integer => "an integer",
            Kind::Decimal => "a decimal",
        }
    }
}
