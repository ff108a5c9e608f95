//! What sessions in memory have used: one row, whose check is the sum of its columns. So SQL adds to
//! both alike, and a row that a bad disk changed stays wrong.

use rusqlite::{Connection, Row};
use samovar_core::Usage;

use super::checksum;
use super::failure::Failure;
use super::row::{self, integer, usage_columns};
use super::sql;

/// Adds to it.
pub(super) const SPEND: &str = "INSERT INTO spent_in_memory \
     (rowid, total_tokens_input, total_tokens_output, total_tokens_cache_read, \
      total_tokens_cache_write, total_tokens_reasoning, checksum) \
     VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6) \
     ON CONFLICT (rowid) DO UPDATE SET \
     total_tokens_input = total_tokens_input + excluded.total_tokens_input, \
     total_tokens_output = total_tokens_output + excluded.total_tokens_output, \
     total_tokens_cache_read = total_tokens_cache_read + excluded.total_tokens_cache_read, \
     total_tokens_cache_write = total_tokens_cache_write + excluded.total_tokens_cache_write, \
     total_tokens_reasoning = total_tokens_reasoning + excluded.total_tokens_reasoning, \
     checksum = checksum + excluded.checksum";

const SPENT: &str = "SELECT total_tokens_input, total_tokens_output, \
     total_tokens_cache_read, total_tokens_cache_write, total_tokens_reasoning, checksum \
     FROM spent_in_memory";

/// What is added.
pub(super) fn values(usage: Usage) -> [Option<i64>; 6] {
    let [input, output, cache_read, cache_write, reasoning] = usage_columns(Some(usage));
    let sum = Some(sum(usage));
    [input, output, cache_read, cache_write, reasoning, sum]
}

/// What was used until now.
///
/// # Errors
/// [`Failure::Odd`] when the row does not say what was written.
pub(super) fn read(connection: &Connection) -> Result<Usage, Failure> {
    let read = |row: &Row<'_>| Ok((row::total_usage(row)?, row.get::<_, i64>("checksum")?));
    match sql::first(connection, SPENT, [], read)? {
        None => Ok(Usage::default()),
        Some((usage, kept)) if kept == sum(usage) => Ok(usage),
        Some(_) => Err(checksum::wrong()),
    }
}

/// The damage of the row, if there is any.
pub(super) fn verify(connection: &Connection) -> Result<Option<String>, Failure> {
    match read(connection) {
        Err(Failure::Odd(why)) => Ok(Some(format!("spent_in_memory: {why}"))),
        read => read.map(|_| None),
    }
}

fn sum(usage: Usage) -> i64 {
    let Usage {
        input,
        output,
        cache_read,
        cache_write,
        reasoning,
        ..
    } = usage;
    let counts = [input, output, cache_read, cache_write, reasoning];
    let counts = counts.map(integer).into_iter();
    counts.fold(0, i64::wrapping_add)
}
