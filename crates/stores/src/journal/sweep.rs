//! Removes finished turns that are no longer needed, in steps that leave room for commits.
//!
//! A sweep reads only the index of times, so its cost depends on what is due, not on what is kept.

use heed::RwTxn;
use samovar_core::journal::LogNo;
use samovar_core::{Millis, Seq};

use super::fault::Fault;
use super::keep::retire_key;
use super::row::{self, Row, RowKey};
use super::tables::Tables;

/// Rows that one transaction may remove.
pub(super) const MAX_ROWS: usize = 4096;

/// A sweep under way.
pub(super) struct Sweep {
    before: u128,
    from: u128,
}

/// What a step has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// Rows and index entries that it removed.
    pub(super) removed: usize,
    pub(super) is_last: bool,
}

/// The result of sweeping one log that was due.
enum SweepResult {
    /// Everything due is removed.
    Gone,
    /// The history or an unfinished turn still needs some of it.
    Needed,
    /// The step reached its limit first.
    Cut,
}

impl Sweep {
    /// A sweep of what was finished before a time.
    pub(super) fn new(before: Millis) -> Self {
        Self {
            before: retire_key(before, LogNo(0)),
            from: 0,
        }
    }

    /// Removes a bounded part of what is due.
    pub(super) fn step(&mut self, tables: &Tables, txn: &mut RwTxn<'_>) -> Result<Step, Fault> {
        let mut removed = 0;
        for _ in 0..MAX_ROWS {
            let due = tables.retire.range(txn, &(self.from..self.before))?.next();
            let Some((key, up_to)) = due.transpose()? else {
                return Ok(Step {
                    removed,
                    is_last: true,
                });
            };
            let (_, log) = row::split(key);
            let room = MAX_ROWS - removed;
            let (rows, fate) = match tables.retire_log(txn, LogNo(log), Seq(up_to), room) {
                Err(fault) if fault.is_damage() => {
                    tracing::error!(%fault, "a log is not swept");
                    (0, SweepResult::Needed)
                }
                retired => retired?,
            };
            removed += rows;
            match fate {
                SweepResult::Gone => {
                    tables.retire.delete(txn, &key)?;
                    removed += 1;
                }
                SweepResult::Needed => {}
                SweepResult::Cut => break,
            }
            self.from = key + 1;
            if removed >= MAX_ROWS {
                break;
            }
        }
        Ok(Step {
            removed,
            is_last: false,
        })
    }
}

impl Tables {
    fn retire_log(
        &self,
        txn: &mut RwTxn<'_>,
        log: LogNo,
        up_to: Seq,
        room: usize,
    ) -> Result<(usize, SweepResult), Fault> {
        if self.is_unprojected(txn, log)? {
            return Ok((0, SweepResult::Needed));
        }
        let open_from = self.open_from(txn, log)?;
        let limit = open_from.map_or(up_to, |from| up_to.min(Seq(from.0.saturating_sub(1))));
        let rows = self.rows_up_to(txn, log, limit, room)?;
        for place in &rows {
            self.events.delete(txn, &place.key())?;
        }
        if rows.len() == room {
            return Ok((room, SweepResult::Cut));
        }
        if limit < up_to {
            return Ok((rows.len(), SweepResult::Needed));
        }
        if open_from.is_none() {
            self.forget_if_empty(txn, log)?;
        }
        Ok((rows.len(), SweepResult::Gone))
    }

    /// The first rows of a log that end at or below a position.
    fn rows_up_to(
        &self,
        txn: &RwTxn<'_>,
        log: LogNo,
        limit: Seq,
        room: usize,
    ) -> Result<Vec<RowKey>, Fault> {
        let mut places = Vec::new();
        for row in self.rows(txn, RowKey::new(log, Seq(0)))?.take(room) {
            let (place, bytes) = row?;
            // A damaged row goes like any other: nobody needs it.
            let last = Row::read(place, bytes).map_or(place.seq, |row| row.last());
            if last > limit {
                break;
            }
            places.push(place);
        }
        Ok(places)
    }

    /// Forgets a log that holds nothing. A deleted session's stays until the next boot, so that a
    /// session created again under its id continues counting after it within this epoch.
    fn forget_if_empty(&self, txn: &mut RwTxn<'_>, log: LogNo) -> Result<(), Fault> {
        if self.rows(txn, RowKey::new(log, Seq(0)))?.next().is_some() {
            return Ok(());
        }
        let Some(row) = self.log_row(txn, log)? else {
            return Ok(());
        };
        let is_newest = self.sessions.get(txn, row.session.as_str())? == Some(log.0);
        if is_newest && row.deleted {
            return Ok(self.tombs.put(txn, &log.0, row.session.as_str())?);
        }
        self.forget(txn, log, row.session.as_str())
    }

    fn forget(&self, txn: &mut RwTxn<'_>, log: LogNo, session: &str) -> Result<(), Fault> {
        if self.sessions.get(txn, session)? == Some(log.0) {
            self.sessions.delete(txn, session)?;
        }
        self.logs.delete(txn, &log.0)?;
        Ok(())
    }

    /// Forgets the logs that only stayed for an epoch that is over.
    pub(super) fn bury(&self, txn: &mut RwTxn<'_>) -> Result<(), Fault> {
        let tombs = self.tombs.iter(txn)?;
        let tombs = tombs.map(|tomb| tomb.map(|(log, session)| (LogNo(log), session.to_owned())));
        for (log, session) in tombs.collect::<Result<Vec<_>, _>>()? {
            self.forget(txn, log, &session)?;
        }
        Ok(self.tombs.clear(txn)?)
    }
}
