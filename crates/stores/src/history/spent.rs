//! What sessions in memory have used: one row, whose check is the sum of its columns. So SQL adds to
//! both alike, and a row that a bad disk changed stays wrong.

use samovar_core::Usage;
use sqlx::{Row, SqliteConnection, SqliteExecutor};

use super::checksum;
use super::failure::Failure;
use super::row::{self, Statement, bind_usage, integer};

const SPEND: &str = "INSERT INTO spent_in_memory \
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

/// Adds to it.
pub(super) fn add(usage: Usage) -> Statement<'static> {
    bind_usage(sqlx::query(SPEND), Some(usage)).bind(sum(usage))
}

/// What was used until now.
///
/// # Errors
/// [`Failure::Odd`] when the row does not say what was written.
pub(super) async fn read(reader: impl SqliteExecutor<'_>) -> Result<Usage, Failure> {
    let Some(row) = sqlx::query(SPENT).fetch_optional(reader).await? else {
        return Ok(Usage::default());
    };
    let usage = row::total_usage(&row)?;
    let kept: i64 = row.try_get("checksum")?;
    if kept == sum(usage) {
        Ok(usage)
    } else {
        Err(checksum::wrong())
    }
}

/// The damage of the row, if there is any.
pub(super) async fn verify(connection: &mut SqliteConnection) -> Result<Option<String>, Failure> {
    match read(connection).await {
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
