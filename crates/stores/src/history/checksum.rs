//! Checksums of rows: what a bad disk changed is not served as what was written (DU-13).
//!
//! Each covers every column that a reader is served or that decides which rows it is served. That of
//! a message is a sum of three, so that a statement that moves many messages changes their sums
//! without reading them: over its content, over its turn with the turn's place, over its position.

use crc32fast::Hasher;
use rusqlite::Row;
use samovar_core::message::Usage;

use super::failure::Failure;
use super::row::integer;

/// A checksum over columns, each with its length or with the fact that it is null.
pub(super) struct Columns(Hasher);

impl Columns {
    /// Of a kind of row, so that no row passes for one of another kind.
    pub(super) fn of(kind: u8) -> Self {
        let mut hasher = Hasher::new();
        hasher.update(&[kind]);
        Self(hasher)
    }

    pub(super) fn text(self, text: &str) -> Self {
        self.maybe_text(Some(text))
    }

    pub(super) fn maybe_text(mut self, text: Option<&str>) -> Self {
        let length = text.map_or(u64::MAX, |text| text.len() as u64);
        self.0.update(&length.to_le_bytes());
        self.0.update(text.unwrap_or_default().as_bytes());
        self
    }

    pub(super) fn number(self, number: i64) -> Self {
        self.maybe_number(Some(number))
    }

    pub(super) fn maybe_number(mut self, number: Option<i64>) -> Self {
        self.0.update(&[u8::from(number.is_some())]);
        self.0.update(&number.unwrap_or_default().to_le_bytes());
        self
    }

    pub(super) fn usage(self, usage: Option<Usage>) -> Self {
        let count = |of: fn(Usage) -> u64| usage.map(|usage| integer(of(usage)));
        self.maybe_number(count(|usage| usage.input))
            .maybe_number(count(|usage| usage.output))
            .maybe_number(count(|usage| usage.cache_read))
            .maybe_number(count(|usage| usage.cache_write))
            .maybe_number(count(|usage| usage.reasoning))
    }

    pub(super) fn sum(self) -> u32 {
        self.0.finalize()
    }
}

/// The part of a message's checksum that is its turn and the place of that.
pub(super) fn placed(turn: Option<&str>, turn_seq: i64) -> u32 {
    Columns::of(b'p').maybe_text(turn).number(turn_seq).sum()
}

/// The part of a message's checksum that is its position.
pub(super) fn at(seq: i64) -> u32 {
    Columns::of(b'a').number(seq).sum()
}

/// What is added to the checksums of messages whose other part was `old` and is now `new`.
pub(super) fn difference(old: u32, new: u32) -> i64 {
    i64::from(new.wrapping_sub(old))
}

/// Refuses a row whose checksum does not hold.
pub(super) fn verify(
    row: &Row<'_>,
    sum: impl FnOnce() -> Result<u32, Failure>,
) -> Result<(), Failure> {
    let kept: Option<i64> = row.get("checksum")?;
    if kept == Some(sum()?.into()) {
        Ok(())
    } else {
        Err(wrong())
    }
}

/// A row does not say what was written.
pub(super) fn wrong() -> Failure {
    Failure::Odd("wrong checksum".to_owned())
}

/// A prime below 2^32: no flipped bit leaves a count's remainder as it was, and no sum overflows.
const PRIME: i64 = 4_294_967_291;

/// The check of a session's counts, which [`counts_in_sql`] computes in SQL: all sessions are added
/// up without being read.
pub(super) fn counts(messages: u64, usage: Usage) -> i64 {
    let counts = [
        messages,
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
    ];
    counts.map(|count| integer(count) % PRIME).into_iter().sum()
}

/// [`counts`] over the columns of a row.
macro_rules! counts_in_sql {
    () => {
        "message_count % 4294967291 + total_tokens_input % 4294967291 \
         + total_tokens_output % 4294967291 + total_tokens_cache_read % 4294967291 \
         + total_tokens_cache_write % 4294967291 + total_tokens_reasoning % 4294967291"
    };
}
pub(super) use counts_in_sql;
