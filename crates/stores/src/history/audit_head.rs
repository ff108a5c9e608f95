//! The head of the audit's chain, stored with the positions of the sessions whose calls it has.

use rusqlite::{Connection, Row, params};
use samovar_core::audit::Head;

use super::failure::Failure;
use super::sql;
use crate::audit::{Heads, Pair};

const FIND: &str = "SELECT written_count, written_hash, synced_count, synced_hash, checksum \
    FROM audit_head";
const STORE: &str = "INSERT OR REPLACE INTO audit_head (rowid, written_count, written_hash, \
    synced_count, synced_hash, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5)";

/// Reads the stored heads; `None` if there are none, or they are damaged.
pub(super) fn find(connection: &Connection) -> Result<Option<Pair>, Failure> {
    let head = |row: &Row<'_>, count, hash| {
        let count: i64 = row.get(count)?;
        let (count, hash) = (u64::try_from(count).unwrap_or(0), row.get(hash)?);
        Ok::<_, Failure>(Head { count, hash })
    };
    let found = sql::first(connection, FIND, [], |row| {
        let pair = Pair {
            written: head(row, "written_count", "written_hash")?,
            synced: head(row, "synced_count", "synced_hash")?,
        };
        let checksum: i64 = row.get("checksum")?;
        Ok(Some(pair).filter(|pair| sum(pair) == checksum))
    })?;
    Ok(found.flatten())
}

/// Writes the heads into the history, if it lacks them, and returns what it has then.
pub(super) fn store_due(connection: &Connection, heads: &Heads) -> Result<Pair, Failure> {
    let Some(pair) = heads.due() else {
        return Ok(heads.stored());
    };
    let (written, synced) = (&pair.written, &pair.synced);
    let values = params![
        count(written),
        written.hash,
        count(synced),
        synced.hash,
        sum(&pair)
    ];
    sql::execute(connection, STORE, values)?;
    Ok(pair)
}

fn count(head: &Head) -> i64 {
    i64::try_from(head.count).unwrap_or(i64::MAX)
}

fn sum(pair: &Pair) -> i64 {
    let Pair { written, synced } = pair;
    let text = format!(
        "{} {} {} {}",
        written.count, written.hash, synced.count, synced.hash
    );
    crc32fast::hash(text.as_bytes()).into()
}
