//! The head of the audit's chain, stored with the positions of the sessions whose calls it has.

use samovar_core::audit::Head;
use sqlx::{Row, SqliteConnection};

use super::failure::Failure;
use crate::audit::{Heads, Pair};

const FIND: &str = "SELECT * FROM audit_head";
const STORE: &str = "INSERT OR REPLACE INTO audit_head (rowid, written_count, written_hash, \
    synced_count, synced_hash, checksum) VALUES (1, ?1, ?2, ?3, ?4, ?5)";

/// Reads the stored heads; `None` if there are none, or they are damaged.
pub(super) async fn find(connection: &mut SqliteConnection) -> Result<Option<Pair>, Failure> {
    let Some(row) = sqlx::query(FIND).fetch_optional(connection).await? else {
        return Ok(None);
    };
    let head = |count, hash| -> sqlx::Result<_> {
        let count: i64 = row.try_get(count)?;
        let (count, hash) = (u64::try_from(count).unwrap_or(0), row.try_get(hash)?);
        Ok(Head { count, hash })
    };
    let pair = Pair {
        written: head("written_count", "written_hash")?,
        synced: head("synced_count", "synced_hash")?,
    };
    let checksum: i64 = row.try_get("checksum")?;
    Ok(Some(pair).filter(|pair| sum(pair) == checksum))
}

/// Writes the heads into the history, if it lacks them, and returns what it has then.
pub(super) async fn store_due(
    connection: &mut SqliteConnection,
    heads: &Heads,
) -> Result<Pair, Failure> {
    let Some(pair) = heads.due() else {
        return Ok(heads.stored());
    };
    let store = sqlx::query(STORE)
        .bind(count(&pair.written))
        .bind(&pair.written.hash)
        .bind(count(&pair.synced))
        .bind(&pair.synced.hash)
        .bind(sum(&pair));
    store.execute(connection).await?;
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
