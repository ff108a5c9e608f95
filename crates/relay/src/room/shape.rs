//! What the payload of a message must look like before the relay does anything with it (RL-25).

use samovar_core::command::is_blank;
use samovar_core::relay::{Envelope, MessageGroup, MessageKind, Payload, RelayCode, RelayRole};
use serde_json::Value;

use super::step::Refusal;
use crate::backend_data::is_keepable;

/// Bytes of a room's name, at most.
pub(crate) const MAX_ROOM_BYTES: usize = 200;
/// Bytes of a message's id, at most.
const MAX_ID_BYTES: usize = 256;
/// Bytes of a payload, at most. With this a row can always be read again after a crash.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 2 << 20;
/// The room of who names none (RL-3).
const DEFAULT_ROOM: &str = "default";

/// Where somebody wants to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Join {
    pub(crate) role: RelayRole,
    pub(crate) room: String,
}

/// Reads a `relay.join`.
pub(crate) fn join(envelope: &Envelope) -> Result<Join, Refusal> {
    envelope_size(envelope)?;
    let payload = &envelope.payload;
    payload_kept(payload, Value::Object(payload.clone()).to_string().len())?;
    let role = match payload.get("role").map(|role| (role, role.as_str())) {
        Some((_, Some(role))) => RelayRole::from_name(role).ok_or_else(|| {
            let role = shown(role);
            Refusal::message(format!(
                "there is no role {role}; join as \"host\" or \"agent\""
            ))
        })?,
        Some((given, None)) => return Err(no_string("role", given)),
        None => {
            let why = "relay.join has no role; join as \"host\" or \"agent\"";
            return Err(Refusal::message(why));
        }
    };
    let room = optional_string(payload, "sessionId")?.unwrap_or_default();
    let room = match room.trim() {
        "" => DEFAULT_ROOM,
        room if room.len() > MAX_ROOM_BYTES => {
            let bytes = room.len();
            return Err(Refusal::message(format!(
                "sessionId has {bytes} bytes; at most {MAX_ROOM_BYTES} are allowed"
            )));
        }
        room => room,
    };
    Ok(Join {
        role,
        room: room.to_owned(),
    })
}

/// Whether a call or words need a reason and a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    Permissive,
    Strict,
}

/// Judges what an agent sends, whatever the room's state is.
pub(crate) fn of_agent(envelope: &Envelope, strictness: Strictness) -> Result<(), Refusal> {
    envelope_size(envelope)?;
    let payload = &envelope.payload;
    match envelope.kind {
        MessageKind::SessionStart => {
            optional_string(payload, "studyId")?;
            optional_string(payload, "participantId").map(drop)
        }
        MessageKind::SnapshotGet => Ok(()),
        MessageKind::ToolCall => tool_call(payload, strictness),
        MessageKind::AgentMessage => {
            if is_blank(string(payload, "text")?) {
                let why = "text is blank; say something that can be seen";
                return Err(Refusal::new(RelayCode::InvalidParams, why));
            }
            Ok(())
        }
        MessageKind::SessionEnd => optional_string(payload, "reason").map(drop),
        other => match other.group() {
            MessageGroup::Relay | MessageGroup::ToHost | MessageGroup::ToAgents => {
                Err(wrong_side(other, RelayRole::Agent))
            }
        },
    }
}

/// Judges what a host sends.
pub(crate) fn of_host(envelope: &Envelope) -> Result<(), Refusal> {
    envelope_size(envelope)?;
    match envelope.kind.group() {
        MessageGroup::ToAgents => Ok(()),
        MessageGroup::Relay | MessageGroup::ToHost => {
            Err(wrong_side(envelope.kind, RelayRole::Host))
        }
    }
}

/// Judges whether a row can have this payload, which has so many bytes as JSON, and be read again.
pub(crate) fn payload_kept(payload: &Payload, bytes: usize) -> Result<(), Refusal> {
    if bytes > MAX_PAYLOAD_BYTES {
        return Err(Refusal::message(format!(
            "the payload has {bytes} bytes; at most {MAX_PAYLOAD_BYTES} are allowed"
        )));
    }
    if !is_keepable(payload) {
        let why = "an object of the payload begins with a key that cannot be kept";
        return Err(Refusal::message(why));
    }
    Ok(())
}

/// Whether a call comes without saying why.
pub(crate) fn lacks_reason(envelope: &Envelope) -> bool {
    envelope.kind == MessageKind::ToolCall
        && envelope
            .payload
            .get("reason")
            .and_then(Value::as_str)
            .is_none_or(is_blank)
}

fn tool_call(payload: &Payload, strictness: Strictness) -> Result<(), Refusal> {
    let tool = string(payload, "toolName")?;
    if let Some(params) = payload.get("params").filter(|params| !params.is_object()) {
        let found = kind_of(params);
        return Err(Refusal::message(format!(
            "params must be an object, and is {found}"
        )));
    }
    let reason = optional_string(payload, "reason")?;
    if strictness == Strictness::Strict && reason.is_none_or(is_blank) {
        let tool = shown(tool);
        return Err(Refusal::new(
            RelayCode::InvalidParams,
            format!("the call of {tool} has no reason; this relay is strict and needs one"),
        ));
    }
    Ok(())
}

fn envelope_size(envelope: &Envelope) -> Result<(), Refusal> {
    for (field, id) in [("id", &envelope.id), ("replyTo", &envelope.reply_to)] {
        let bytes = id.as_ref().map_or(0, String::len);
        if bytes > MAX_ID_BYTES {
            return Err(Refusal::message(format!(
                "{field} has {bytes} bytes; at most {MAX_ID_BYTES} are allowed"
            )));
        }
    }
    Ok(())
}

fn string<'a>(payload: &'a Payload, field: &str) -> Result<&'a str, Refusal> {
    optional_string(payload, field)?
        .ok_or_else(|| Refusal::message(format!("{field} is missing; it must be a string")))
}

fn optional_string<'a>(payload: &'a Payload, field: &str) -> Result<Option<&'a str>, Refusal> {
    match payload.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(no_string(field, other)),
    }
}

fn no_string(field: &str, found: &Value) -> Refusal {
    let found = kind_of(found);
    Refusal::message(format!("{field} must be a string, and is {found}"))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn wrong_side(kind: MessageKind, role: RelayRole) -> Refusal {
    let kind = kind.as_str();
    let who = match role {
        RelayRole::Host => "a host",
        RelayRole::Agent => "an agent",
    };
    Refusal::message(format!("{kind} is nothing that {who} sends"))
}

/// A foreign word in a sentence: quoted, and no longer than a line.
pub(crate) fn shown(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    if text.chars().count() <= MAX_CHARS {
        return format!("{text:?}");
    }
    let begin: String = text.chars().take(MAX_CHARS).collect();
    format!("{begin:?}…")
}
