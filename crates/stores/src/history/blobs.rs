//! Which blobs the messages name.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use rusqlite::Connection;
use samovar_core::{BlobHash, Part};

use super::failure::Failure;
use super::row::{parse, text};
use super::sql;

/// Few messages name one, and only these are in the index. A word of JSON alone has its quotes
/// unescaped: no text of a message is taken for it.
pub(super) const INDEX: &str = "CREATE INDEX IF NOT EXISTS message_rows_with_blobs \
     ON message_rows (key) WHERE instr(parts, '\"blob\":\"') > 0";

const WITH_BLOBS: &str = "SELECT parts FROM message_rows WHERE instr(parts, '\"blob\":\"') > 0";

/// The hashes of all blobs that messages name.
///
/// # Errors
/// [`Failure`] when one message cannot be read, because what it names is then unknown.
pub(super) fn named(connection: &Connection) -> Result<BTreeSet<BlobHash>, Failure> {
    let mut named = BTreeSet::new();
    sql::each(connection, WITH_BLOBS, [], |row| {
        let parts: Vec<Part> = parse(text(row, "parts")?)?;
        named.extend(parts.iter().filter_map(Part::blob).cloned());
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(named)
}
