//! A request to the model: what it asks for, or why it is refused.

use http::{HeaderMap, HeaderValue};
use serde_json::Value;

use super::{
    BETA, VERSION, blocks, caching,
    fields::{
        Object, check_known, check_word, flag, items, object, optional, refused, required, string,
    },
    messages, order, thinking, tools,
};
use crate::{asked::Asked, script::Failure};

const VERSIONS: [&str; 2] = ["2023-01-01", "2023-06-01"];

const PARAMETERS: [&str; 18] = [
    "cache_control",
    "container",
    "inference_geo",
    "max_tokens",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// Parameters that are known only to requests that name a beta.
const BETA_PARAMETERS: [&str; 4] = [
    "context_management",
    "mcp_servers",
    "output_format",
    "speed",
];

pub(in crate::dialect) fn read(
    headers: &HeaderMap,
    body: Option<&Value>,
) -> Result<Asked, Failure> {
    check_version(headers)?;
    let body = body
        .ok_or_else(|| Failure::new(400, "The request body is not valid JSON"))?
        .as_object()
        .ok_or_else(|| Failure::new(400, "Input should be a valid dictionary"))?;
    check_parameters(headers, body)?;
    let model = string(body, "", "model")?;
    if model.is_empty() {
        let why = "String should have at least 1 character";
        return Err(refused("model", why));
    }
    let thinking = thinking::read(body, max_tokens(body)?)?;
    check_sampling(body)?;
    let tools = tools::read(body)?;
    let system = match optional(body, "system") {
        Some(system) => blocks::texts(system, "system")?,
        None => String::new(),
    };
    let messages = messages::read(items(required(body, "", "messages")?, "messages")?)?;
    caching::check(body, "")?;
    let boundaries = caching::boundaries(body)?;
    order::check(&messages, thinking)?;

    let mut asked = Asked {
        model: model.to_owned(),
        system,
        tools,
        boundaries,
        streams: flag(body, "", "stream")?,
        wants_usage: true,
        ..Asked::default()
    };
    messages::note(&messages, &mut asked);
    Ok(asked)
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

fn check_parameters(headers: &HeaderMap, body: &Object) -> Result<(), Failure> {
    let mut known = PARAMETERS.to_vec();
    if headers.contains_key(BETA) {
        known.extend(BETA_PARAMETERS);
    }
    check_known(body, "", &known)
}

fn max_tokens(body: &Object) -> Result<u64, Failure> {
    let value = required(body, "", "max_tokens")?;
    if !value.is_i64() && !value.is_u64() {
        return Err(refused("max_tokens", "Input should be a valid integer"));
    }
    let most = value.as_u64().filter(|most| *most > 0);
    most.ok_or_else(|| refused("max_tokens", "must be greater than or equal to 1"))
}

fn check_sampling(body: &Object) -> Result<(), Failure> {
    for name in ["temperature", "top_p"] {
        let Some(value) = optional(body, name) else {
            continue;
        };
        let number = value.as_f64();
        let number = number.ok_or_else(|| refused(name, "Input should be a valid number"))?;
        if !(0.0..=1.0).contains(&number) {
            return Err(refused(name, "range: 0..1"));
        }
    }
    if optional(body, "top_k").is_some_and(|value| value.as_u64().is_none()) {
        return Err(refused("top_k", "Input should be a valid integer"));
    }
    if let Some(tier) = optional(body, "service_tier") {
        let tier = tier.as_str().unwrap_or_default();
        check_word(tier, "service_tier", &["auto", "standard_only"])?;
    }
    if let Some(metadata) = optional(body, "metadata") {
        check_known(object(metadata, "metadata")?, "metadata", &["user_id"])?;
    }
    match optional(body, "stop_sequences") {
        Some(stops) => check_stops(items(stops, "stop_sequences")?),
        None => Ok(()),
    }
}

fn check_stops(stops: &[Value]) -> Result<(), Failure> {
    for (place, stop) in stops.iter().enumerate() {
        let at = format!("stop_sequences.{place}");
        let Some(stop) = stop.as_str() else {
            return Err(refused(&at, "Input should be a valid string"));
        };
        if stop.trim().is_empty() {
            let why = "each stop sequence must contain non-whitespace";
            return Err(refused("stop_sequences", why));
        }
    }
    Ok(())
}
