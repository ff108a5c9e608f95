//! Finished exchanges: those in which words are, and what was said in some (MD-11).
//!
//! The index says where each word is. A query asks for its rarest words, as many as name few enough
//! messages; the caller ranks what is found.

use std::collections::HashMap;

use rusqlite::{Connection, Row};
use samovar_core::history::{Exchange, ExchangeId, ExchangeQuery, SessionRow};
use samovar_core::{Beginner, Damages, SessionId, terms};

use super::failure::Failure;
use super::reader::{self, select_messages};
use super::search::asked::Asked;
use super::{row, sql};

/// A turn that is over, of a session's own agent.
macro_rules! in_exchange {
    ($rest:literal) => {
        select_messages!(
            "WHERE s.id = ?1 AND t.id = ?2 AND t.session_key = s.key AND m.session_key = s.key \
             AND m.turn_seq = t.turn_seq AND m.turn_key = t.key AND m.depth = 0 \
             AND t.finished_at IS NOT NULL ",
            $rest
        )
    };
}
/// What a person said in such a turn first.
pub(super) const ASKED_IN: &str = in_exchange!("AND m.role = 'user' ORDER BY m.seq LIMIT 1");
/// What its model said last.
pub(super) const ANSWERED_IN: &str =
    in_exchange!("AND m.role = 'assistant' ORDER BY m.seq DESC LIMIT 1");
/// The newest of these turns that have messages of which the index knows, or it does not yet.
macro_rules! exchanges_with {
    ($messages:literal) => {
        concat!(
            "SELECT s.id AS session_id, t.id AS turn_id, s.begun_by FROM message_rows AS m \
             JOIN sessions AS s ON s.key = m.session_key \
             JOIN turns AS t ON t.key = m.turn_key AND t.session_key = s.key WHERE ",
            $messages,
            " AND m.depth = 0 AND m.role IN ('user', 'assistant') AND s.begun_by = ?1 \
             AND t.finished_at IS NOT NULL GROUP BY t.key ORDER BY t.key DESC LIMIT ?2"
        )
    };
}
pub(super) const EXCHANGES_WITH: &str = exchanges_with!(
    "m.key IN (SELECT rowid FROM search_terms WHERE search_terms MATCH ?3 \
     ORDER BY rowid DESC LIMIT ?4)"
);
pub(super) const EXCHANGES_NOT_INDEXED: &str =
    exchanges_with!("m.key >= (SELECT above FROM search_range)");
/// The newest of all.
pub(super) const EXCHANGES: &str = "SELECT s.id AS session_id, t.id AS turn_id, s.begun_by \
     FROM turns AS t JOIN sessions AS s ON s.key = t.session_key \
     WHERE t.finished_at IS NOT NULL AND instr(t.agent, '/') = 0 \
     AND (s.begun_by = 'owner' OR s.begun_by GLOB 'token:*') ORDER BY t.key DESC LIMIT ?1";
/// In how many messages a word is, up to a number.
pub(super) const COUNT_OF_WORD: &str = "SELECT count(*) FROM (SELECT 1 FROM search_terms \
     WHERE search_terms MATCH ?1 LIMIT ?2)";

/// Messages with words of a query that are looked at, the newest ones.
const MAX_MESSAGES: i64 = 1_000;

/// The newest exchanges, the newest first.
pub(super) fn exchange_ids(moment: &Connection, most: u32) -> Result<Vec<ExchangeId>, Failure> {
    sql::all(moment, EXCHANGES, [most], id)
}

/// What was said in exchanges, as of one moment. A damaged one is reported and left out.
pub(super) fn exchanges(
    moment: &Connection,
    query: &ExchangeQuery,
    damages: &dyn Damages,
) -> Result<Vec<Exchange>, Failure> {
    let ids = match query {
        ExchangeQuery::These(ids) => ids.clone(),
        ExchangeQuery::Words {
            begun_by,
            text,
            limit,
        } => with_words(moment, begun_by, text, *limit)?,
    };
    let mut sessions = HashMap::new();
    let mut found = Vec::new();
    for id in ids {
        if !sessions.contains_key(&id.session) {
            let session = reader::session(moment, &id.session);
            let session = session.unwrap_or_else(|failure| {
                damages.session(&id.session, &failure.to_string());
                None
            });
            sessions.insert(id.session.clone(), session);
        }
        let session = sessions.get(&id.session).and_then(Option::as_ref);
        found.extend(read(moment, id, session, damages)?);
    }
    Ok(found)
}

/// The newest of the exchanges that have words of a text, and those that the index lacks.
fn with_words(
    moment: &Connection,
    begun_by: &Beginner,
    text: &str,
    limit: u32,
) -> Result<Vec<ExchangeId>, Failure> {
    let by = String::from(begun_by.clone());
    let mut words = Vec::new();
    for word in Asked::read(text).each() {
        let count: i64 = sql::value(moment, COUNT_OF_WORD, (&word, MAX_MESSAGES))?;
        words.push((count, word));
    }
    words.sort();
    let mut sum = 0;
    let rare = words.into_iter().filter(|(count, _)| *count > 0);
    // The rarest one counts, however many have it.
    let rare = rare.take_while(|(count, _)| {
        let is_first = sum == 0;
        sum += count;
        is_first || sum <= MAX_MESSAGES
    });
    let rare: Vec<_> = rare.map(|(_, word)| word).collect();
    let mut found = sql::all(moment, EXCHANGES_NOT_INDEXED, (&by, limit), id)?;
    if !rare.is_empty() {
        let values = (&by, limit, rare.join(" OR "), MAX_MESSAGES);
        found.extend(sql::all(moment, EXCHANGES_WITH, values, id)?);
    }
    let mut ids: Vec<ExchangeId> = Vec::new();
    for id in found {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

fn id(row: &Row<'_>) -> Result<ExchangeId, Failure> {
    let begun_by: String = row.get("begun_by")?;
    Ok(ExchangeId {
        session: SessionId::new(row::text(row, "session_id")?).map_err(row::odd)?,
        turn: row::turn_id(row::text(row, "turn_id")?)?,
        begun_by: Beginner::try_from(begun_by).map_err(row::odd)?,
    })
}

/// One exchange; `None` if it is not there any more, or has no answer.
fn read(
    moment: &Connection,
    id: ExchangeId,
    session: Option<&SessionRow>,
    damages: &dyn Damages,
) -> Result<Option<Exchange>, Failure> {
    let session = session.filter(|session| session.begun_by.as_ref() == Some(&id.begun_by));
    let Some(session) = session else {
        return Ok(None);
    };
    let mut said = Vec::new();
    for query in [ASKED_IN, ANSWERED_IN] {
        let values = (id.session.as_str(), id.turn.as_str());
        let row = sql::first(moment, query, values, |row| Ok(row::sound(row, damages)))?;
        let row = row.flatten();
        let Some(message) = row.map(|row| row.message) else {
            return Ok(None);
        };
        let text = message.text();
        let text = terms::indexed(&text).trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        said.push((text, message.created_at));
    }
    let mut said = said.into_iter();
    let (Some((asked, at)), Some((answer, _))) = (said.next(), said.next()) else {
        return Ok(None);
    };
    Ok(Some(Exchange {
        id,
        said: asked,
        answer,
        at,
        tainted: session.tainted,
    }))
}
