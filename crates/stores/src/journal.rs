//! The journal: the hot store, and the truth about every turn until the history has it.
//!
//! [`LmdbJournal`] is an LMDB environment with one writing thread, whose waiting callers share each
//! commit (DU-3), and the spool beside it for live events. Begin with [`LmdbJournal::open`], which
//! also merges what a killed process left in the two (DU-18).
//!
//! A journal must be opened once at a time. Inside one process that is checked; between processes
//! the lock on the data directory ensures it, which the owner takes first.
//!
//! Positions: an event's position follows the log's `head`, and `head` outlives the rows. When the
//! journal does not know a session, positions follow what the history has projected. A deleted
//! session keeps its entry until the next boot, so a new session with the same id begins a new log
//! after the old one's head, and no event id is used twice in one epoch.

mod audit;
mod boot;
mod copy;
mod discard;
mod fault;
mod keep;
mod lanes;
mod pages;
mod row;
mod run;
mod settings;
mod sweep;
mod sync_marker;
mod tables;
#[cfg(test)]
mod tests;
mod walk;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{Broken, Durability, Epoch, Event, Future, Journal, Millis, Seq, SessionId};
use tokio::sync::Semaphore;

use crate::disk::Disk;
use crate::generation::{Found, Generation};
use crate::spool::{self, Spool};
pub use audit::Wound;
pub use boot::{Hole, Recovered};
pub use copy::Pause;
use fault::Fault;
pub(crate) use fault::from_io;
use keep::{Marks, PackedBatch};
use lanes::{Job, Jobs, QUEUE_BYTES, Waiter};
use row::{Row, RowKey};
use settings::FILE;
pub use settings::Settings;
use sync_marker::{EarlierWrites, sync_dir};
use tables::Tables;
#[cfg(test)]
pub(crate) use tables::make_bare;
pub use walk::{WalkReport, walk};

/// The events of a row under a key.
pub(crate) fn row_events(log: LogNo, seq: Seq, row: &[u8]) -> Result<Vec<Event>, Broken> {
    Row::read(RowKey::new(log, seq), row)?.events()
}

/// The rows of events in order, each with the position of its key.
pub(crate) fn rows(log: LogNo, events: &[Arc<Event>]) -> Result<Vec<(Seq, Vec<u8>)>, Broken> {
    run::pack(log, events)
}

/// How full the map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fill {
    /// Bytes of pages that hold something.
    pub used_bytes: usize,
    /// Bytes that there are.
    pub map_bytes: usize,
}

/// The journal over LMDB.
pub struct LmdbJournal {
    shared: Arc<Shared>,
    jobs: Jobs,
    /// Bytes of big batches that may wait for the writer.
    room: Arc<Semaphore>,
}

/// What the callers and the writing thread both use.
struct Shared {
    tables: Tables,
    spool: Spool,
    disk: Disk,
    durability: Durability,
    epoch: Epoch,
    was_closed: bool,
    next_log: AtomicU64,
    /// Positions that the history has and the journal has not noted yet; one for each log.
    marks: Mutex<Marks>,
    commits: AtomicU64,
    /// How many want nothing to be removed just now.
    pauses: AtomicU64,
    is_closed: AtomicBool,
}

impl LmdbJournal {
    /// Opens the journal in a data directory, merges what an earlier process left, and begins a new
    /// epoch: the one after the last, or `now_seconds` (since 1970) if that is later, so that a
    /// restored backup never gives out an event id again.
    ///
    /// # Errors
    /// [`Broken`]; also when the journal is not of this program's format.
    pub fn open(dir: &Path, now_seconds: u64) -> Result<(Self, Recovered), Broken> {
        Self::open_with(dir, now_seconds, &Settings::default())
    }

    /// The same with other settings.
    ///
    /// # Errors
    /// As [`LmdbJournal::open`].
    pub fn open_with(
        dir: &Path,
        now_seconds: u64,
        settings: &Settings,
    ) -> Result<(Self, Recovered), Broken> {
        Self::open_on(&Disk::with_ballast(dir, 0), now_seconds, settings)
    }

    /// The same in the data directory of a disk, whose ballast makes room for the start on a full
    /// disk.
    ///
    /// # Errors
    /// As [`LmdbJournal::open`].
    pub fn open_on(
        disk: &Disk,
        now_seconds: u64,
        settings: &Settings,
    ) -> Result<(Self, Recovered), Broken> {
        match Self::try_open(disk, now_seconds, settings) {
            Err(Broken::Full(_)) if disk.give_up_ballast() => {
                Self::try_open(disk, now_seconds, settings)
            }
            opened => opened,
        }
    }

    fn try_open(
        disk: &Disk,
        now_seconds: u64,
        settings: &Settings,
    ) -> Result<(Self, Recovered), Broken> {
        let dir = disk.dir();
        let (journal_dir, spool_dir) = (dir.join("journal"), dir.join("spool"));
        spool::make_dir(&journal_dir)?;
        spool::make_dir(&spool_dir)?;
        let boot_id = settings
            .boot_id
            .clone()
            .unwrap_or_else(sync_marker::boot_id);
        let left = sync_marker::look(&journal_dir, &boot_id)?;
        if left == EarlierWrites::Torn {
            tracing::error!(
                dir = %dir.display(),
                "the system stopped while the journal was not synced: its turns are lost"
            );
            sync_marker::wipe(&journal_dir)?;
            spool::clear(&spool_dir)?;
        }
        // Where an earlier run of this kernel said it, it stands there still.
        if settings.durability == Durability::Process && left != EarlierWrites::InMemory {
            sync_marker::begin(&journal_dir, &boot_id)?;
        }
        let tables = Tables::open(&journal_dir, settings)?;
        disk.watch(&journal_dir.join(FILE));
        // LMDB syncs its file, not the folders through which it is found.
        sync_dir(&journal_dir)?;
        sync_dir(dir)?;
        let began = boot::ServerStart::new(now_seconds, boot_id);
        let (epoch, next_log, mut recovered) = boot::recover(&tables, &spool_dir, began)?;
        recovered.was_wiped = left == EarlierWrites::Torn;
        if settings.durability == Durability::Power && left != EarlierWrites::Synced {
            tables.sync()?;
            sync_marker::end(&journal_dir)?;
        }
        let shared = Arc::new(Shared {
            tables,
            spool: Spool::new(spool_dir, settings.segment_bytes, disk.clone()),
            disk: disk.clone(),
            durability: settings.durability,
            epoch,
            was_closed: recovered.was_closed,
            next_log: AtomicU64::new(next_log),
            marks: Mutex::default(),
            commits: AtomicU64::new(1),
            pauses: AtomicU64::new(0),
            is_closed: AtomicBool::new(false),
        });
        let jobs = writer::start(shared.clone())
            .map_err(|error| from_io("the journal's thread", &error))?;
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        Ok((Self { shared, jobs, room }, recovered))
    }

    /// Whether the pages of the journal in a data directory fit together, as far as they may be looked
    /// at before it is opened: one whose file is larger than `max_bytes` is taken for sound, and so is
    /// one that is wiped when it is opened.
    ///
    /// # Errors
    /// [`Broken::Damaged`] when they do not; [`Broken::Io`] when they cannot be read.
    pub fn check(dir: &Path, max_bytes: u64) -> Result<(), Broken> {
        let journal_dir = dir.join("journal");
        if sync_marker::is_torn(&journal_dir)? {
            return Ok(());
        }
        pages::check(&journal_dir.join(FILE), max_bytes).map(drop)
    }

    /// What is found where the journal of a data directory should be, whose pages were checked before.
    ///
    /// # Errors
    /// [`Broken`] when that cannot be found out; damage is an answer.
    pub(crate) fn find(dir: &Path) -> Result<Found, Broken> {
        let dir = dir.join("journal");
        if sync_marker::is_torn(&dir)? {
            return Ok(Found::Torn);
        }
        if let Some(missing) = Found::missing(&dir.join(FILE))? {
            return Ok(missing);
        }
        let read = || {
            let tables = Tables::open(&dir, &Settings::default())?;
            let txn = tables.read_txn()?;
            Ok::<_, Fault>(Found::There {
                stamp: tables.stamp(&txn)?,
                has_content: tables.logs.first(&txn)?.is_some(),
            })
        };
        match read().map_err(Broken::from) {
            Err(Broken::Damaged(why)) => Ok(Found::Damaged(why)),
            found => found,
        }
    }

    /// Writes the generation of the data directory into the journal, durably.
    ///
    /// # Errors
    /// [`Broken`].
    pub(crate) fn stamp(&self, generation: &Generation) -> Result<(), Broken> {
        let tables = self.shared.tables()?;
        let mut txn = tables.env.write_txn().map_err(Fault::from)?;
        tables.put_generation(&mut txn, generation)?;
        txn.commit().map_err(Fault::from)?;
        self.shared.count_commit();
        Ok(())
    }

    /// How many commits there were since the journal was opened, that of its epoch included; each is
    /// synced unless [`Durability::Process`] was asked for.
    pub fn commits(&self) -> u64 {
        self.shared.commits.load(Ordering::Relaxed)
    }

    /// How full the map is.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn fill(&self) -> Result<Fill, Broken> {
        let tables = self.shared.tables()?;
        let txn = tables.read_txn()?;
        Ok(Fill {
            used_bytes: tables.used_bytes(&txn)?,
            map_bytes: tables.env.info().map_size,
        })
    }

    /// Goes over the rows behind a position, each with its size in bytes, for as long as more are
    /// wanted. Answers with the last position that was looked at.
    fn scan(
        &self,
        log: LogNo,
        after: Seq,
        mut wants_more: impl FnMut(&Row<'_>, usize) -> Result<bool, Broken>,
    ) -> Result<Seq, Broken> {
        let tables = self.shared.tables()?;
        let txn = tables.read_txn()?;
        let start = tables.covering(&txn, RowKey::new(log, Seq(after.0.saturating_add(1))))?;
        let mut seen = None;
        for row in tables.rows(&txn, start)? {
            let (place, bytes) = row?;
            let row = Row::read(place, bytes)?;
            let is_gap = seen.is_some_and(|seen: Seq| seen.next() != place.seq);
            // What this run has spooled may be missing between its rows; the boot has noted all else.
            if is_gap && row.epoch()? < self.shared.epoch {
                return Err(gap(place));
            }
            seen = Some(row.last());
            if !wants_more(&row, bytes.len())? {
                return Ok(row.last());
            }
        }
        let seen = seen.unwrap_or(after);
        if tables.is_short(&txn, log, seen)? {
            return Err(gap(RowKey::new(log, seen.next())));
        }
        Ok(seen)
    }

    /// Waits for its share of the bytes that may wait for the writer, then for the commit.
    fn commit_big(&self, mut packed: PackedBatch) -> Future<'static, Result<(), Broken>> {
        let (jobs, room) = (self.jobs.clone(), self.room.clone());
        Box::pin(async move {
            let bytes = u32::try_from(packed.bytes().min(QUEUE_BYTES)).unwrap_or(u32::MAX);
            // It is never closed.
            packed.room = room.acquire_many_owned(bytes).await.ok();
            writer::ask(jobs, |waiter| Job::Commit((packed, waiter))).await
        })
    }

    fn ask(
        &self,
        job: impl FnOnce(Waiter) -> Job + Send + 'static,
    ) -> Future<'static, Result<(), Broken>> {
        Box::pin(writer::ask(self.jobs.clone(), job))
    }
}

impl Journal for LmdbJournal {
    fn epoch(&self) -> Epoch {
        self.shared.epoch
    }

    fn was_closed(&self) -> bool {
        self.shared.was_closed
    }

    fn new_log(&self) -> LogNo {
        LogNo(self.shared.next_log.fetch_add(1, Ordering::Relaxed))
    }

    /// Dropping the future after it was polled does not take the batch back.
    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        let packed = self.shared.tables();
        let packed = packed.and_then(|_| PackedBatch::pack(&batch, self.shared.epoch));
        match packed {
            Ok(packed) if packed.is_small() => self.ask(|waiter| Job::Commit((packed, waiter))),
            Ok(packed) => self.commit_big(packed),
            Err(broken) => Box::pin(std::future::ready(Err(broken))),
        }
    }

    fn is_behind(&self) -> bool {
        self.room.available_permits() < QUEUE_BYTES / 2
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.shared.tables()?;
        keep::check_epoch(events.iter().map(AsRef::as_ref), self.shared.epoch)?;
        self.shared.spool.write(log, events)
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        let tables = self.shared.tables()?;
        let txn = tables.read_txn()?;
        let Some(log) = tables.log_of(&txn, session)? else {
            return Ok(None);
        };
        let entry = tables.entry(&txn, log)?;
        Ok(entry.map(|(_, entry)| entry))
    }

    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        self.scan(log, after, |row, size| {
            let unpacked = row.events()?;
            bytes += size + unpacked.len() * size_of::<Event>();
            events.extend(unpacked.into_iter().filter(|event| event.seq > after));
            Ok(bytes < max_bytes || events.is_empty())
        })?;
        Ok(events)
    }

    fn read_durable(
        &self,
        log: LogNo,
        after: Seq,
        max_bytes: usize,
    ) -> Result<(Vec<Event>, Seq), Broken> {
        let (mut events, mut bytes) = (Vec::new(), 0);
        let seen = self.scan(log, after, |row, size| {
            bytes += size;
            if !row.is_run() {
                events.extend(row.events()?.into_iter().filter(|event| event.seq > after));
            }
            Ok(bytes < max_bytes)
        })?;
        Ok((events, seen))
    }

    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        let tables = self.shared.tables()?;
        let txn = tables.read_txn()?;
        let mut found = Vec::new();
        for log in tables.unsettled(&txn)? {
            match tables.entry(&txn, log) {
                Err(fault) if fault.is_damage() => tracing::error!(%fault, "a log is set aside"),
                entry => found.extend(entry?),
            }
        }
        Ok(found)
    }

    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        self.shared.put_marks_back(marks);
    }

    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>> {
        self.ask(move |waiter| Job::GiveUp(log, up_to, at, waiter))
    }

    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>> {
        let session = session.clone();
        self.ask(|waiter| Job::Discard(session, waiter))
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.ask(move |waiter| Job::Sweep(before, waiter))
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.shared.is_closed.store(true, Ordering::Relaxed);
        self.ask(Job::Close)
    }
}

impl Shared {
    /// The tables, unless the journal is closed.
    fn tables(&self) -> Result<&Tables, Broken> {
        if self.is_closed.load(Ordering::Relaxed) {
            return Err(Broken::Io("the journal is closed".to_owned()));
        }
        Ok(&self.tables)
    }

    fn count_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
    }

    fn take_marks(&self) -> Marks {
        std::mem::take(&mut self.marks())
    }

    /// Adds marks to those that wait; the furthest of a log counts.
    fn put_marks_back(&self, marks: impl IntoIterator<Item = (LogNo, Seq)>) {
        let mut waiting = self.marks();
        for (log, mark) in marks {
            let furthest = waiting.entry(log).or_default();
            *furthest = mark.max(*furthest);
        }
    }

    fn marks(&self) -> MutexGuard<'_, Marks> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rows that nobody removed are not there.
fn gap(place: RowKey) -> Broken {
    Broken::Damaged(format!(
        "{place}: the rows before it or from it on are missing"
    ))
}
