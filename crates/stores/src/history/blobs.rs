//! Which blobs the messages name.

use std::collections::BTreeSet;

use samovar_core::{BlobHash, Part};
use sqlx::SqliteExecutor;

use super::failure::Failure;
use super::row::parse;

/// Few messages name one, and only these are in the index. A word of JSON alone has its quotes
/// unescaped: no text of a message is taken for it.
pub(super) const INDEX: &str = "CREATE INDEX IF NOT EXISTS message_rows_with_blobs \
     ON message_rows (key) WHERE instr(parts, '\"blob\":\"') > 0";

const WITH_BLOBS: &str = "SELECT parts FROM message_rows WHERE instr(parts, '\"blob\":\"') > 0";

/// The hashes of all blobs that messages name.
///
/// # Errors
/// [`Failure`] when one message cannot be read, because what it names is then unknown.
pub(super) async fn named(reader: impl SqliteExecutor<'_>) -> Result<BTreeSet<BlobHash>, Failure> {
    let rows: Vec<String> = sqlx::query_scalar(WITH_BLOBS).fetch_all(reader).await?;
    let mut named = BTreeSet::new();
    for parts in rows {
        let parts: Vec<Part> = parse(&parts)?;
        named.extend(parts.iter().filter_map(Part::blob).cloned());
    }
    Ok(named)
}
