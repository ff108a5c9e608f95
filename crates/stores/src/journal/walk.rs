//! A walk through everything that a journal holds, by a process that may die of it.

use std::collections::BTreeMap;
use std::path::Path;

use heed::{RoTxn, RwTxn};
use samovar_core::journal::LogNo;
use samovar_core::{Broken, SessionId};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::pages;
use super::row::{Row, RowKey};
use super::settings::{FILE, Settings};
use super::sync_marker;
use super::tables::Tables;

/// Bytes that are written on trial, so that the list of free pages is used, too.
const TRIAL_BYTES: usize = 2048;
/// How often.
const TRIALS: u128 = 64;

/// What a walk found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkReport {
    /// Rows that were read.
    pub rows: u64,
    /// Rows whose checksum does not hold; the server tells of each as it meets it.
    pub damaged_rows: u64,
    /// The first thing that is wrong with each damaged session, by its id.
    #[serde(default)]
    pub damaged: BTreeMap<String, String>,
    /// The same of each log whose session is not known, and of the table of sessions.
    #[serde(default)]
    pub odd: BTreeMap<String, String>,
}

/// Reads every page and row of the journal in a data directory, and tries a write that it does not
/// keep. No other process may have the journal open. Damage may end the process by a signal, so run
/// this in a process that does nothing else.
///
/// # Errors
/// [`Broken`]: it cannot be used as it is.
pub fn walk(dir: &Path) -> Result<WalkReport, Broken> {
    let dir = dir.join("journal");
    if !dir.exists() || sync_marker::is_torn(&dir)? {
        return Ok(WalkReport::default());
    }
    pages::check(&dir.join(FILE), u64::MAX)?;
    let tables = Tables::open(&dir, &Settings::default())?;
    let walked = read_all(&tables)?;
    let mut txn = tables.env.write_txn().map_err(Fault::from)?;
    write_some(&tables, &mut txn)?;
    txn.abort();
    Ok(walked)
}

fn read_all(tables: &Tables) -> Result<WalkReport, Fault> {
    let txn = tables.read_txn()?;
    let mut walked = WalkReport::default();
    tables.meta(&txn)?;
    for entry in tables.events.iter(&txn)? {
        let (key, bytes) = entry?;
        walked.rows += 1;
        let key = RowKey::from_key(key);
        if let Err(broken) = Row::read(key, bytes).and_then(|row| row.events())
            && !is_deleted(tables, &txn, key.log)
        {
            walked.note(key.log, session_of(tables, &txn, key.log)?, &broken);
        }
    }
    for entry in tables.logs.iter(&txn)? {
        walked.rows += 1;
        let log = LogNo(entry?.0);
        if let Err(broken) = tables.log_row(&txn, log).map_err(Broken::from) {
            walked.note(log, session_of(tables, &txn, log)?, &broken);
        }
    }
    for entry in tables.sessions.iter(&txn)? {
        match entry {
            Ok(_) => walked.rows += 1,
            Err(heed::Error::Decoding(why)) => {
                walked.damaged_rows += 1;
                let table = walked.odd.entry("sessions".to_owned());
                table.or_insert_with(|| why.to_string());
            }
            Err(error) => return Err(error.into()),
        }
    }
    tables.unsettled(&txn)?;
    for entry in tables.retire.iter(&txn)? {
        entry?;
    }
    for entry in tables.tombs.iter(&txn)? {
        entry?;
    }
    Ok(walked)
}

impl WalkReport {
    fn note(&mut self, log: LogNo, session: Option<SessionId>, broken: &Broken) {
        self.damaged_rows += 1;
        let row = match session {
            Some(session) => self.damaged.entry(session.to_string()),
            None => self.odd.entry(format!("log {}", log.0)),
        };
        row.or_insert_with(|| broken.to_string());
    }
}

/// Whether a log was deleted: nothing reads its rows again, and they are removed in time.
fn is_deleted(tables: &Tables, txn: &RoTxn<'_>, log: LogNo) -> bool {
    let row = tables.log_row(txn, log);
    row.is_ok_and(|row| row.is_some_and(|row| row.deleted))
}

/// The session of a log, as far as a table still tells.
fn session_of(tables: &Tables, txn: &RoTxn<'_>, log: LogNo) -> Result<Option<SessionId>, Fault> {
    match tables.log_row(txn, log) {
        Ok(Some(row)) => Ok(Some(row.session)),
        Ok(None) | Err(_) => tables.session_of(txn, log),
    }
}

fn write_some(tables: &Tables, txn: &mut RwTxn<'_>) -> Result<(), Fault> {
    let trial = [0; TRIAL_BYTES];
    for number in 0..TRIALS {
        tables.events.put(txn, &(u128::MAX - number), &trial)?;
    }
    Ok(())
}
