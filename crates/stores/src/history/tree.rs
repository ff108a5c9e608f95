//! Turns for readers: the turn that called each, and the tokens that it has used.

use rusqlite::{Connection, Row, params};
use samovar_core::history::{TurnQuery, TurnRow};
use samovar_core::{AgentPath, CallId, Millis, SessionId, Usage};

use super::failure::Failure;
use super::row::{self, odd, parse};
use super::sql;
use super::turns::{Turn, turn_columns};

/// The parent is the turn of the message that the turn's first one names. The tokens of a turn that
/// lives are those of its messages. A place in a log says nothing about turns of other sessions.
macro_rules! select_turns {
    ($where:literal) => {
        concat!(
    "SELECT ",
    turn_columns!("t."),
    ", s.id AS session_id, ( \
    SELECT p.id FROM message_rows AS m \
    JOIN message_rows AS c ON c.id = m.parent_message_id \
    JOIN turns AS p ON p.key = c.turn_key \
    WHERE m.session_key = t.session_key AND m.turn_key = t.key \
    AND m.turn_seq = coalesce(t.turn_seq, 9223372036854775807) \
    AND m.parent_message_id IS NOT NULL LIMIT 1) AS parent, ( \
    SELECT json_array(coalesce(sum(m.tokens_input), 0), coalesce(sum(m.tokens_output), 0)) \
    FROM message_rows AS m WHERE t.finished_at IS NULL AND m.session_key = t.session_key \
    AND m.turn_key = t.key AND m.turn_seq = coalesce(t.turn_seq, 9223372036854775807)) AS so_far \
    FROM turns AS t LEFT JOIN sessions AS s ON s.key = t.session_key ",
            $where,
            " AND (NOT ?4 OR t.finished_at IS NULL) \
             ORDER BY coalesce(t.started_at, t.finished_at, 9223372036854775807) DESC, \
             t.turn_seq DESC, t.key DESC LIMIT ?3"
        )
    };
}

pub(super) const TURNS: &str = select_turns!("WHERE (?1 IS NULL OR s.id = ?1)");
/// Those of a list, of any session.
pub(super) const TURNS_AMONG: &str =
    select_turns!("WHERE ?1 IS NULL AND t.id IN (SELECT value FROM json_each(?2))");
/// Those of a list that are in one session.
pub(super) const TURNS_HERE: &str = select_turns!(
    "WHERE s.id = ?1 AND t.session_key = s.key \
     AND t.id IN (SELECT value FROM json_each(?2))"
);

/// The last turns, oldest first.
pub(super) fn turns(connection: &Connection, query: &TurnQuery) -> Result<Vec<TurnRow>, Failure> {
    let select = match &query.session {
        _ if query.among.is_empty() => TURNS,
        Some(_) => TURNS_HERE,
        None => TURNS_AMONG,
    };
    let session = query.session.as_ref().map(SessionId::as_str);
    let values = params![
        session,
        row::json(&query.among)?,
        query.limit,
        query.unfinished
    ];
    let mut turns = sql::all(connection, select, values, shown)?;
    turns.reverse();
    Ok(turns)
}

fn shown(row: &Row<'_>) -> Result<TurnRow, Failure> {
    let turn = Turn::read(row)?;
    let parent = row::maybe_text(row, "parent")?;
    let (input, output) = parse(row::text(row, "so_far")?)?;
    let so_far = Usage {
        input,
        output,
        ..Usage::default()
    };
    let (budget, bill, iterations) = turn.costs()?;
    Ok(TurnRow {
        turn: row::turn_id(&turn.id)?,
        session: SessionId::new(row::text(row, "session_id")?).map_err(odd)?,
        agent: AgentPath::read(&turn.agent),
        parent: parent.map(row::turn_id).transpose()?,
        parent_call: turn
            .parent_call
            .as_deref()
            .map(CallId::new)
            .transpose()
            .map_err(odd)?,
        started_at: turn.started_at.map(Millis),
        end: turn.end()?,
        fault: turn.fault()?,
        usage: turn.usage.unwrap_or(so_far),
        iterations,
        bill,
        budget,
        left: None,
        last: None,
    })
}
