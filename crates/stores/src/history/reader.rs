//! Reads. Each but the search of sessions finds its rows through an index; none waits for the writer.

use futures_util::TryStreamExt;
use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, SessionQuery, SessionRow, Speakers, Totals,
};
use samovar_core::{MessageId, Seq, SessionId, TurnId};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::failure::Failure;
use super::{ledger, row, turns};

macro_rules! select_sessions {
    ($columns:literal, $rest:literal) => {
        concat!(
            "SELECT ",
            $columns,
            ", \
             (SELECT substr(json_extract(m.parts, '$[0].text'), 1, 200) FROM message_rows AS m \
             WHERE m.session_key = sessions.key AND m.role = 'user' AND m.depth = 0 \
             ORDER BY m.turn_seq, m.seq LIMIT 1) AS preview FROM sessions ",
            $rest
        )
    };
    ($rest:literal) => {
        select_sessions!(
            "id, model, route, title, agent, metadata, created_at, updated_at, message_count, \
             total_tokens_input, total_tokens_output, total_tokens_cache_read, \
             total_tokens_cache_write, total_tokens_reasoning, context, projected",
            $rest
        )
    };
}

macro_rules! select_messages {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, s.id AS session_id, t.id AS turn_id, m.agent, m.role, m.parts, \
             m.parent_message_id, m.model, m.finish_reason, m.tokens_input, m.tokens_output, \
             m.tokens_cache_read, m.tokens_cache_write, m.tokens_reasoning, m.metadata, \
             m.created_at, m.turn_key IS NULL OR t.started_at IS NOT NULL AS has_begun \
             FROM message_rows AS m \
             JOIN sessions AS s ON s.key = m.session_key \
             LEFT JOIN turns AS t ON t.key = m.turn_key ",
            $rest
        )
    };
}

pub(super) const SESSION: &str = select_sessions!("WHERE id = ?1");
pub(super) const SESSIONS: &str =
    select_sessions!("ORDER BY updated_at DESC, key DESC LIMIT ?1 OFFSET ?2");
const COUNT: &str = "SELECT count(*) FROM sessions";
/// The searched text of every session.
const SOUGHT: &str = select_sessions!("id, found_by", "ORDER BY updated_at DESC, key DESC");
/// The last messages before a place in the order, newest first.
pub(super) const MESSAGES: &str = select_messages!(
    "WHERE s.id = ?1 AND (m.turn_seq, m.seq) < (?2, ?3) AND m.depth <= ?4 \
     ORDER BY m.turn_seq DESC, m.seq DESC LIMIT ?5"
);
pub(super) const MESSAGE: &str = select_messages!("WHERE m.id = ?1");
/// The turn that holds the last message of a session's own agent.
pub(super) const LAST_TURN: &str = "SELECT t.id, t.key, t.turn_seq, t.session_key \
     FROM message_rows AS m \
     JOIN sessions AS s ON s.key = m.session_key JOIN turns AS t ON t.key = m.turn_key \
     WHERE s.id = ?1 AND m.depth = 0 AND t.turn_seq IS NOT NULL \
     ORDER BY m.turn_seq DESC, m.seq DESC LIMIT 1";
/// What the user said in a turn.
pub(super) const SAID: &str = select_messages!(
    "WHERE m.session_key = ?1 AND m.turn_seq = ?2 AND m.turn_key = ?3 AND m.role = 'user' \
     ORDER BY m.seq LIMIT 1"
);
/// Where the first message of a turn was put.
pub(super) const TURN_FROM: &str = "SELECT min(m.seq) AS first FROM turns AS t \
     JOIN sessions AS s ON s.key = t.session_key \
     JOIN message_rows AS m ON m.session_key = t.session_key \
     AND m.turn_seq = coalesce(t.turn_seq, 9223372036854775807) AND m.turn_key = t.key \
     WHERE s.id = ?1 AND t.id = ?2";
pub(super) const COUNT_MESSAGES: &str = "SELECT count(*) FROM message_rows \
     WHERE session_key = ?1 AND turn_seq = ?2 AND turn_key = ?3";
pub(super) const PLACE: &str = "SELECT m.turn_seq, m.seq FROM message_rows AS m \
                     JOIN sessions AS s ON s.key = m.session_key WHERE m.id = ?1 AND s.id = ?2";
/// How many messages of a session's own agent, whose turns have begun, stand before a place.
pub(super) const COUNT_BEFORE: &str = "SELECT count(*) FROM message_rows AS m \
     JOIN sessions AS s ON s.key = m.session_key LEFT JOIN turns AS t ON t.key = m.turn_key \
     WHERE s.id = ?1 AND (m.turn_seq, m.seq) < (?2, ?3) AND m.depth = 0 \
     AND (m.turn_key IS NULL OR t.started_at IS NOT NULL)";
const IS_OVER: &str = "SELECT count(*) FROM turns AS t \
     JOIN sessions AS s ON s.key = t.session_key \
     WHERE s.id = ?1 AND t.id = ?2 AND t.finished_at IS NOT NULL";
// Sums of floats, because a sum of integers that overflows is an error.
const TOTALS: &str = "SELECT count(*) AS sessions, \
     CAST(total(message_count) AS INTEGER) AS messages, \
     CAST(total(total_tokens_input) AS INTEGER) AS total_tokens_input, \
     CAST(total(total_tokens_output) AS INTEGER) AS total_tokens_output, \
     CAST(total(total_tokens_cache_read) AS INTEGER) AS total_tokens_cache_read, \
     CAST(total(total_tokens_cache_write) AS INTEGER) AS total_tokens_cache_write, \
     CAST(total(total_tokens_reasoning) AS INTEGER) AS total_tokens_reasoning \
     FROM sessions";

/// One session.
pub(super) async fn session(
    readers: &SqlitePool,
    id: &SessionId,
) -> Result<Option<SessionRow>, Failure> {
    let found = sqlx::query(SESSION).bind(id.as_str());
    let found = found.fetch_optional(readers).await?;
    found.as_ref().map(row::session).transpose()
}

/// A page of sessions, and how many there are on all pages, both as of one moment.
pub(super) async fn sessions(
    readers: &SqlitePool,
    query: &SessionQuery,
) -> Result<(Vec<SessionRow>, u64), Failure> {
    let mut moment = readers.begin().await?;
    let (page, all) = match &query.matching {
        None => {
            let page = sqlx::query(SESSIONS).bind(query.limit);
            let page = page.bind(row::integer(query.offset));
            let page = page.fetch_all(&mut *moment).await?;
            let all = sqlx::query(COUNT).fetch_one(&mut *moment).await?;
            (page, all.try_get::<i64, _>(0)?.unsigned_abs())
        }
        Some(text) => {
            let found = matching(&mut moment, &ledger::folded(text)).await?;
            let offset = usize::try_from(query.offset).unwrap_or(usize::MAX);
            let mut page = Vec::new();
            for id in found.iter().skip(offset).take(query.limit as usize) {
                let session = sqlx::query(SESSION).bind(id);
                page.push(session.fetch_one(&mut *moment).await?);
            }
            (page, found.len() as u64)
        }
    };
    moment.rollback().await?;
    let page: Result<_, Failure> = page.iter().map(row::session).collect();
    Ok((page?, all))
}

/// The ids of the sessions whose id, title or first words contain a folded text, newest first.
async fn matching(moment: &mut SqliteConnection, text: &str) -> Result<Vec<String>, Failure> {
    let mut rows = sqlx::query(SOUGHT).fetch(moment);
    let mut found = Vec::new();
    while let Some(row) = rows.try_next().await? {
        let preview: Option<String> = row.try_get("preview")?;
        let preview = ledger::folded(&preview.unwrap_or_default());
        let words: Vec<_> = preview.split_whitespace().collect();
        if row.try_get::<String, _>("found_by")?.contains(text) || words.join(" ").contains(text) {
            found.push(row.try_get("id")?);
        }
    }
    Ok(found)
}

/// The last messages of a session, oldest first; none when `before` names no message of it.
pub(super) async fn messages(
    readers: &SqlitePool,
    query: &MessageQuery,
) -> Result<Vec<MessageRow>, Failure> {
    let end = match &query.before {
        Some(before) => place(readers, &query.session, before).await?,
        None => Some((i64::MAX, i64::MAX)),
    };
    let Some((turn_seq, seq)) = end else {
        return Ok(Vec::new());
    };
    let max_depth = match query.of {
        Speakers::All => i64::MAX,
        Speakers::Master => 0,
    };
    let newest_first = sqlx::query(MESSAGES)
        .bind(query.session.as_str())
        .bind(turn_seq)
        .bind(seq)
        .bind(max_depth)
        .bind(query.limit)
        .fetch_all(readers)
        .await?;
    newest_first.iter().rev().map(row::message).collect()
}

/// A message's place in the order of its session.
async fn place(
    readers: &SqlitePool,
    session: &SessionId,
    message: &MessageId,
) -> Result<Option<(i64, i64)>, Failure> {
    let place = sqlx::query(PLACE)
        .bind(message.as_str())
        .bind(session.as_str())
        .fetch_optional(readers)
        .await?;
    let read = |row: SqliteRow| Ok((row.try_get("turn_seq")?, row.try_get("seq")?));
    place.map(read).transpose()
}

/// How many messages stand before a message in its conversation.
pub(super) async fn count_before(
    readers: &SqlitePool,
    session: &SessionId,
    message: &MessageId,
) -> Result<u64, Failure> {
    let Some((turn_seq, seq)) = place(readers, session, message).await? else {
        return Ok(0);
    };
    let count = sqlx::query(COUNT_BEFORE).bind(session.as_str());
    let count = count.bind(turn_seq).bind(seq).fetch_one(readers).await?;
    let count: i64 = count.try_get(0)?;
    Ok(count.unsigned_abs())
}

/// One message of any session.
pub(super) async fn message(
    readers: &SqlitePool,
    id: &MessageId,
) -> Result<Option<MessageRow>, Failure> {
    let found = sqlx::query(MESSAGE).bind(id.as_str());
    let found = found.fetch_optional(readers).await?;
    found.as_ref().map(row::message).transpose()
}

/// The position at which the first message of a turn was put.
pub(super) async fn turn_from(
    readers: &SqlitePool,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<Seq>, Failure> {
    let first = sqlx::query(TURN_FROM).bind(session.as_str());
    let first = first.bind(turn.as_str()).fetch_one(readers).await?;
    let first: Option<i64> = first.try_get("first")?;
    Ok(first.map(|first| Seq(first.unsigned_abs())))
}

/// The last turn of a session's own agent, all as of one moment.
pub(super) async fn last_turn(
    readers: &SqlitePool,
    session: &SessionId,
) -> Result<Option<LastTurn>, Failure> {
    let mut moment = readers.begin().await?;
    let last = sqlx::query(LAST_TURN).bind(session.as_str());
    let Some(last) = last.fetch_optional(&mut *moment).await? else {
        return Ok(None);
    };
    let id: &str = last.try_get("id")?;
    let session_key: i64 = last.try_get("session_key")?;
    let turn = turns::Turn::read(&last)?;
    let said = sqlx::query(SAID).bind(session_key);
    let said = said.bind(turn.seq()).bind(turn.key);
    let Some(said) = said.fetch_optional(&mut *moment).await? else {
        return Ok(None);
    };
    let family = sqlx::query(turns::FAMILY).bind(session_key).bind(id);
    let (mut below, mut messages) = (Vec::new(), 0);
    for turn in family.fetch_all(&mut *moment).await? {
        let other: &str = turn.try_get("id")?;
        if other != id {
            below.push(row::turn_id(other)?);
        }
        let turn = turns::Turn::read(&turn)?;
        let count = sqlx::query(COUNT_MESSAGES).bind(session_key);
        let count = count.bind(turn.seq()).bind(turn.key);
        let count: i64 = count.fetch_one(&mut *moment).await?.try_get(0)?;
        messages += count.unsigned_abs();
    }
    moment.rollback().await?;
    Ok(Some(LastTurn {
        turn: row::turn_id(id)?,
        below,
        said: row::message(&said)?.message,
        messages,
    }))
}

/// Whether a turn has ended.
pub(super) async fn is_over(
    readers: &SqlitePool,
    session: &SessionId,
    turn: &TurnId,
) -> Result<bool, Failure> {
    let over = sqlx::query(IS_OVER).bind(session.as_str());
    let over = over.bind(turn.as_str()).fetch_one(readers).await?;
    let over: i64 = over.try_get(0)?;
    Ok(over > 0)
}

/// Totals over all sessions, from their rows alone.
pub(super) async fn totals(readers: &SqlitePool) -> Result<Totals, Failure> {
    let row = sqlx::query(TOTALS).fetch_one(readers).await?;
    Ok(Totals {
        sessions: row::count(&row, "sessions")?,
        messages: row::count(&row, "messages")?,
        usage: row::total_usage(&row)?,
    })
}
