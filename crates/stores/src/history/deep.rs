//! Reads every row of a history that no server has open, and verifies it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use rusqlite::{Connection, Row};
use samovar_core::{BlobHash, Broken};

use super::failure::Failure;
use super::readers::blocking;
use super::session::Session;
use super::turns::Turn;
use super::{agents, blobs, file, reader, row, spent, sql};
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
    let data_dir = data_dir.to_owned();
    let read = blocking(move || {
        let (path, mut report) = (data_dir.join(HISTORY[0]), HistoryReport::default());
        if path.exists() {
            let connection = file::looking(&path)?;
            report.read(&connection, &data_dir)?;
        }
        Ok(report)
    });
    Ok(read.await?)
}

impl HistoryReport {
    fn read(&mut self, connection: &Connection, data_dir: &Path) -> Result<(), Failure> {
        file::check_format(connection)?;
        let check = "PRAGMA integrity_check(8)";
        let pages: Vec<String> = sql::all(connection, check, [], |row| Ok(row.get(0)?))?;
        self.odd.extend(pages.into_iter().filter(|why| why != "ok"));
        let stray: i64 = sql::value(connection, reader::STRAY, [])?;
        if stray > 0 {
            self.odd.push(format!("rows of no session: {stray}"));
        }
        let sessions = self.read_rows(connection, reader::ALL_SESSIONS, "id", verify_session);
        self.sessions = sessions?;
        let message = |row: &Row<'_>| row::message(row).map(drop);
        let messages = self.read_rows(connection, reader::ALL_MESSAGES, "session_id", message);
        self.messages = messages?;
        let turn = |row: &Row<'_>| Turn::read(row).map(drop);
        let turns = self.read_rows(connection, reader::ALL_TURNS, "of_session", turn);
        turns?;
        self.odd.extend(agents::verify(connection)?);
        self.odd.extend(spent::verify(connection)?);
        if let Ok(named) = blobs::named(connection) {
            let lost = named.into_iter().filter(|hash| !is_whole(data_dir, hash));
            self.images.extend(lost);
        }
        Ok(())
    }

    fn read_rows(
        &mut self,
        connection: &Connection,
        all: &'static str,
        session: &str,
        verify: impl Fn(&Row<'_>) -> Result<(), Failure>,
    ) -> Result<u64, Failure> {
        let mut count = 0;
        sql::each(connection, all, [], |row| {
            count += 1;
            if let Err(failure) = verify(row) {
                self.note(row, session, &failure);
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    fn note(&mut self, row: &Row<'_>, session: &str, failure: &Failure) {
        let why = failure.to_string();
        match row.get::<_, String>(session) {
            Ok(session) => {
                self.damaged.entry(session).or_insert(why);
            }
            Err(_) => self.odd.push(why),
        }
    }
}

/// Verifies a session, and whether it has as many messages as its row says.
fn verify_session(row: &Row<'_>) -> Result<(), Failure> {
    let session = Session::read(row)?;
    let (there, count) = (row::count(row, "there")?, session.message_count);
    if there != count {
        let why = format!("{there} messages of {count} are there");
        return Err(Failure::Odd(why));
    }
    session.shown().map(drop)
}
