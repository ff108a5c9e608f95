//! Rows and words: what a row says, and how a word is written into one.

use std::sync::Arc;

use rusqlite::Row;
use rusqlite::types::ValueRef;
use samovar_core::history::MessageRow;
use samovar_core::message::{Part, Usage};
use samovar_core::{AgentPath, Damages, Message, MessageId, Millis, Role, Seq, SessionId, TurnId};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::checksum::{self, Columns};
use super::failure::Failure;

/// The characters of a preview, at most; `session_columns` has the same number.
const MAX_PREVIEW_CHARS: usize = 200;

/// A count as SQL has it: what is above the greatest integer is that integer.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A value as JSON text.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Odd(format!("not JSON: {error}")))
}

/// The five columns of a cost; nulls for none.
pub(super) fn usage_columns(usage: Option<Usage>) -> [Option<i64>; 5] {
    let count = |of: fn(Usage) -> u64| usage.map(|usage| integer(of(usage)));
    [
        count(|usage| usage.input),
        count(|usage| usage.output),
        count(|usage| usage.cache_read),
        count(|usage| usage.cache_write),
        count(|usage| usage.reasoning),
    ]
}

/// The text of a column, where it lies.
pub(super) fn text<'r>(row: &'r Row<'_>, column: &str) -> Result<&'r str, Failure> {
    Ok(row.get_ref(column)?.as_str()?)
}

/// The same of a column that may be null.
pub(super) fn maybe_text<'r>(row: &'r Row<'_>, column: &str) -> Result<Option<&'r str>, Failure> {
    Ok(row.get_ref(column)?.as_str_or_null()?)
}

/// A count out of a column.
pub(super) fn count(row: &Row<'_>, column: &str) -> Result<u64, Failure> {
    let number: i64 = row.get(column)?;
    u64::try_from(number).map_err(|_| Failure::Odd(format!("{column} is {number}")))
}

/// The cost of all of a session's model calls.
pub(super) fn total_usage(row: &Row<'_>) -> Result<Usage, Failure> {
    let columns = [
        "total_tokens_input",
        "total_tokens_output",
        "total_tokens_cache_read",
        "total_tokens_cache_write",
        "total_tokens_reasoning",
    ];
    usage_of(row, columns)
}

/// The cost of a message or a turn; `None` when all of its columns are null.
pub(super) fn usage(row: &Row<'_>) -> Result<Option<Usage>, Failure> {
    let columns = [
        "tokens_input",
        "tokens_output",
        "tokens_cache_read",
        "tokens_cache_write",
        "tokens_reasoning",
    ];
    for column in columns {
        if row.get_ref(column)? != ValueRef::Null {
            return usage_of(row, columns).map(Some);
        }
    }
    Ok(None)
}

fn usage_of(row: &Row<'_>, columns: [&str; 5]) -> Result<Usage, Failure> {
    let [input, output, cache_read, cache_write, reasoning] = columns;
    Ok(Usage {
        input: count(row, input)?,
        output: count(row, output)?,
        cache_read: count(row, cache_read)?,
        cache_write: count(row, cache_write)?,
        reasoning: count(row, reasoning)?,
    })
}

/// A turn's id.
pub(super) fn turn_id(id: &str) -> Result<TurnId, Failure> {
    TurnId::new(id).map_err(odd)
}

/// What the first part of a message's checksum covers: its content, in the text of its columns.
pub(super) struct Content<'a> {
    pub(super) id: &'a str,
    pub(super) session: &'a str,
    pub(super) depth: i64,
    pub(super) agent: &'a str,
    pub(super) role: &'a str,
    pub(super) parts: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) model: Option<&'a str>,
    pub(super) finish_reason: Option<&'a str>,
    pub(super) metadata: Option<&'a str>,
    pub(super) created_at: i64,
    pub(super) usage: Option<Usage>,
}

impl Content<'_> {
    pub(super) fn checksum(&self) -> u32 {
        Columns::of(b'm')
            .text(self.id)
            .text(self.session)
            .number(self.depth)
            .text(self.agent)
            .text(self.role)
            .text(self.parts)
            .maybe_text(self.parent)
            .maybe_text(self.model)
            .maybe_text(self.finish_reason)
            .maybe_text(self.metadata)
            .number(self.created_at)
            .usage(self.usage)
            .sum()
    }
}

/// The whole checksum of a message, given the parts that its turn and its position are.
pub(super) fn message_sum(content: u32, placed: u32, at: u32) -> u32 {
    content.wrapping_add(placed).wrapping_add(at)
}

fn sum_of_message(row: &Row<'_>, id: &str) -> Result<u32, Failure> {
    let content = Content {
        id,
        session: text(row, "session_id")?,
        depth: row.get("depth")?,
        agent: text(row, "agent")?,
        role: text(row, "role")?,
        parts: text(row, "parts")?,
        parent: maybe_text(row, "parent_message_id")?,
        model: maybe_text(row, "model")?,
        finish_reason: maybe_text(row, "finish_reason")?,
        metadata: maybe_text(row, "metadata")?,
        created_at: row.get("created_at")?,
        usage: usage(row)?,
    };
    let (turn, turn_seq): (_, i64) = (maybe_text(row, "turn_id")?, row.get("turn_seq")?);
    let place: Option<i64> = row.get("turn_place")?;
    if turn.is_some() && place.unwrap_or(i64::MAX) != turn_seq {
        return Err(Failure::Odd("its turn stands elsewhere".to_owned()));
    }
    let placed = checksum::placed(turn, turn_seq);
    let at = checksum::at(row.get("seq")?);
    Ok(message_sum(content.checksum(), placed, at))
}

/// A message, verified.
pub(super) fn message(row: &Row<'_>) -> Result<MessageRow, Failure> {
    let id: String = row.get("id")?;
    let read = || {
        checksum::verify(row, || sum_of_message(row, &id))?;
        let turn = maybe_text(row, "turn_id")?;
        Ok(MessageRow {
            session: SessionId::new(text(row, "session_id")?).map_err(odd)?,
            turn: turn.map(TurnId::new).transpose().map_err(odd)?,
            agent: AgentPath::root(text(row, "agent")?),
            has_begun: row.get("has_begun")?,
            place: Seq(row.get::<_, i64>("turn_seq")?.unsigned_abs()),
            message: Arc::new(whole_message(row, &id)?),
        })
    };
    read().map_err(|failure: Failure| failure.within(&format!("message {id}")))
}

fn whole_message(row: &Row<'_>, id: &str) -> Result<Message, Failure> {
    let parent = maybe_text(row, "parent_message_id")?;
    let metadata = maybe_text(row, "metadata")?;
    let message = Message {
        id: MessageId::new(id).map_err(odd)?,
        role: role(text(row, "role")?)?,
        parts: parse::<Vec<Part>>(text(row, "parts")?)?,
        parent: parent.map(MessageId::new).transpose().map_err(odd)?,
        usage: usage(row)?,
        model: row.get("model")?,
        finish_reason: row.get("finish_reason")?,
        metadata: metadata.map(parse).transpose()?.unwrap_or_default(),
        created_at: Millis(row.get("created_at")?),
    };
    Ok(message.compact())
}

/// The beginning of a message's text, as a session's preview has it.
pub(super) fn preview(parts: &[Part]) -> Option<String> {
    match parts.first()? {
        Part::Text { text } | Part::Reasoning { text, .. } => {
            Some(text.chars().take(MAX_PREVIEW_CHARS).collect())
        }
        Part::Call(_) | Part::Outcome { .. } | Part::Data { .. } | Part::Image { .. } => None,
    }
}

fn role(name: &str) -> Result<Role, Failure> {
    Role::from_word(name).ok_or_else(|| Failure::Odd(format!("unknown role {name:?}")))
}

pub(super) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(odd)
}

pub(super) fn odd(error: impl std::fmt::Display) -> Failure {
    Failure::Odd(error.to_string())
}

/// A message, unless it is damaged: that is reported.
pub(super) fn sound(row: &Row<'_>, damages: &dyn Damages) -> Option<MessageRow> {
    let read = message(row);
    read.map_err(|failure| {
        let session = text(row, "session_id").ok();
        let session = session.and_then(|id| SessionId::new(id).ok());
        match session {
            Some(session) => damages.session(&session, &failure.to_string()),
            None => damages.history(&failure.to_string()),
        }
    })
    .ok()
}
