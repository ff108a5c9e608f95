//! A row of a study log, and the chain of checks through all rows of a file (RL-14).

use std::fmt::Write as _;

use jiff::Timestamp;
use samovar_core::Millis;
pub use samovar_core::relay::{Direction, StudyRow as Row};
use samovar_core::relay::{Payload, RelayRole};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

#[cfg(test)]
mod tests;

/// What the relay notes by itself: the `type` of rows that are no message of the protocol.
pub mod note {
    /// A member has entered the room: `role`, for a host `kind`.
    pub const ENTERED: &str = "relay.entered";
    /// A member has left the room: `undelivered` messages were not delivered.
    pub const LEFT: &str = "relay.left";
    /// A host has the place of another.
    pub const REPLACED: &str = "relay.replaced";
    /// A message was refused by the relay: `code`, `message`; of a host also what it sent, by `type`
    /// and `bytes`.
    pub const REFUSED: &str = "message.refused";
    /// A host answered a request that is not, or no longer, pending.
    pub const DROPPED: &str = "reply.dropped";
    /// A host did not answer in time.
    pub const TIMEOUT: &str = "request.timeout";
    /// A call came without its reason.
    pub const NO_REASON: &str = "reason.missing";
    /// Older states were taken out of a queue for a newer one: their `eventIndexes`.
    pub const COALESCED: &str = "state.coalesced";
    /// A study session begins: whose it is.
    pub const STARTED: &str = "session.start";
    /// The host's id of the session cannot be the file's: which that was, and why.
    pub const RENAMED: &str = "session.renamed";
    /// A study session is over.
    pub const ENDED: &str = "session.end";
    /// Another study session took the place of this one.
    pub const SUPERSEDED: &str = "session.replaced";
    /// The server was restarted during the session.
    pub const RESTARTED: &str = "server.restarted";
}

/// The time of a row; `None` if the timestamp is not valid.
pub fn at(row: &Row) -> Option<Millis> {
    let at = row.timestamp.parse::<Timestamp>().ok()?;
    Some(Millis(at.as_millisecond()))
}

/// The check of a row that follows one with the check `previous`, which is empty for the first row:
/// 16 hex digits of a SHA-256 over `previous` and the row without its own check, as JSON with
/// sorted keys and no white space.
///
/// So a changed, removed or moved row is found at its position, while a file that was only
/// reformatted stays valid.
pub fn check(previous: &str, row: &Row) -> String {
    let mut text = String::new();
    if let Ok(mut value) = serde_json::to_value(row) {
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove("check");
        }
        canonical(&value, &mut text);
    }
    digest(previous, &text)
}

/// A payload as it is kept: as it was sent, and as it is checked.
#[derive(Debug, PartialEq)]
pub(crate) struct CheckedPayload {
    verbatim: String,
    canonical: String,
}

impl CheckedPayload {
    pub(crate) fn of(payload: &Payload) -> Self {
        let mut canonical = String::new();
        write_object(payload, &mut canonical);
        let verbatim = json(payload);
        Self {
            verbatim,
            canonical,
        }
    }

    /// Its bytes as JSON.
    pub(crate) fn bytes(&self) -> usize {
        self.verbatim.len()
    }
}

/// A row before it has its place in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NewRow {
    pub(crate) at: Millis,
    pub(crate) direction: Direction,
    pub(crate) kind: &'static str,
    pub(crate) payload: std::sync::Arc<CheckedPayload>,
    pub(crate) role: Option<RelayRole>,
    pub(crate) member: Option<u64>,
    pub(crate) id: Option<String>,
    pub(crate) reply_to: Option<String>,
}

/// Where a row stands.
pub(crate) struct RowPosition<'a> {
    pub(crate) session: &'a str,
    pub(crate) room: &'a str,
    pub(crate) index: u64,
    /// The check of the row before.
    pub(crate) previous: &'a str,
}

/// Appends the row's line; answers with its check.
pub(crate) fn append(lines: &mut String, new: &NewRow, place: &RowPosition<'_>) -> String {
    let RowPosition {
        session,
        room,
        index,
        previous,
    } = place;
    let (at, direction) = (timestamp(new.at), new.direction.as_str());
    let (session, room, kind) = (quoted(session), quoted(room), quoted(new.kind));
    let (id, reply_to) = (
        new.id.as_deref().map(quoted),
        new.reply_to.as_deref().map(quoted),
    );
    let role = new.role.map(RelayRole::as_str);
    let checked = {
        let mut text = String::with_capacity(new.payload.canonical.len() + 256);
        say(
            &mut text,
            format_args!("{{\"direction\":\"{direction}\",\"eventIndex\":{index}"),
        );
        optional(&mut text, "id", id.as_deref());
        if let Some(member) = new.member {
            say(&mut text, format_args!(",\"member\":{member}"));
        }
        let payload = &new.payload.canonical;
        say(
            &mut text,
            format_args!(",\"payload\":{payload},\"relaySessionId\":{room}"),
        );
        optional(&mut text, "replyTo", reply_to.as_deref());
        if let Some(role) = role {
            say(&mut text, format_args!(",\"role\":\"{role}\""));
        }
        say(
            &mut text,
            format_args!(",\"sessionId\":{session},\"timestamp\":\"{at}\",\"type\":{kind}}}"),
        );
        digest(previous, &text)
    };
    let payload = &new.payload.verbatim;
    say(
        lines,
        format_args!(
            "{{\"sessionId\":{session},\"eventIndex\":{index},\"timestamp\":\"{at}\",\
             \"direction\":\"{direction}\",\"type\":{kind},\"payload\":{payload},\
             \"relaySessionId\":{room}"
        ),
    );
    if let Some(role) = role {
        say(lines, format_args!(",\"role\":\"{role}\""));
    }
    if let Some(member) = new.member {
        say(lines, format_args!(",\"member\":{member}"));
    }
    optional(lines, "id", id.as_deref());
    optional(lines, "replyTo", reply_to.as_deref());
    say(lines, format_args!(",\"check\":\"{checked}\"}}\n"));
    checked
}

/// A moment as it stands in a row.
pub(crate) fn timestamp(at: Millis) -> String {
    let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{at:.3}")
}

fn optional(text: &mut String, key: &str, quoted: Option<&str>) {
    if let Some(value) = quoted {
        say(text, format_args!(",\"{key}\":{value}"));
    }
}

fn say(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what)
        .expect("a string takes whatever is written");
}

fn quoted(text: &str) -> String {
    json(text)
}

fn json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("text and JSON can be written as JSON")
}

fn digest(previous: &str, text: &str) -> String {
    let mut hash = Sha256::new_with_prefix(previous);
    hash.update(text);
    hex(&hash.finalize()[..8])
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        say(&mut text, format_args!("{byte:02x}"));
    }
    text
}

/// Writes JSON with sorted keys and no white space.
fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(fields) => write_object(fields, text),
        Value::Array(items) => {
            text.push('[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    text.push(',');
                }
                canonical(item, text);
            }
            text.push(']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            say(text, format_args!("{value}"));
        }
    }
}

fn write_object(fields: &Payload, text: &mut String) {
    let mut sorted: Vec<_> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(key, _)| *key);
    text.push('{');
    for (n, (key, value)) in sorted.into_iter().enumerate() {
        if n > 0 {
            text.push(',');
        }
        text.push_str(&quoted(key));
        text.push(':');
        canonical(value, text);
    }
    text.push('}');
}
