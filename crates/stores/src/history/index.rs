//! What writes to the index: new messages once there are some, and those that were there before it.
//!
//! A message that is written again, or under a key that was used before, is indexed with its row.

use rusqlite::Connection;
use samovar_core::message::Part;
use samovar_core::terms;

use super::failure::Failure;
use super::{file, row, sql};

/// New messages that are not indexed, at most; a search reads all of them.
const MAX_TAIL: i64 = 64;
/// Bytes of a message with which the new ones are indexed at once.
const MAX_TAIL_BYTES: usize = 8 << 10;
/// Older rows that one transaction takes, at most, and bytes of them, about.
const MAX_ROWS: u32 = 200;
const MAX_BYTES: usize = 256 << 10;

/// As the migration makes it.
const MADE: &str = "CREATE VIRTUAL TABLE search_terms USING fts5 \
    (terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii')";
/// The tables that have the index.
const KEPT_IN: [&str; 4] = [
    "search_terms_config",
    "search_terms_data",
    "search_terms_docsize",
    "search_terms_idx",
];
const ADD: &str = "INSERT OR REPLACE INTO search_terms (rowid, terms) \
     SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?1)";
const OLDER: &str = "SELECT key, parts FROM message_rows \
     WHERE key < (SELECT below FROM search_range) ORDER BY key DESC LIMIT ?1";
const BELOW: &str = "UPDATE search_range SET below = ?1";
const NEWER: &str = "SELECT key, parts FROM message_rows \
     WHERE key >= (SELECT above FROM search_range) ORDER BY key LIMIT ?1";
const ABOVE: &str = "UPDATE search_range SET above = ?1";

/// What a transaction wrote that the index lacks.
#[derive(Default)]
pub(super) struct Unindexed {
    is_due: bool,
}

impl Unindexed {
    /// Notes a message that was written, with its key and the first one that the index lacks.
    pub(super) fn note(
        &mut self,
        connection: &Connection,
        (key, above): (i64, i64),
        parts: &str,
    ) -> Result<(), Failure> {
        if key < above {
            return add(connection, &[(key, parts.to_owned())]);
        }
        self.is_due |= key - above >= MAX_TAIL || parts.len() >= MAX_TAIL_BYTES;
        Ok(())
    }

    /// Brings the new messages into the index, if they are many.
    pub(super) fn settle(self, connection: &Connection) -> Result<(), Failure> {
        if !self.is_due {
            return Ok(());
        }
        loop {
            let rows = take(connection, NEWER)?;
            let Some((key, _)) = rows.last() else {
                return Ok(());
            };
            add(connection, &rows)?;
            sql::execute(connection, ABOVE, [key + 1])?;
        }
    }
}

/// Brings some of the older messages into the index, the newest first; how many were taken.
pub(super) fn fill(connection: &mut Connection) -> Result<usize, Failure> {
    let transaction = file::begin(connection)?;
    let rows = take(&transaction, OLDER)?;
    let Some((key, _)) = rows.last() else {
        return Ok(0);
    };
    add(&transaction, &rows)?;
    sql::execute(&transaction, BELOW, [key])?;
    samovar_core::failpoint!("history.index.before");
    transaction.commit()?;
    Ok(rows.len())
}

/// Whether what the index is kept in fits together.
pub(super) fn is_whole(connection: &Connection) -> bool {
    for table in KEPT_IN {
        let check = format!("PRAGMA quick_check({table})");
        let found = sql::value::<String>(connection, &check, []);
        if found.ok().as_deref() != Some("ok") {
            return false;
        }
    }
    true
}

/// Puts an empty index in the place of a damaged one, so that it is filled again.
///
/// Nothing of it is read, nor removed page by page: a page of it may name one of another table. The pages
/// are without an owner afterwards, until the file is rewritten.
pub(super) fn remake(connection: &mut Connection) -> Result<(), Failure> {
    let transaction = file::begin(connection)?;
    for statement in [
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_schema WHERE tbl_name GLOB 'search_terms*'",
        "PRAGMA writable_schema = RESET",
        MADE,
        "INSERT INTO search_terms (search_terms, rank) VALUES ('crisismerge', 8)",
        "UPDATE search_range SET (below, above) = \
         (SELECT coalesce(max(key), 0) + 1, coalesce(max(key), 0) + 1 FROM message_rows)",
    ] {
        transaction.execute_batch(statement)?;
    }
    transaction.commit()?;
    if let Err(error) = connection.execute_batch("VACUUM") {
        tracing::warn!(%error, "the history keeps pages that nothing uses");
    }
    Ok(())
}

/// Some rows that the index lacks: their keys and parts.
fn take(connection: &Connection, lacking: &'static str) -> Result<Vec<(i64, String)>, Failure> {
    let (mut rows, mut bytes) = (Vec::new(), 0);
    sql::each(connection, lacking, [MAX_ROWS], |row| {
        let parts: String = row.get("parts")?;
        bytes += parts.len();
        rows.push((row.get("key")?, parts));
        Ok(sql::until(bytes >= MAX_BYTES))
    })?;
    Ok(rows)
}

/// Brings the words of messages into the index, in place of those that they had.
fn add(connection: &Connection, rows: &[(i64, String)]) -> Result<(), Failure> {
    let words = |(key, parts): &(i64, String)| {
        // What cannot be read is no hit either.
        let parts: Vec<Part> = row::parse(parts).unwrap_or_default();
        let text: String = parts.iter().filter_map(Part::as_text).collect();
        (*key, terms::joined(terms::indexed(&text)))
    };
    let words: Vec<_> = rows.iter().map(words).collect();
    sql::execute(connection, ADD, [row::json(&words)?])?;
    Ok(())
}
