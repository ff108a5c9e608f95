//! What a commit writes: a batch's rows, and what the tables say of its log.

use std::collections::HashMap;
use std::sync::Arc;

use heed::types::DecodeIgnore;
use heed::{PutFlags, RwTxn};
use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Broken, Epoch, Event, Kind, Millis, Seq, SessionId};

use tokio::sync::OwnedSemaphorePermit;

use super::fault::Fault;
use super::row::{self, RowKey};
use super::run;
use super::tables::{LogRow, Tables};
use crate::spool::Release;

/// Bytes from which a batch is big, unless it only moves live events out of the spool.
const BIG_BYTES: usize = 64 << 10;

/// Events of a batch whose rows are made as they are put, and rows for which it is looked whether they
/// are the last ones.
const LONG_BATCH: usize = 64;

/// Bytes that an event of a long batch counts for in the queue.
const EVENT_BYTES: usize = 1 << 10;

/// Up to where the history has kept each log.
pub(super) type Marks = HashMap<LogNo, Seq>;

/// A batch whose events are rows already: packed by the committer, so that the one writer only puts
/// bytes. Those of a long one are not: their rows together would take as much memory as they do.
pub(super) struct PackedBatch {
    pub(super) log: LogNo,
    session: SessionId,
    rows: Vec<(Seq, Vec<u8>)>,
    unpacked: Vec<Arc<Event>>,
    last: Seq,
    at: Millis,
    open_from: Option<Seq>,
    closes: bool,
    /// Whether it only moves live events out of the spool.
    folds: bool,
    /// Whether it can wait until there is room on the disk.
    pub(super) can_wait: bool,
    /// Its share of the bytes that may wait, if it is big.
    pub(super) room: Option<OwnedSemaphorePermit>,
    /// What the spool need not hold any longer once this is kept.
    pub(super) releases: Vec<Release>,
}

impl PackedBatch {
    /// Packs a batch of this run of the server.
    ///
    /// # Errors
    /// [`Broken::Io`] when an event was made in another epoch.
    pub(super) fn pack(batch: &Batch, epoch: Epoch) -> Result<Self, Broken> {
        let all = || batch.events.iter().chain(&batch.folded);
        check_epoch(all().map(AsRef::as_ref), epoch)?;
        let mut rows = run::pack(batch.log, &batch.folded)?;
        let is_long = batch.events.len() >= LONG_BATCH;
        let unpacked = if is_long { &batch.events[..] } else { &[] };
        for event in &batch.events[unpacked.len()..] {
            rows.push((event.seq, row::event(batch.log, event)?));
        }
        Ok(Self {
            log: batch.log,
            session: batch.session.clone(),
            rows,
            unpacked: unpacked.to_vec(),
            last: all().map(|event| event.seq).max().unwrap_or_default(),
            at: all().map(|event| event.at).max().unwrap_or_default(),
            open_from: batch.open_from,
            closes: all().any(|event| matches!(event.kind, Kind::SessionClosed)),
            can_wait: batch.events.is_empty()
                || batch.events.iter().any(|event| event.kind.can_wait()),
            room: None,
            releases: Release::by(batch),
            folds: batch.events.is_empty(),
        })
    }

    /// Whether the writer takes it before big ones.
    pub(super) fn is_small(&self) -> bool {
        self.folds || self.bytes() < BIG_BYTES
    }

    /// Bytes of its rows, about.
    pub(super) fn bytes(&self) -> usize {
        let packed = self.rows.iter().map(|(_, row)| row.len());
        packed.sum::<usize>() + self.unpacked.len() * EVENT_BYTES
    }
}

/// Refuses events of another run of the server (DU, "turn owned").
pub(super) fn check_epoch<'a>(
    events: impl Iterator<Item = &'a Event>,
    epoch: Epoch,
) -> Result<(), Broken> {
    match events.map(|event| event.epoch).find(|made| *made != epoch) {
        None => Ok(()),
        Some(stale) => Err(Broken::Io(format!(
            "an event of epoch {} was to be kept in epoch {}",
            stale.0, epoch.0
        ))),
    }
}

impl Tables {
    /// Puts a batch into a transaction. What it writes is new or not written at all: a position
    /// that is taken fails it.
    pub(super) fn append(&self, txn: &mut RwTxn<'_>, batch: &PackedBatch) -> Result<(), Fault> {
        let flags = self.flags_for(txn, batch)?;
        let mut put = |seq, row: &[u8]| {
            let place = RowKey::new(batch.log, seq);
            let put = self.events.put_with_flags(txn, flags, &place.key(), row);
            put.map_err(|error| match error {
                heed::Error::Mdb(heed::MdbError::KeyExist) => {
                    Broken::Io(format!("{place} is kept already")).into()
                }
                other => Fault::from(other),
            })
        };
        for (seq, row) in &batch.rows {
            put(*seq, row)?;
        }
        for event in &batch.unpacked {
            put(event.seq, &row::event(batch.log, event)?)?;
        }
        let mut row = self.log_row_or_new(txn, batch)?;
        row.head = row.head.max(batch.last);
        row.deleted |= batch.closes;
        let finished = match batch.open_from {
            Some(from) => Seq(from.0.saturating_sub(1)),
            None => row.head,
        };
        if finished > row.finished {
            row.finished = finished;
            self.retire
                .put(txn, &retire_key(batch.at, batch.log), &finished.0)?;
        }
        self.put_log_row(txn, batch.log, &row)?;
        self.set_open(txn, batch.log, batch.open_from)?;
        if !(batch.rows.is_empty() && batch.unpacked.is_empty()) {
            self.unprojected.put(txn, &batch.log.0, &())?;
        }
        Ok(())
    }

    /// After all other rows, a long batch fills each page. Otherwise LMDB leaves half of each one free,
    /// and holds twice as many until the commit.
    fn flags_for(&self, txn: &RwTxn<'_>, batch: &PackedBatch) -> Result<PutFlags, Fault> {
        let packed = batch.rows.iter().map(|(seq, _)| *seq);
        let seqs = packed.chain(batch.unpacked.iter().map(|event| event.seq));
        let is_long = batch.rows.len() + batch.unpacked.len() >= LONG_BATCH;
        let first = seqs.clone().next();
        let Some(first) = first.filter(|_| is_long && seqs.is_sorted()) else {
            return Ok(PutFlags::NO_OVERWRITE);
        };
        let last = self.events.remap_data_type::<DecodeIgnore>().last(txn)?;
        let first = RowKey::new(batch.log, first).key();
        Ok(match last {
            Some((last, ())) if last >= first => PutFlags::NO_OVERWRITE,
            Some(_) | None => PutFlags::NO_OVERWRITE | PutFlags::APPEND,
        })
    }

    fn log_row_or_new(&self, txn: &mut RwTxn<'_>, batch: &PackedBatch) -> Result<LogRow, Fault> {
        if let Some(row) = self.log_row(txn, batch.log)? {
            return Ok(row);
        }
        // The session's newest log wins, should an older one still get a late event.
        let session = batch.session.as_str();
        let newest = self.sessions.get(txn, session)?;
        if newest.is_none_or(|newest| newest < batch.log.0) {
            self.sessions.put(txn, session, &batch.log.0)?;
        }
        let mut meta = self.meta(txn)?;
        if meta.next_log <= batch.log.0 {
            meta.next_log = batch.log.0 + 1;
            self.put_meta(txn, &meta)?;
        }
        Ok(LogRow {
            session: batch.session.clone(),
            head: Seq::default(),
            finished: Seq::default(),
            deleted: false,
        })
    }

    pub(super) fn set_open(
        &self,
        txn: &mut RwTxn<'_>,
        log: LogNo,
        from: Option<Seq>,
    ) -> Result<(), Fault> {
        match from {
            Some(from) => self.open.put(txn, &log.0, &from.0)?,
            None => {
                self.open.delete(txn, &log.0)?;
            }
        }
        Ok(())
    }

    /// Notes what the history has: a log that it has whole is no longer unprojected. A log whose
    /// row is damaged stays so.
    pub(super) fn note_projected(&self, txn: &mut RwTxn<'_>, marks: &Marks) -> Result<(), Fault> {
        for (log, mark) in marks {
            let is_whole = match self.log_row(txn, *log) {
                Err(fault) if fault.is_damage() => false,
                row => row?.is_none_or(|row| row.head <= *mark),
            };
            if is_whole {
                self.unprojected.delete(txn, &log.0)?;
            }
        }
        Ok(())
    }
}

/// Orders logs by time; a time before 1970 counts as 1970.
pub(super) fn retire_key(at: Millis, log: LogNo) -> u128 {
    row::join(u64::try_from(at.0).unwrap_or(0), log.0)
}
