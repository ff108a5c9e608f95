//! The `messageHistory` of a host of tools: the calls of its session, which the engine keeps, and what
//! the agents said, which only the log keeps.

use std::collections::VecDeque;

use jiff::Timestamp;
use samovar_core::history::{MessageQuery, MessageRow, Speakers};
use samovar_core::{Code, Error, Millis, Part, Status};
use samovar_engine::Engine;
use serde_json::{Value, json};

use super::work::STAGE;
use samovar_core::SessionId;

/// Messages of the session that are looked at, at most: four a call.
const MAX_MESSAGES: u32 = 80;
/// Things that agents said which are remembered, at most.
const MAX_NOTES: usize = 20;
/// Bytes of one of them, or of a call's result or arguments, at most.
const MAX_TEXT_BYTES: usize = 2 * 1024;

/// What agents said.
#[derive(Default)]
pub(super) struct Notes {
    notes: VecDeque<(Millis, Value)>,
    count: u64,
}

impl Notes {
    pub(super) fn add(&mut self, text: &str, at: Millis) {
        self.count += 1;
        if self.notes.len() >= MAX_NOTES {
            self.notes.pop_front();
        }
        let entry = json!({
            "id": format!("note-{}", self.count),
            "type": "agent",
            "timestamp": time(at),
            "stage": STAGE,
            "text": cut(text),
        });
        self.notes.push_back((at, entry));
    }

    pub(super) fn clear(&mut self) {
        self.notes.clear();
    }
}

/// All that there is to tell, oldest first.
///
/// # Errors
/// [`Code::Internal`] when the session cannot be read.
pub(super) async fn entries(
    engine: &Engine,
    session: &SessionId,
    notes: &Notes,
) -> Result<Vec<Value>, Error> {
    let query = MessageQuery {
        session: session.clone(),
        limit: MAX_MESSAGES,
        before: None,
        of: Speakers::All,
    };
    let rows = match engine.messages(query).await {
        Ok(rows) => rows,
        Err(error) if error.code == Code::UnknownSession => Vec::new(),
        Err(error) => return Err(error),
    };
    let mut entries = calls(&rows);
    entries.extend(notes.notes.iter().cloned());
    entries.sort_by_key(|(at, _)| *at);
    Ok(entries.into_iter().map(|(_, entry)| entry).collect())
}

/// The calls, each with what became of it.
fn calls(rows: &[MessageRow]) -> Vec<(Millis, Value)> {
    let mut entries: Vec<(Millis, Value)> = Vec::new();
    for row in rows {
        let at = row.message.created_at;
        for part in &row.message.parts {
            match part {
                Part::Call(call) => entries.push((
                    at,
                    json!({
                        "id": call.id.as_str(),
                        "type": "system",
                        "timestamp": time(at),
                        "stage": STAGE,
                        "toolName": call.name,
                        "params": short(&call.args),
                        "status": "open",
                    }),
                )),
                Part::Outcome { call, outcome, .. } => {
                    let is_it = |entry: &&mut (Millis, Value)| entry.1["id"] == call.as_str();
                    if let Some((_, entry)) = entries.iter_mut().find(is_it) {
                        entry["status"] = status(outcome.status).into();
                        entry["text"] = cut(&outcome.text).into();
                    }
                }
                Part::Text { .. }
                | Part::Reasoning { .. }
                | Part::Data { .. }
                | Part::Image { .. } => {}
            }
        }
    }
    entries
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Done => "done",
        Status::Failed => "failed",
        Status::Denied => "denied",
        Status::Cancelled => "cancelled",
        Status::Unknown => "unknown",
    }
}

/// The arguments, unless they are long: then the beginning of their text.
fn short(params: &Value) -> Value {
    let text = params.to_string();
    if text.len() <= MAX_TEXT_BYTES {
        return params.clone();
    }
    cut(&text).into()
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

fn time(at: Millis) -> String {
    let time = Timestamp::from_millisecond(at.0).unwrap_or_default();
    format!("{time:.3}")
}
