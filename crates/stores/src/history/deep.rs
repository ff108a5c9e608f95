//! Reads every row of a history that no server has open, and verifies it.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::TryStreamExt;
use samovar_core::{BlobHash, Broken};
use sqlx::sqlite::SqliteRow;
use sqlx::{ConnectOptions, Connection, Row, SqliteConnection};

use super::failure::Failure;
use super::session::Session;
use super::turns::Turn;
use super::{agents, blobs, file, reader, row, spent};
use crate::blobs::is_whole;
use crate::data_dir::HISTORY;

/// What reading a whole history told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryReport {
    /// Sessions that were read.
    pub sessions: u64,
    /// Messages that were read.
    pub messages: u64,
    /// What is wrong with the file as a whole, or with rows that belong to no session.
    pub odd: Vec<String>,
    /// The first thing that is wrong with each damaged session, by its id.
    pub damaged: BTreeMap<String, String>,
    /// The images that messages name and that are missing or damaged, by their hashes.
    pub images: Vec<BlobHash>,
}

/// Reads every row of the history in a data directory that the caller holds, and verifies each. An
/// empty report when there is no file.
///
/// # Errors
/// [`Broken`] when it cannot be read.
pub async fn read_history(data_dir: &Path) -> Result<HistoryReport, Broken> {
    let (path, mut report) = (data_dir.join(HISTORY[0]), HistoryReport::default());
    if path.exists() {
        let options = file::looking(&path)?;
        let mut connection = options.connect().await.map_err(Failure::from)?;
        let read = report.read(&mut connection, data_dir).await;
        let closed = connection.close().await;
        read?;
        closed.map_err(Failure::from)?;
    }
    Ok(report)
}

impl HistoryReport {
    async fn read(
        &mut self,
        connection: &mut SqliteConnection,
        data_dir: &Path,
    ) -> Result<(), Failure> {
        file::check_format(connection).await?;
        let pages = sqlx::query_scalar("PRAGMA integrity_check(8)");
        let pages: Vec<String> = pages.fetch_all(&mut *connection).await?;
        self.odd.extend(pages.into_iter().filter(|why| why != "ok"));
        let stray = sqlx::query_scalar(reader::STRAY);
        let stray: i64 = stray.fetch_one(&mut *connection).await?;
        if stray > 0 {
            self.odd.push(format!("rows of no session: {stray}"));
        }
        let sessions = self.read_rows(connection, reader::ALL_SESSIONS, "id", verify_session);
        self.sessions = sessions.await?;
        let message = |row: &_| row::message(row).map(drop);
        let messages = self.read_rows(connection, reader::ALL_MESSAGES, "session_id", message);
        self.messages = messages.await?;
        let turn = |row: &_| Turn::read(row).map(drop);
        let turns = self.read_rows(connection, reader::ALL_TURNS, "of_session", turn);
        turns.await?;
        self.odd.extend(agents::verify(connection).await?);
        self.odd.extend(spent::verify(connection).await?);
        if let Ok(named) = blobs::named(connection).await {
            let lost = named.into_iter().filter(|hash| !is_whole(data_dir, hash));
            self.images.extend(lost);
        }
        Ok(())
    }

    async fn read_rows(
        &mut self,
        connection: &mut SqliteConnection,
        all: &'static str,
        session: &str,
        verify: impl Fn(&SqliteRow) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let (mut rows, mut count) = (sqlx::query(all).fetch(connection), 0);
        while let Some(row) = rows.try_next().await? {
            count += 1;
            if let Err(failure) = verify(&row) {
                self.note(&row, session, &failure);
            }
        }
        Ok(count)
    }

    fn note(&mut self, row: &SqliteRow, session: &str, failure: &Failure) {
        let why = failure.to_string();
        match row.try_get::<String, _>(session) {
            Ok(session) => {
                self.damaged.entry(session).or_insert(why);
            }
            Err(_) => self.odd.push(why),
        }
    }
}

/// Verifies a session, and whether it has as many messages as its row says.
fn verify_session(row: &SqliteRow) -> Result<(), Failure> {
    let session = Session::read(row)?;
    let (there, count) = (row::count(row, "there")?, session.message_count);
    if there != count {
        let why = format!("{there} messages of {count} are there");
        return Err(Failure::Odd(why));
    }
    session.shown().map(drop)
}
