//! Reads. Each but the search of sessions finds its rows through an index; none waits for the writer.

use futures_util::TryStreamExt;
use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, SessionQuery, SessionRow, Speakers, Totals,
};
use samovar_core::{Damages, MessageId, Seq, SessionId, TurnId, Usage};
use sqlx::sqlite::SqliteRow;
use sqlx::{Row, SqliteConnection, SqlitePool};

use super::checksum::counts_in_sql;
use super::failure::Failure;
use super::session::{Preview, Session, session_columns};
use super::turns::{FAMILY, Turn, turn_columns};
use super::{checksum, ledger, row, spent};

macro_rules! select_sessions {
    ($rest:literal) => {
        concat!("SELECT ", session_columns!(), " FROM sessions ", $rest)
    };
}

macro_rules! select_messages {
    ($($rest:literal),+) => {
        concat!(
            "SELECT m.key, m.id, s.id AS session_id, t.id AS turn_id, m.agent, m.role, m.parts, \
             m.parent_message_id, m.model, m.finish_reason, m.tokens_input, m.tokens_output, \
             m.tokens_cache_read, m.tokens_cache_write, m.tokens_reasoning, m.metadata, \
             m.created_at, m.turn_key IS NULL OR t.started_at IS NOT NULL AS has_begun, \
             m.depth, m.turn_seq, m.seq, m.checksum, t.turn_seq AS turn_place \
             FROM message_rows AS m \
             JOIN sessions AS s ON s.key = m.session_key \
             LEFT JOIN turns AS t ON t.key = m.turn_key ",
            $($rest),+
        )
    };
}
pub(super) use select_messages;

pub(super) const SESSION: &str = select_sessions!("WHERE id = ?1");
/// Whether a session is listed: not a fork that an edit made, unless these are wanted. Few are looked at
/// closely, and what a bad disk made of the rest is for the checksum.
macro_rules! is_listed {
    ($wanted:literal) => {
        concat!(
            "(",
            $wanted,
            " OR instr(metadata, '\"edit\":true') = 0 OR NOT json_valid(metadata) \
             OR json_extract(metadata, '$.forkedFrom.edit') IS NOT 1) "
        )
    };
}
pub(super) const SESSIONS: &str = concat!(
    select_sessions!("WHERE "),
    is_listed!("?3"),
    "ORDER BY updated_at DESC, key DESC LIMIT ?1 OFFSET ?2"
);
const COUNT: &str = concat!("SELECT count(*) FROM sessions WHERE ", is_listed!("?1"));
/// Every session, to be searched.
const SOUGHT: &str = concat!(
    select_sessions!("WHERE "),
    is_listed!("?1"),
    "ORDER BY updated_at DESC, key DESC"
);
/// Whether an edit made a session.
const IS_EDIT_FORK: &str = concat!(
    "SELECT NOT ",
    is_listed!("0"),
    "FROM sessions WHERE id = ?1"
);
/// The user's first message.
pub(super) const PREVIEW: &str = select_messages!(
    "WHERE m.session_key = ?1 AND m.role = 'user' AND m.depth = 0 \
     ORDER BY m.turn_seq, m.seq LIMIT 1"
);
/// How many messages a session has, by its row and by theirs, and how many of its own agent, whose
/// path has no `/`, stand as deep as those of others.
const IS_WHOLE: &str = "SELECT s.message_count, \
     (SELECT count(*) FROM message_rows AS m WHERE m.session_key = s.key) AS there, \
     (SELECT count(*) FROM message_rows AS m WHERE m.session_key = s.key AND m.depth > 0 \
     AND instr(m.agent, '/') = 0) AS hidden \
     FROM sessions AS s WHERE s.id = ?1";
/// The last messages before a place in the order, newest first.
pub(super) const MESSAGES: &str = select_messages!(
    "WHERE s.id = ?1 AND (m.turn_seq, m.seq) < (?2, ?3) AND m.depth <= ?4 \
     ORDER BY m.turn_seq DESC, m.seq DESC LIMIT ?5"
);
pub(super) const MESSAGE: &str = select_messages!("WHERE m.id = ?1");
/// The newest messages that have what the index is asked for.
pub(super) const SEARCHED: &str = select_messages!(
    "WHERE m.key IN (SELECT rowid FROM search_terms WHERE search_terms MATCH ?2 \
     ORDER BY rowid DESC LIMIT ?1) ORDER BY m.key DESC"
);
/// The newest messages of all.
pub(super) const NEWEST: &str = select_messages!("ORDER BY m.key DESC LIMIT ?1");
/// The newest messages, which the index lacks.
pub(super) const NOT_INDEXED: &str =
    select_messages!("WHERE m.key >= (SELECT above FROM search_range) ORDER BY m.key DESC");
/// The turn that holds the last message of a session's own agent, or the last before another turn.
pub(super) const LAST_TURN: &str = concat!(
    "SELECT ",
    turn_columns!("t."),
    " FROM message_rows AS m \
     JOIN sessions AS s ON s.key = m.session_key JOIN turns AS t ON t.key = m.turn_key \
     WHERE s.id = ?1 AND m.depth = 0 AND t.turn_seq IS NOT NULL \
     AND m.turn_seq < coalesce((SELECT b.turn_seq FROM turns AS b \
     WHERE b.session_key = s.key AND b.id = ?2), 9223372036854775807) \
     ORDER BY m.turn_seq DESC, m.seq DESC LIMIT 1"
);
/// What the user said in a turn.
pub(super) const SAID: &str = select_messages!(
    "WHERE m.session_key = ?1 AND m.turn_seq = ?2 AND m.turn_key = ?3 AND m.role IN ('user', 'system') \
     ORDER BY m.seq LIMIT 1"
);
/// The first message that a turn's model wrote.
pub(super) const ANSWER: &str = select_messages!(
    "WHERE s.id = ?1 AND t.id = ?2 AND t.session_key = s.key AND m.session_key = s.key \
     AND m.turn_seq = coalesce(t.turn_seq, 9223372036854775807) \
     AND m.turn_key = t.key AND m.role = 'assistant' ORDER BY m.seq LIMIT 1"
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
/// Every row, to verify all of them.
pub(super) const ALL_SESSIONS: &str = concat!(
    "SELECT ",
    session_columns!(),
    ", (SELECT count(*) FROM message_rows AS m WHERE m.session_key = sessions.key) AS there \
     FROM sessions ORDER BY key"
);
pub(super) const ALL_MESSAGES: &str = select_messages!("ORDER BY m.key");
pub(super) const ALL_TURNS: &str = concat!(
    "SELECT s.id AS of_session, ",
    turn_columns!("t."),
    " FROM turns AS t JOIN sessions AS s ON s.key = t.session_key ORDER BY t.key"
);
/// How many rows lead to no session.
pub(super) const STRAY: &str = "SELECT \
     (SELECT count(*) FROM message_rows WHERE session_key NOT IN (SELECT key FROM sessions)) + \
     (SELECT count(*) FROM turns WHERE session_key NOT IN (SELECT key FROM sessions))";
/// How many messages of a session's own agent, whose turns have begun, stand before a place.
pub(super) const COUNT_BEFORE: &str = "SELECT count(*) FROM message_rows AS m \
     JOIN sessions AS s ON s.key = m.session_key LEFT JOIN turns AS t ON t.key = m.turn_key \
     WHERE s.id = ?1 AND (m.turn_seq, m.seq) < (?2, ?3) AND m.depth = 0 \
     AND (m.turn_key IS NULL OR t.started_at IS NOT NULL)";
const TURN: &str = concat!(
    "SELECT ",
    turn_columns!("t."),
    " FROM turns AS t \
     JOIN sessions AS s ON s.key = t.session_key WHERE s.id = ?1 AND t.id = ?2"
);

macro_rules! select_totals {
    ($rest:expr) => {
        // Sums of floats, because a sum of integers that overflows is an error.
        concat!(
            "SELECT count(*) AS sessions, \
             CAST(total(message_count) AS INTEGER) AS messages, \
             CAST(total(total_tokens_input) AS INTEGER) AS total_tokens_input, \
             CAST(total(total_tokens_output) AS INTEGER) AS total_tokens_output, \
             CAST(total(total_tokens_cache_read) AS INTEGER) AS total_tokens_cache_read, \
             CAST(total(total_tokens_cache_write) AS INTEGER) AS total_tokens_cache_write, \
             CAST(total(total_tokens_reasoning) AS INTEGER) AS total_tokens_reasoning, \
             count(*) FILTER (WHERE counts_check <> ",
            counts_in_sql!(),
            ") AS wrong FROM sessions",
            $rest
        )
    };
}
const TOTALS: &str = select_totals!("");
/// Without the sessions whose counts are not what was written.
const SOUND_TOTALS: &str = select_totals!(concat!(
    " WHERE counts_check IS NULL OR counts_check = ",
    counts_in_sql!()
));
const WRONG_COUNTS: &str = concat!(
    "SELECT id FROM sessions WHERE counts_check <> ",
    counts_in_sql!()
);

/// One session.
pub(super) async fn session(
    readers: &SqlitePool,
    id: &SessionId,
) -> Result<Option<SessionRow>, Failure> {
    session_in(&mut *readers.acquire().await?, id).await
}

/// The same as of one moment.
pub(super) async fn session_in(
    moment: &mut SqliteConnection,
    id: &SessionId,
) -> Result<Option<SessionRow>, Failure> {
    let found = sqlx::query(SESSION).bind(id.as_str());
    let found = found.fetch_optional(moment).await?;
    let found = found.as_ref().map(Session::read).transpose()?;
    found.map(Session::shown).transpose()
}

/// A page of sessions, and how many there are on all pages, both as of one moment. A damaged one is
/// reported and left out.
pub(super) async fn sessions(
    readers: &SqlitePool,
    query: &SessionQuery,
    damages: &dyn Damages,
) -> Result<(Vec<SessionRow>, u64), Failure> {
    let mut moment = readers.begin().await?;
    let (page, all) = match &query.matching {
        None => {
            let page = sqlx::query(SESSIONS).bind(query.limit);
            let page = page.bind(row::integer(query.offset)).bind(query.edit_forks);
            let page = page.fetch_all(&mut *moment).await?;
            let all = sqlx::query(COUNT).bind(query.edit_forks);
            let all = all.fetch_one(&mut *moment).await?;
            let page = page.iter().filter_map(|row| sound(row, damages));
            (page.collect(), all.try_get::<i64, _>(0)?.unsigned_abs())
        }
        Some(text) => matching(&mut moment, query, &ledger::folded(text), damages).await?,
    };
    moment.rollback().await?;
    Ok((page, all))
}

/// Whether an edit made a session.
pub(super) async fn is_edit_fork(
    moment: &mut SqliteConnection,
    session: &SessionId,
) -> Result<bool, Failure> {
    let found = sqlx::query_scalar(IS_EDIT_FORK).bind(session.as_str());
    let found: Option<bool> = found.fetch_optional(moment).await?;
    Ok(found.unwrap_or_default())
}

/// A session of a list, unless it is damaged: that is reported.
fn sound(row: &SqliteRow, damages: &dyn Damages) -> Option<SessionRow> {
    let shown = Session::read(row).and_then(Session::shown);
    shown.map_err(|failure| report(row, &failure, damages)).ok()
}

fn report(row: &SqliteRow, failure: &Failure, damages: &dyn Damages) {
    let why = failure.to_string();
    let id = row.try_get("id").ok();
    match id.and_then(|id: &str| SessionId::new(id).ok()) {
        Some(id) => damages.session(&id, &why),
        None => damages.history(&why),
    }
}

/// A page of the sessions whose id, title or first words contain a folded text, newest first, and how
/// many there are.
async fn matching(
    moment: &mut SqliteConnection,
    query: &SessionQuery,
    text: &str,
    damages: &dyn Damages,
) -> Result<(Vec<SessionRow>, u64), Failure> {
    let mut rows = sqlx::query(SOUGHT).bind(query.edit_forks).fetch(moment);
    let (mut page, mut all) = (Vec::new(), 0);
    while let Some(row) = rows.try_next().await? {
        let session = match Session::read(&row) {
            Ok(session) => session,
            Err(failure) => {
                report(&row, &failure, damages);
                continue;
            }
        };
        let preview = session.preview.as_ref();
        let preview = preview.and_then(|preview| preview.text.as_deref());
        let preview = ledger::folded(preview.unwrap_or_default());
        let words: Vec<_> = preview.split_whitespace().collect();
        if !session.found_by.contains(text) && !words.join(" ").contains(text) {
            continue;
        }
        if all >= query.offset && page.len() < query.limit as usize {
            page.extend(sound(&row, damages));
        }
        all += 1;
    }
    Ok((page, all))
}

/// The user's first message, as a session's row keeps it.
pub(super) async fn preview(
    connection: &mut SqliteConnection,
    session_key: i64,
) -> Result<Option<Preview>, Failure> {
    let first = sqlx::query(PREVIEW).bind(session_key);
    let Some(first) = first.fetch_optional(connection).await? else {
        return Ok(None);
    };
    let message = row::message(&first)?.message;
    Ok(Some(Preview {
        text: row::preview(&message.parts),
        turn_seq: first.try_get("turn_seq")?,
    }))
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
    // A message whose row leads to another session, or to none, is in no page of its own.
    if query.before.is_none() && newest_first.len() < query.limit as usize {
        check_whole(readers, &query.session).await?;
    }
    newest_first.iter().rev().map(row::message).collect()
}

/// Whether a session has as many messages as its row says; for a page that has them all.
async fn check_whole(readers: &SqlitePool, session: &SessionId) -> Result<(), Failure> {
    let whole = sqlx::query(IS_WHOLE).bind(session.as_str());
    let Some(row) = whole.fetch_optional(readers).await? else {
        return Ok(());
    };
    let (count, there): (i64, i64) = (row.try_get("message_count")?, row.try_get("there")?);
    let hidden: i64 = row.try_get("hidden")?;
    if hidden > 0 {
        let why = format!("session {session}: {hidden} messages are not where they were put");
        return Err(Failure::Odd(why));
    }
    if count != there {
        let why = format!("session {session}: {there} messages of {count} are there");
        return Err(Failure::Odd(why));
    }
    Ok(())
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

/// The first message that a turn's model wrote.
pub(super) async fn answer_of(
    readers: &SqlitePool,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<MessageRow>, Failure> {
    let found = sqlx::query(ANSWER).bind(session.as_str());
    let found = found.bind(turn.as_str()).fetch_optional(readers).await?;
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

/// The last turn of a session's own agent, or the last before another one, all as of one moment.
pub(super) async fn last_turn(
    readers: &SqlitePool,
    session: &SessionId,
    before: Option<&TurnId>,
) -> Result<Option<LastTurn>, Failure> {
    let mut moment = readers.begin().await?;
    let last = sqlx::query(LAST_TURN).bind(session.as_str());
    let last = last.bind(before.map(TurnId::as_str));
    let Some(last) = last.fetch_optional(&mut *moment).await? else {
        return Ok(None);
    };
    let turn = Turn::read(&last)?;
    let said = sqlx::query(SAID).bind(turn.session_key);
    let said = said.bind(turn.seq()).bind(turn.key);
    let Some(said) = said.fetch_optional(&mut *moment).await? else {
        return Ok(None);
    };
    let family = sqlx::query(FAMILY).bind(turn.session_key).bind(&turn.id);
    let (mut below, mut messages) = (Vec::new(), 0);
    for row in family.fetch_all(&mut *moment).await? {
        let other = Turn::read(&row)?;
        let count = sqlx::query(COUNT_MESSAGES).bind(other.session_key);
        let count = count.bind(other.seq()).bind(other.key);
        let count: i64 = count.fetch_one(&mut *moment).await?.try_get(0)?;
        messages += count.unsigned_abs();
        if other.id != turn.id {
            below.push(row::turn_id(&other.id)?);
        }
    }
    moment.rollback().await?;
    Ok(Some(LastTurn {
        turn: row::turn_id(&turn.id)?,
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
    let found = sqlx::query(TURN).bind(session.as_str());
    let found = found.bind(turn.as_str()).fetch_optional(readers).await?;
    let found = found.as_ref().map(Turn::read).transpose()?;
    Ok(found.is_some_and(|turn| turn.is_over()))
}

/// Totals over all sessions, from their rows alone, with what those in memory have used. A damaged
/// row is reported and left out.
pub(super) async fn totals(readers: &SqlitePool, damages: &dyn Damages) -> Result<Totals, Failure> {
    let mut row = sqlx::query(TOTALS).fetch_one(readers).await?;
    if row::count(&row, "wrong")? > 0 {
        let wrong = sqlx::query(WRONG_COUNTS).fetch_all(readers).await?;
        for row in &wrong {
            report(row, &checksum::wrong(), damages);
        }
        row = sqlx::query(SOUND_TOTALS).fetch_one(readers).await?;
    }
    let in_memory = match spent::read(readers).await {
        Err(Failure::Odd(why)) => {
            damages.history(&format!("spent_in_memory: {why}"));
            Usage::default()
        }
        read => read?,
    };
    Ok(Totals {
        sessions: row::count(&row, "sessions")?,
        messages: row::count(&row, "messages")?,
        usage: row::total_usage(&row)?.plus(in_memory),
    })
}
