//! Rows and words: what a row says, and how a word is written into one.

use std::sync::Arc;

use samovar_core::history::{MessageRow, SessionRow};
use samovar_core::message::{Part, Usage};
use samovar_core::{
    AgentPath, ContextLimit, Message, MessageId, Millis, Role, Seq, SessionId, Title, TurnId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::query::Query;
use sqlx::sqlite::{SqliteArguments, SqliteRow};
use sqlx::{Row, Sqlite};

use super::failure::Failure;

/// A statement with its values.
pub(super) type Statement<'q> = Query<'q, Sqlite, SqliteArguments>;

/// A count as SQL has it: what is above the greatest integer is that integer.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A value as JSON text.
pub(super) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| Failure::Odd(format!("not JSON: {error}")))
}

/// Binds the five columns of a cost; nulls for none.
pub(super) fn bind_usage(statement: Statement<'_>, usage: Option<Usage>) -> Statement<'_> {
    statement
        .bind(usage.map(|usage| integer(usage.input)))
        .bind(usage.map(|usage| integer(usage.output)))
        .bind(usage.map(|usage| integer(usage.cache_read)))
        .bind(usage.map(|usage| integer(usage.cache_write)))
        .bind(usage.map(|usage| integer(usage.reasoning)))
}

/// A count out of a column.
pub(super) fn count(row: &SqliteRow, column: &str) -> Result<u64, Failure> {
    let number: i64 = row.try_get(column)?;
    u64::try_from(number).map_err(|_| Failure::Odd(format!("{column} is {number}")))
}

/// The cost of all of a session's model calls.
pub(super) fn total_usage(row: &SqliteRow) -> Result<Usage, Failure> {
    Ok(Usage {
        input: count(row, "total_tokens_input")?,
        output: count(row, "total_tokens_output")?,
        cache_read: count(row, "total_tokens_cache_read")?,
        cache_write: count(row, "total_tokens_cache_write")?,
        reasoning: count(row, "total_tokens_reasoning")?,
    })
}

/// A session.
pub(super) fn session(row: &SqliteRow) -> Result<SessionRow, Failure> {
    let id: String = row.try_get("id")?;
    let read = || {
        Ok(SessionRow {
            id: SessionId::new(&id).map_err(odd)?,
            model: row.try_get("model")?,
            route: row.try_get("route")?,
            title: title(row)?,
            agent: row.try_get("agent")?,
            metadata: parse(row.try_get("metadata")?)?,
            created_at: Millis(row.try_get("created_at")?),
            updated_at: Millis(row.try_get("updated_at")?),
            message_count: count(row, "message_count")?,
            preview: row.try_get("preview")?,
            usage: total_usage(row)?,
            context: context(row)?,
            projected: Seq(count(row, "projected")?),
        })
    };
    read().map_err(|failure: Failure| failure.within(&format!("session {id}")))
}

/// A turn's id.
pub(super) fn turn_id(id: &str) -> Result<TurnId, Failure> {
    TurnId::new(id).map_err(odd)
}

fn title(row: &SqliteRow) -> Result<Option<Title>, Failure> {
    let title: Option<&str> = row.try_get("title")?;
    let title = title.map(Title::new).transpose().map_err(odd)?;
    Ok(title.filter(|title| !title.is_empty()))
}

fn context(row: &SqliteRow) -> Result<Option<ContextLimit>, Failure> {
    let context: Option<&str> = row.try_get("context")?;
    context.map(parse).transpose()
}

/// A message.
pub(super) fn message(row: &SqliteRow) -> Result<MessageRow, Failure> {
    let id: String = row.try_get("id")?;
    let read = || {
        let session: &str = row.try_get("session_id")?;
        let turn: Option<&str> = row.try_get("turn_id")?;
        let agent: &str = row.try_get("agent")?;
        Ok(MessageRow {
            session: SessionId::new(session).map_err(odd)?,
            turn: turn.map(TurnId::new).transpose().map_err(odd)?,
            agent: AgentPath::root(agent),
            has_begun: row.try_get("has_begun")?,
            message: Arc::new(whole_message(row, &id)?),
        })
    };
    read().map_err(|failure: Failure| failure.within(&format!("message {id}")))
}

fn whole_message(row: &SqliteRow, id: &str) -> Result<Message, Failure> {
    let parent: Option<&str> = row.try_get("parent_message_id")?;
    let metadata: Option<&str> = row.try_get("metadata")?;
    Ok(Message {
        id: MessageId::new(id).map_err(odd)?,
        role: role(row.try_get("role")?)?,
        parts: parse::<Vec<Part>>(row.try_get("parts")?)?,
        parent: parent.map(MessageId::new).transpose().map_err(odd)?,
        usage: usage(row)?,
        model: row.try_get("model")?,
        finish_reason: row.try_get("finish_reason")?,
        metadata: metadata.map(parse).transpose()?.unwrap_or_default(),
        created_at: Millis(row.try_get("created_at")?),
    })
}

fn usage(row: &SqliteRow) -> Result<Option<Usage>, Failure> {
    let input: Option<i64> = row.try_get("tokens_input")?;
    if input.is_none() {
        return Ok(None);
    }
    Ok(Some(Usage {
        input: count(row, "tokens_input")?,
        output: count(row, "tokens_output")?,
        cache_read: count(row, "tokens_cache_read")?,
        cache_write: count(row, "tokens_cache_write")?,
        reasoning: count(row, "tokens_reasoning")?,
    }))
}

fn role(name: &str) -> Result<Role, Failure> {
    let known = [Role::System, Role::User, Role::Assistant, Role::Tool];
    let role = known.into_iter().find(|role| role.as_str() == name);
    role.ok_or_else(|| Failure::Odd(format!("unknown role {name:?}")))
}

fn parse<T: DeserializeOwned>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(odd)
}

fn odd(error: impl std::fmt::Display) -> Failure {
    Failure::Odd(error.to_string())
}
