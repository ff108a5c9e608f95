//! Compares the small tables: each fact is in two of them, so what one has lost is restored from
//! the other, whose rows have checksums.

use std::collections::HashMap;

use heed::{RoTxn, RwTxn};
use samovar_core::journal::LogNo;
use samovar_core::{Broken, Seq, SessionId};

use super::LmdbJournal;
use super::fault::Fault;
use super::tables::{LogRow, Tables};

/// A log of which something cannot be read, or was put right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wound {
    /// The log.
    pub log: LogNo,
    /// Its session, when that is known.
    pub session: Option<SessionId>,
    /// What was found, for a log file.
    pub why: String,
    /// Whether it is as it was again.
    pub is_mended: bool,
}

/// What is to be put right.
#[derive(Default)]
struct Repairs {
    wounds: Vec<Wound>,
    sessions: Vec<(SessionId, LogNo)>,
    open: Vec<(LogNo, Option<Seq>)>,
    /// Marks of logs that there are not.
    stray: Vec<LogNo>,
}

impl LmdbJournal {
    /// Holds the small tables against the logs' own rows, puts right what can be, and tells of the
    /// rest. Reads no event.
    ///
    /// # Errors
    /// [`Broken`] when a table cannot be read at all.
    pub fn audit(&self) -> Result<Vec<Wound>, Broken> {
        let tables = self.shared.tables()?;
        let mending = {
            let txn = tables.read_txn()?;
            tables.compare(&txn)?
        };
        if !mending.is_empty() {
            let mut txn = tables.env.write_txn().map_err(Fault::from)?;
            tables.mend(&mut txn, &mending)?;
            txn.commit().map_err(Fault::from)?;
            self.shared.count_commit();
        }
        Ok(mending.wounds)
    }
}

impl Repairs {
    fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.open.is_empty() && self.stray.is_empty()
    }

    fn note(&mut self, log: LogNo, session: Option<&SessionId>, why: &str, is_mended: bool) {
        self.wounds.push(Wound {
            log,
            session: session.cloned(),
            why: format!("log {}: {why}", log.0),
            is_mended,
        });
    }
}

impl Tables {
    fn compare(&self, txn: &RoTxn<'_>) -> Result<Repairs, Fault> {
        let mut mending = Repairs::default();
        let open = self.open.iter(txn)?.collect::<Result<HashMap<_, _>, _>>()?;
        for entry in self.logs.iter(txn)? {
            let (log, bytes) = entry?;
            let noted = open.get(&log).copied().map(Seq);
            let log = LogNo(log);
            match LogRow::read(log, bytes) {
                Ok(row) => self.compare_log(txn, (log, &row), noted, &mut mending)?,
                Err(damaged) => {
                    let session = self.session_of(txn, log)?;
                    mending.note(log, session.as_ref(), &damaged.to_string(), false);
                }
            }
        }
        for log in self.unsettled(txn)? {
            if self.logs.get(txn, &log.0)?.is_none() {
                mending.stray.push(log);
                mending.note(log, None, "it is marked, and there is no such log", true);
            }
        }
        Ok(mending)
    }

    fn compare_log(
        &self,
        txn: &RoTxn<'_>,
        (log, row): (LogNo, &LogRow),
        noted: Option<Seq>,
        mending: &mut Repairs,
    ) -> Result<(), Fault> {
        if row.deleted {
            return Ok(());
        }
        let session = Some(&row.session);
        if self.log_of(txn, &row.session)?.is_none() {
            mending.sessions.push((row.session.clone(), log));
            mending.note(log, session, "its session did not lead to it", true);
        }
        let expected = (row.finished < row.head).then(|| row.finished.next());
        if expected != noted {
            mending.open.push((log, expected));
            mending.note(log, session, "its unfinished turns were not noted", true);
        }
        Ok(())
    }

    fn mend(&self, txn: &mut RwTxn<'_>, mending: &Repairs) -> Result<(), Fault> {
        for (session, log) in &mending.sessions {
            self.sessions.put(txn, session.as_str(), &log.0)?;
        }
        for (log, from) in &mending.open {
            self.set_open(txn, *log, *from)?;
        }
        for log in &mending.stray {
            self.open.delete(txn, &log.0)?;
            self.unprojected.delete(txn, &log.0)?;
        }
        if mending.stray.is_empty() {
            return Ok(());
        }
        // Whose mark the stray one was, nobody knows; what is projected already is skipped.
        self.mark_all(txn)
    }

    /// Marks every log, so that the history is given again whatever of it is still here.
    pub(super) fn mark_all(&self, txn: &mut RwTxn<'_>) -> Result<(), Fault> {
        let logs = self.logs.iter(txn)?.map(|entry| entry.map(|(log, _)| log));
        for log in logs.collect::<Result<Vec<_>, _>>()? {
            self.unprojected.put(txn, &log, &())?;
        }
        Ok(())
    }

    /// The session that leads to a log, for one whose own row cannot be read.
    pub(super) fn session_of(
        &self,
        txn: &RoTxn<'_>,
        log: LogNo,
    ) -> Result<Option<SessionId>, Fault> {
        for entry in self.sessions.iter(txn)? {
            match entry {
                Ok((session, found)) if found == log.0 => return Ok(SessionId::new(session).ok()),
                Ok(_) | Err(heed::Error::Decoding(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}
