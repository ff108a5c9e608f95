//! The file as a whole: whether it is all there, and a copy of it while it is in use.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use samovar_core::Broken;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Row, SqliteConnection};

use super::failure::Failure;
use super::{SqliteHistory, file};
use crate::data_dir::create;
use crate::generation::{Found, Generation, Stamp};

/// Bytes that say how long the file is to be.
const HEAD_BYTES: usize = 100;
const MARK: &[u8] = b"SQLite format 3\0";

impl SqliteHistory {
    /// Whether a file is plainly shorter than its own first page says, while no log beside it could
    /// have the rest. Costs one read; true is a reason to [`SqliteHistory::check`] it.
    pub fn looks_short(path: &Path) -> bool {
        let mut head = [0; HEAD_BYTES];
        let Ok(mut file) = File::open(path) else {
            return false;
        };
        let length = file.metadata().map_or(0, |meta| meta.len());
        if length == 0 || file.read_exact(&mut head).is_err() || !head.starts_with(MARK) {
            return length > 0;
        }
        let number = |at: usize| {
            head[at..at + 4]
                .iter()
                .fold(0, |all, byte| all << 8 | u64::from(*byte))
        };
        let page = match u64::from(head[16]) << 8 | u64::from(head[17]) {
            1 => 65536,
            bytes => bytes,
        };
        length < number(28) * page
    }

    /// What is found where the history should be. Writes nothing, and makes no log beside the file: a
    /// log that is missing is how a start knows that it was removed.
    ///
    /// # Errors
    /// [`Broken`] when that cannot be found out; damage is an answer.
    pub(crate) async fn find(path: &Path) -> Result<Found, Broken> {
        if let Some(missing) = Found::missing(path)? {
            return Ok(missing);
        }
        let read = async {
            let mut connection = file::looking(path)?.connect().await?;
            let found = Self::read_stamp(&mut connection).await;
            connection.close().await?;
            found
        };
        match read.await.map_err(Broken::from) {
            Err(Broken::Damaged(why)) => Ok(Found::Damaged(why)),
            found => found,
        }
    }

    async fn read_stamp(connection: &mut SqliteConnection) -> Result<Found, Failure> {
        file::check_format(connection).await?;
        let has_tables = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'generation')";
        if !sqlx::query_scalar(has_tables)
            .fetch_one(&mut *connection)
            .await?
        {
            let (stamp, has_content) = (Stamp::Lacking, false);
            return Ok(Found::There { stamp, has_content });
        }
        let stamp = sqlx::query("SELECT id, checksum FROM generation");
        let stamp = stamp.fetch_optional(&mut *connection).await?;
        let stamp = stamp.as_ref().map_or(Ok(Stamp::Lacking), stamped)?;
        let any = sqlx::query_scalar("SELECT EXISTS (SELECT 1 FROM sessions)");
        let has_content = any.fetch_one(connection).await?;
        Ok(Found::There { stamp, has_content })
    }

    /// Writes the generation of the data directory into the history, durably.
    ///
    /// # Errors
    /// [`Broken`].
    pub(crate) async fn stamp(&self, generation: &Generation) -> Result<(), Broken> {
        self.writer.lock().await.stamp(generation).await
    }

    /// Reads the whole file and whether its pages fit together.
    ///
    /// # Errors
    /// [`Broken::Damaged`] when it is no history, or damaged; another when it cannot be read.
    pub async fn check(path: &Path) -> Result<(), Broken> {
        match std::fs::metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Ok(meta) if meta.len() == 0 => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        let options = file::Options::new(path)?.writer();
        let mut connection = options.connect().await.map_err(Failure::from)?;
        let check = sqlx::query("PRAGMA quick_check(1)")
            .fetch_one(&mut connection)
            .await;
        if let Err(error) = connection.close().await {
            tracing::debug!(%error, "the history's connection did not close well");
        }
        let found: String = check
            .and_then(|row| row.try_get(0))
            .map_err(Failure::from)?;
        match found.as_str() {
            "ok" => Ok(()),
            why => Err(Broken::Damaged(format!("history: {why}"))),
        }
    }

    /// Copies everything that was projected so far into a new file, synced and without empty pages;
    /// reads and writes continue meanwhile.
    ///
    /// # Errors
    /// [`Broken`]; also when the file is there, or what is copied is damaged.
    pub async fn copy_to(&self, path: &Path) -> Result<(), Broken> {
        let broken = |error| Broken::Io(format!("history: {}: {error}", path.display()));
        let file = create(path).map_err(broken)?;
        let shown = path.to_str().ok_or_else(|| {
            let why = format!("history: {} is no text", path.display());
            Broken::Io(why)
        })?;
        let quoted = shown.replace('\'', "''");
        let copy = AssertSqlSafe(format!("VACUUM INTO '{quoted}'"));
        let copied = sqlx::raw_sql(copy).execute(&self.readers).await;
        copied.map_err(Failure::from)?;
        file.sync_all().map_err(broken)
    }
}

/// The generation of a row.
fn stamped(row: &SqliteRow) -> Result<Stamp, Failure> {
    let (id, checksum): (String, i64) = (row.try_get("id")?, row.try_get("checksum")?);
    let is_whole = i64::from(crc32fast::hash(id.as_bytes())) == checksum;
    Ok(Stamp::read(is_whole.then_some(Generation(id))))
}
