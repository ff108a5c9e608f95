//! The relay over a WebSocket: how an envelope is read and written (RL-1).

use samovar_core::json;
use samovar_core::relay::{Envelope, MessageKind, Payload, VERSION};
use samovar_locale as locale;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::params::{self, MAX_DEPTH};

/// The path of the WebSocket for external agents and hosts.
pub const SOCKET_PATH: &str = "/agent/ws";

/// Maximum size of a message (RL-2).
pub const MAX_MESSAGE_BYTES: usize = 1024 * 1024;

/// Maximum size of an id: the relay remembers those of open requests.
pub const MAX_ID_BYTES: usize = 256;

/// Maximum bytes of foreign text in a refusal, so that it stays a sentence.
const MAX_SHOWN_BYTES: usize = 100;

/// A message that is not an envelope; its sender gets `INVALID_MESSAGE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedEnvelope {
    /// The message's id, if it had one.
    pub reply_to: Option<String>,
    /// What is wrong with it.
    pub why: String,
}

/// Reads an envelope. Unknown keys outside the payload are ignored, those inside are kept in their
/// order; `v` is optional.
///
/// # Errors
/// [`MalformedEnvelope`] if it is not JSON, is nested deeper than [`MAX_DEPTH`], or violates RL-1.
pub fn decode(message: &[u8]) -> Result<Envelope, MalformedEnvelope> {
    let mut given = read(message).map_err(|why| MalformedEnvelope {
        reply_to: None,
        why,
    })?;
    let id = given.remove("id").map(|id| text("id", id)).transpose();
    let reply_to = id.clone().ok().flatten();
    let envelope = id.and_then(|id| understand(id, given));
    envelope.map_err(|why| MalformedEnvelope { reply_to, why })
}

/// Writes an envelope, with the protocol's version.
///
/// # Panics
/// Never: texts and JSON under names are JSON.
pub fn encode(envelope: &Envelope) -> String {
    let spelled = Spelled {
        v: VERSION,
        kind: envelope.kind.as_str(),
        id: envelope.id.as_deref(),
        reply_to: envelope.reply_to.as_deref(),
        payload: &envelope.payload,
    };
    serde_json::to_string(&spelled).expect("texts and JSON under names are JSON")
}

/// An envelope as sent.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RelayEnvelope")]
pub struct Spelled<'a> {
    /// The protocol's version.
    v: &'static str,
    /// The kind of message.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The sender's id for it, which an answer repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// The message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<&'a str>,
    /// The content.
    #[schemars(with = "Map<String, Value>")]
    payload: &'a Payload,
}

fn read(message: &[u8]) -> Result<Map<String, Value>, String> {
    match json::read(message) {
        Ok(Value::Object(given)) => Ok(given),
        Ok(other) => Err(locale::envelope::no_object(shown(&other))),
        Err(_) if params::depth(message) > MAX_DEPTH => Err(too_deep()),
        Err(error) => Err(locale::envelope::not_json(error)),
    }
}

fn too_deep() -> String {
    locale::envelope::too_deep(MAX_DEPTH as u64)
}

/// The nesting of objects and arrays.
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Object(object) => object.values().map(depth).max(),
        Value::Array(array) => array.iter().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + inner.unwrap_or(0)
}

fn understand(id: Option<String>, mut given: Map<String, Value>) -> Result<Envelope, String> {
    // The envelope itself is one of them.
    if given.values().any(|value| depth(value) >= MAX_DEPTH) {
        return Err(too_deep());
    }
    match given.remove("v") {
        None => {}
        Some(version) if version == VERSION => {}
        Some(other) => return Err(locale::envelope::other_version(shown(&other), VERSION)),
    }
    let kind = match given.remove("type") {
        Some(Value::String(name)) => kind(name)?,
        Some(other) => return Err(locale::envelope::no_text("type", shown(&other))),
        None => return Err(locale::envelope::no_type().to_owned()),
    };
    let reply_to = given.remove("replyTo");
    let reply_to = reply_to.map(|id| text("replyTo", id)).transpose()?;
    let payload = match given.remove("payload") {
        None => Payload::new(),
        Some(Value::Object(payload)) => payload,
        Some(other) => return Err(locale::envelope::no_payload(shown(&other))),
    };
    Ok(Envelope {
        kind,
        id,
        reply_to,
        payload,
    })
}

fn kind(name: String) -> Result<MessageKind, String> {
    let known = MessageKind::from_word(&name);
    known.ok_or_else(|| locale::envelope::unknown_type(shown(&Value::String(name))))
}

fn text(key: &'static str, id: Value) -> Result<String, String> {
    match id {
        Value::String(id) if id.len() <= MAX_ID_BYTES => Ok(id),
        Value::String(_) => Err(locale::envelope::id_too_long(key, MAX_ID_BYTES as u64)),
        other => Err(locale::envelope::no_text(key, shown(&other))),
    }
}

/// A value as it came, cut when it is long. Nested values are not shown: a refusal is logged, and a
/// host may have hidden data there (RL-12).
fn shown(value: &Value) -> String {
    let mut shown = match value {
        Value::Object(fields) if !fields.is_empty() => "{…}".to_owned(),
        Value::Array(items) if !items.is_empty() => "[…]".to_owned(),
        Value::Object(_)
        | Value::Array(_)
        | Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_) => value.to_string(),
    };
    if shown.len() > MAX_SHOWN_BYTES {
        shown.truncate(shown.floor_char_boundary(MAX_SHOWN_BYTES));
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
