//! The file as a whole: whether it is all there, and a copy of it while it is in use.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use rusqlite::{Connection, Row};
use samovar_core::Broken;

use super::failure::Failure;
use super::readers::blocking;
use super::{SqliteHistory, file, sql};
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
        let path = path.to_owned();
        let read = blocking(move || Self::read_stamp(&file::looking(&path)?));
        match read.await.map_err(Broken::from) {
            Err(Broken::Damaged(why)) => Ok(Found::Damaged(why)),
            found => found,
        }
    }

    fn read_stamp(connection: &Connection) -> Result<Found, Failure> {
        file::check_format(connection)?;
        let has_tables = "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'generation')";
        if !sql::value(connection, has_tables, [])? {
            let (stamp, has_content) = (Stamp::Lacking, false);
            return Ok(Found::There { stamp, has_content });
        }
        let stamp = "SELECT id, checksum FROM generation";
        let stamp = sql::first(connection, stamp, [], stamped)?;
        let stamp = stamp.unwrap_or(Stamp::Lacking);
        let any = "SELECT EXISTS (SELECT 1 FROM sessions)";
        let has_content = sql::value(connection, any, [])?;
        Ok(Found::There { stamp, has_content })
    }

    /// Writes the generation of the data directory into the history, durably.
    ///
    /// # Errors
    /// [`Broken`].
    pub(crate) async fn stamp(&self, generation: &Generation) -> Result<(), Broken> {
        let generation = generation.clone();
        self.write(move |writer| writer.stamp(&generation)).await
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
        let path = file::make(path)?;
        let check = blocking(move || {
            let connection = file::writer(&path)?;
            sql::value::<String>(&connection, "PRAGMA quick_check(1)", [])
        });
        let found = check.await?;
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
        let to = shown.to_owned();
        let copy = move |connection: &Connection| sql::execute(connection, "VACUUM INTO ?1", [to]);
        self.readers.with(copy).await?;
        file.sync_all().map_err(broken)
    }
}

/// The generation of a row.
fn stamped(row: &Row<'_>) -> Result<Stamp, Failure> {
    let (id, checksum): (String, i64) = (row.get("id")?, row.get("checksum")?);
    let is_whole = i64::from(crc32fast::hash(id.as_bytes())) == checksum;
    Ok(Stamp::read(is_whole.then_some(Generation(id))))
}
