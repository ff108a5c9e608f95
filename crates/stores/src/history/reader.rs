//! Reads. Each but the search of sessions finds its rows through an index; none waits for the writer.

use std::ops::ControlFlow;

use rusqlite::{Connection, Row, params};
use samovar_core::history::{
    LastTurn, MessageQuery, MessageRow, SessionQuery, SessionRow, Speakers, Totals,
};
use samovar_core::{Damages, MessageId, Seq, SessionId, TurnId, Usage};

use super::checksum::counts_in_sql;
use super::failure::Failure;
use super::session::{Preview, Session, session_columns};
use super::turns::{FAMILY, Turn, turn_columns};
use super::{checksum, ledger, row, spent, sql};

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
pub(super) fn session(
    connection: &Connection,
    id: &SessionId,
) -> Result<Option<SessionRow>, Failure> {
    let found = sql::first(connection, SESSION, [id.as_str()], Session::read)?;
    found.map(Session::shown).transpose()
}

/// A page of sessions, and how many there are on all pages, both as of one moment. A damaged one is
/// reported and left out.
pub(super) fn sessions(
    moment: &Connection,
    query: &SessionQuery,
    damages: &dyn Damages,
) -> Result<(Vec<SessionRow>, u64), Failure> {
    if let Some(text) = &query.matching {
        return matching(moment, query, &ledger::folded(text), damages);
    }
    let values = params![query.limit, row::integer(query.offset), query.edit_forks];
    let page = sql::all(moment, SESSIONS, values, |row| Ok(sound(row, damages)))?;
    let all: i64 = sql::value(moment, COUNT, [query.edit_forks])?;
    Ok((page.into_iter().flatten().collect(), all.unsigned_abs()))
}

/// Whether an edit made a session.
pub(super) fn is_edit_fork(moment: &Connection, session: &SessionId) -> Result<bool, Failure> {
    let found = sql::first(moment, IS_EDIT_FORK, [session.as_str()], |row| {
        Ok(row.get::<_, bool>(0)?)
    })?;
    Ok(found.unwrap_or_default())
}

/// A session of a list, unless it is damaged: that is reported.
fn sound(row: &Row<'_>, damages: &dyn Damages) -> Option<SessionRow> {
    let shown = Session::read(row).and_then(Session::shown);
    shown.map_err(|failure| report(row, &failure, damages)).ok()
}

fn report(row: &Row<'_>, failure: &Failure, damages: &dyn Damages) {
    let why = failure.to_string();
    let id = row::text(row, "id").ok();
    match id.and_then(|id| SessionId::new(id).ok()) {
        Some(id) => damages.session(&id, &why),
        None => damages.history(&why),
    }
}

/// A page of the sessions whose id, title or first words contain a folded text, newest first, and how
/// many there are.
fn matching(
    moment: &Connection,
    query: &SessionQuery,
    text: &str,
    damages: &dyn Damages,
) -> Result<(Vec<SessionRow>, u64), Failure> {
    let (mut page, mut all) = (Vec::new(), 0);
    sql::each(moment, SOUGHT, [query.edit_forks], |row| {
        let session = match Session::read(row) {
            Ok(session) => session,
            Err(failure) => {
                report(row, &failure, damages);
                return Ok(ControlFlow::Continue(()));
            }
        };
        let preview = session.preview.as_ref();
        let preview = preview.and_then(|preview| preview.text.as_deref());
        let preview = ledger::folded(preview.unwrap_or_default());
        let words: Vec<_> = preview.split_whitespace().collect();
        if session.found_by.contains(text) || words.join(" ").contains(text) {
            if all >= query.offset && page.len() < query.limit as usize {
                page.extend(sound(row, damages));
            }
            all += 1;
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((page, all))
}

/// The user's first message, as a session's row keeps it.
pub(super) fn preview(
    connection: &Connection,
    session_key: i64,
) -> Result<Option<Preview>, Failure> {
    sql::first(connection, PREVIEW, [session_key], |row| {
        let message = row::message(row)?.message;
        Ok(Preview {
            text: row::preview(&message.parts),
            turn_seq: row.get("turn_seq")?,
        })
    })
}

/// The last messages of a session, oldest first; none when `before` names no message of it.
pub(super) fn messages(
    moment: &Connection,
    query: &MessageQuery,
) -> Result<Vec<MessageRow>, Failure> {
    let end = match &query.before {
        Some(before) => place(moment, &query.session, before)?,
        None => Some((i64::MAX, i64::MAX)),
    };
    let Some((turn_seq, seq)) = end else {
        return Ok(Vec::new());
    };
    let max_depth = match query.of {
        Speakers::All => i64::MAX,
        Speakers::Master => 0,
    };
    let session = query.session.as_str();
    let values = params![session, turn_seq, seq, max_depth, query.limit];
    let mut messages = sql::all(moment, MESSAGES, values, row::message)?;
    // A message whose row leads to another session, or to none, is in no page of its own.
    if query.before.is_none() && messages.len() < query.limit as usize {
        check_whole(moment, &query.session)?;
    }
    messages.reverse();
    Ok(messages)
}

/// Whether a session has as many messages as its row says; for a page that has them all.
fn check_whole(moment: &Connection, session: &SessionId) -> Result<(), Failure> {
    let whole = sql::first(moment, IS_WHOLE, [session.as_str()], |row| {
        let (count, there) = (row.get("message_count")?, row.get("there")?);
        Ok((count, there, row.get("hidden")?))
    })?;
    let Some::<(i64, i64, i64)>((count, there, hidden)) = whole else {
        return Ok(());
    };
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
fn place(
    moment: &Connection,
    session: &SessionId,
    message: &MessageId,
) -> Result<Option<(i64, i64)>, Failure> {
    let values = (message.as_str(), session.as_str());
    sql::first(moment, PLACE, values, |row| {
        Ok((row.get("turn_seq")?, row.get("seq")?))
    })
}

/// How many messages stand before a message in its conversation.
pub(super) fn count_before(
    moment: &Connection,
    session: &SessionId,
    message: &MessageId,
) -> Result<u64, Failure> {
    let Some((turn_seq, seq)) = place(moment, session, message)? else {
        return Ok(0);
    };
    let values = (session.as_str(), turn_seq, seq);
    let count: i64 = sql::value(moment, COUNT_BEFORE, values)?;
    Ok(count.unsigned_abs())
}

/// One message of any session.
pub(super) fn message(moment: &Connection, id: &MessageId) -> Result<Option<MessageRow>, Failure> {
    sql::first(moment, MESSAGE, [id.as_str()], row::message)
}

/// The first message that a turn's model wrote.
pub(super) fn answer_of(
    moment: &Connection,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<MessageRow>, Failure> {
    let values = (session.as_str(), turn.as_str());
    sql::first(moment, ANSWER, values, row::message)
}

/// The position at which the first message of a turn was put.
pub(super) fn turn_from(
    moment: &Connection,
    session: &SessionId,
    turn: &TurnId,
) -> Result<Option<Seq>, Failure> {
    let values = (session.as_str(), turn.as_str());
    let first: Option<i64> = sql::value(moment, TURN_FROM, values)?;
    Ok(first.map(|first| Seq(first.unsigned_abs())))
}

/// The last turn of a session's own agent, or the last before another one, all as of one moment.
pub(super) fn last_turn(
    moment: &Connection,
    session: &SessionId,
    before: Option<&TurnId>,
) -> Result<Option<LastTurn>, Failure> {
    let values = (session.as_str(), before.map(TurnId::as_str));
    let Some(turn) = sql::first(moment, LAST_TURN, values, Turn::read)? else {
        return Ok(None);
    };
    let values = (turn.session_key, turn.seq(), turn.key);
    let Some(said) = sql::first(moment, SAID, values, row::message)? else {
        return Ok(None);
    };
    let (mut below, mut messages) = (Vec::new(), 0);
    let values = (turn.session_key, &turn.id);
    for other in sql::all(moment, FAMILY, values, Turn::read)? {
        let values = (other.session_key, other.seq(), other.key);
        let count: i64 = sql::value(moment, COUNT_MESSAGES, values)?;
        messages += count.unsigned_abs();
        if other.id != turn.id {
            below.push(row::turn_id(&other.id)?);
        }
    }
    Ok(Some(LastTurn {
        turn: row::turn_id(&turn.id)?,
        below,
        said: said.message,
        messages,
    }))
}

/// Whether a turn has ended.
pub(super) fn is_over(
    moment: &Connection,
    session: &SessionId,
    turn: &TurnId,
) -> Result<bool, Failure> {
    let values = (session.as_str(), turn.as_str());
    let found = sql::first(moment, TURN, values, Turn::read)?;
    Ok(found.is_some_and(|turn| turn.is_over()))
}

/// Totals over all sessions, from their rows alone, with what those in memory have used. A damaged
/// row is reported and left out.
pub(super) fn totals(moment: &Connection, damages: &dyn Damages) -> Result<Totals, Failure> {
    let read = |row: &Row<'_>| {
        let totals = Totals {
            sessions: row::count(row, "sessions")?,
            messages: row::count(row, "messages")?,
            usage: row::total_usage(row)?,
        };
        Ok((totals, row::count(row, "wrong")?))
    };
    let mut found = sql::first(moment, TOTALS, [], read)?;
    if found.as_ref().is_some_and(|(_, wrong)| *wrong > 0) {
        sql::all(moment, WRONG_COUNTS, [], |row| {
            report(row, &checksum::wrong(), damages);
            Ok(())
        })?;
        found = sql::first(moment, SOUND_TOTALS, [], read)?;
    }
    let (mut totals, _) = found.unwrap_or_default();
    let in_memory = match spent::read(moment) {
        Err(Failure::Odd(why)) => {
            damages.history(&format!("spent_in_memory: {why}"));
            Usage::default()
        }
        read => read?,
    };
    totals.usage = totals.usage.plus(in_memory);
    Ok(totals)
}
