//! What writes to the index: new messages once there are some, and those that were there before it.
//!
//! A message that is written again, or under a key that was used before, is indexed with its row.

use futures_util::TryStreamExt;
use samovar_core::message::Part;
use samovar_core::terms;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Connection, Row, SqliteConnection};

use super::failure::Failure;
use super::row;

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
    /// Notes a message that was written: its row says under which key, and what the index has.
    pub(super) async fn note(
        &mut self,
        connection: &mut SqliteConnection,
        row: &SqliteRow,
        parts: &str,
    ) -> Result<(), Failure> {
        let (key, above): (i64, i64) = (row.try_get("key")?, row.try_get("above")?);
        if key < above {
            return add(connection, &[(key, parts.to_owned())]).await;
        }
        self.is_due |= key - above >= MAX_TAIL || parts.len() >= MAX_TAIL_BYTES;
        Ok(())
    }

    /// Brings the new messages into the index, if they are many.
    pub(super) async fn settle(self, connection: &mut SqliteConnection) -> Result<(), Failure> {
        if !self.is_due {
            return Ok(());
        }
        loop {
            let rows = take(connection, NEWER).await?;
            let Some((key, _)) = rows.last() else {
                return Ok(());
            };
            add(connection, &rows).await?;
            let above = sqlx::query(ABOVE).bind(key + 1);
            above.execute(&mut *connection).await?;
        }
    }
}

/// Brings some of the older messages into the index, the newest first; how many were taken.
pub(super) async fn fill(connection: &mut SqliteConnection) -> Result<usize, Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let rows = take(&mut transaction, OLDER).await?;
    let Some((key, _)) = rows.last() else {
        return Ok(0);
    };
    add(&mut transaction, &rows).await?;
    let below = sqlx::query(BELOW).bind(key);
    below.execute(&mut *transaction).await?;
    samovar_core::failpoint!("history.index.before");
    transaction.commit().await?;
    Ok(rows.len())
}

/// Whether what the index is kept in fits together.
pub(super) async fn is_whole(connection: &mut SqliteConnection) -> bool {
    for table in KEPT_IN {
        let check = format!("PRAGMA quick_check({table})");
        let check = sqlx::query_scalar(AssertSqlSafe(check)).fetch_one(&mut *connection);
        let found: sqlx::Result<String> = check.await;
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
pub(super) async fn remake(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    for statement in [
        "PRAGMA writable_schema = ON",
        "DELETE FROM sqlite_schema WHERE tbl_name GLOB 'search_terms*'",
        "PRAGMA writable_schema = RESET",
        MADE,
        "INSERT INTO search_terms (search_terms, rank) VALUES ('crisismerge', 8)",
        "UPDATE search_range SET (below, above) = \
         (SELECT coalesce(max(key), 0) + 1, coalesce(max(key), 0) + 1 FROM message_rows)",
    ] {
        let done = sqlx::raw_sql(statement).execute(&mut *transaction);
        done.await?;
    }
    transaction.commit().await?;
    if let Err(error) = sqlx::raw_sql("VACUUM").execute(connection).await {
        tracing::warn!(%error, "the history keeps pages that nothing uses");
    }
    Ok(())
}

/// Some rows that the index lacks: their keys and parts.
async fn take(
    connection: &mut SqliteConnection,
    lacking: &'static str,
) -> Result<Vec<(i64, String)>, Failure> {
    let mut lacking = sqlx::query(lacking).bind(MAX_ROWS).fetch(connection);
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while let Some(row) = lacking.try_next().await? {
        let parts: String = row.try_get("parts")?;
        bytes += parts.len();
        rows.push((row.try_get("key")?, parts));
        if bytes >= MAX_BYTES {
            break;
        }
    }
    Ok(rows)
}

/// Brings the words of messages into the index, in place of those that they had.
async fn add(connection: &mut SqliteConnection, rows: &[(i64, String)]) -> Result<(), Failure> {
    let words = |(key, parts): &(i64, String)| {
        // What cannot be read is no hit either.
        let parts: Vec<Part> = row::parse(parts).unwrap_or_default();
        let text: String = parts.iter().filter_map(Part::as_text).collect();
        (*key, terms::joined(terms::indexed(&text)))
    };
    let words: Vec<_> = rows.iter().map(words).collect();
    let add = sqlx::query(ADD).bind(row::json(&words)?);
    add.execute(connection).await?;
    Ok(())
}
