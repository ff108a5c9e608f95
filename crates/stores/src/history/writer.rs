//! The one writer: transactions, durability, checkpoints.
//!
//! A commit goes to the WAL without fsync (`synchronous = NORMAL`). [`Writer::sync`] makes all of
//! them durable at once: it commits one small change under `synchronous = FULL`, for which `SQLite`
//! syncs the whole WAL file, so every frame before that change is on the disk too. What has left
//! the WAL by then is as safe: a checkpoint syncs the WAL before it copies pages into the database,
//! and the database before the WAL may be rewritten.
//!
//! `SQLite`'s automatic checkpoints are off, because they swallow their errors, a failed fsync too.
//! The writer folds the WAL into the database itself after [`CHANGES_IN_WAL`] changes, and once
//! more on closing.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::{Connection, Params, params};
use samovar_core::history::Projection;
use samovar_core::{Broken, RowChange, SessionId, Usage};

use super::failure::Failure;
use super::{agents, audit_head, blobs, file, index, ledger, spent, sql};
use crate::audit::Heads;
use crate::disk::Disk;
use crate::generation::Generation;

/// After so many changes the WAL is folded: it stays at some ten megabytes.
const CHANGES_IN_WAL: usize = 1000;

/// There is one generation, so its row is always the first.
const STAMP: &str = "INSERT OR REPLACE INTO generation (rowid, id, checksum) VALUES (1, ?1, ?2)";

/// The connection that writes. It blocks.
pub(super) struct Writer {
    path: PathBuf,
    disk: Disk,
    /// Stored with what the audit has recorded of it.
    heads: Heads,
    /// None after a failure, until the next write.
    pub(super) connection: Option<Connection>,
    unfolded: usize,
    unsynced: bool,
    /// How often the index of the search was replaced.
    mended: usize,
    /// Set once the index was found whole although something was damaged.
    pub(super) is_index_whole: Arc<AtomicBool>,
    /// Why nothing is written any more.
    ended: Option<Broken>,
}

impl Writer {
    /// Opens the file, with its tables up to date.
    pub(super) fn open(path: PathBuf, disk: Disk, heads: Heads) -> Result<Self, Broken> {
        let connection = file::migrate(&path)?;
        sql::execute(&connection, blobs::INDEX, [])?;
        if let Some(stored) = audit_head::find(&connection)? {
            heads.begin(stored);
        }
        Ok(Self {
            path,
            disk,
            heads,
            connection: Some(connection),
            unfolded: 0,
            // What an earlier process left may have been written and never synced.
            unsynced: true,
            mended: 0,
            is_index_whole: Arc::default(),
            ended: None,
        })
    }

    /// Writes projections in one transaction, not synced.
    pub(super) fn project(&mut self, projections: &[Projection]) -> Result<(), Broken> {
        let mended = self.mended;
        match self.project_once(projections) {
            Err(_) if self.mended > mended => self.project_once(projections),
            done => done,
        }
    }

    fn project_once(&mut self, projections: &[Projection]) -> Result<(), Broken> {
        // The journal keeps it until there is room.
        self.disk.check()?;
        let changes = projections.iter();
        let changes = changes.map(|projection| projection.changes.len()).sum();
        self.work(|writer, connection| {
            writer.unsynced = true;
            ledger::write(connection, projections, &writer.heads)?;
            writer.fold_after(changes, connection)
        })
    }

    /// Makes some of the backlog searchable, not synced; whether there may be more.
    pub(super) fn index(&mut self) -> Result<bool, Broken> {
        self.disk.check()?;
        self.work(|writer, connection| {
            let count = index::fill(connection)?;
            writer.unsynced |= count > 0;
            writer.fold_after(count, connection)?;
            Ok(count > 0)
        })
    }

    /// Puts an empty index of the search in place if a write failed because that is damaged. The rows have
    /// everything.
    fn mend_index(&mut self, failure: &Failure) -> Result<(), Broken> {
        if !failure.is_of_index() {
            if !failure.is_somewhere() || self.is_index_whole.load(Ordering::Relaxed) {
                return Ok(());
            }
            let connection = self.take()?;
            if index::is_whole(&connection) {
                self.is_index_whole.store(true, Ordering::Relaxed);
                self.connection = Some(connection);
                return Ok(());
            }
        }
        self.remake_index()
    }

    /// Puts an empty index of the search in place of a damaged one.
    pub(super) fn remake_index(&mut self) -> Result<(), Broken> {
        let mut connection = self.take()?;
        tracing::error!("the index of the search is damaged; the next start fills it again");
        self.unsynced = true;
        index::remake(&mut connection)?;
        self.mended += 1;
        self.connection = Some(connection);
        Ok(())
    }

    /// Folds the WAL once enough was written since.
    fn fold_after(&mut self, changes: usize, connection: &Connection) -> Result<(), Failure> {
        self.unfolded += changes;
        if self.unfolded < CHANGES_IN_WAL {
            return Ok(());
        }
        self.unfolded = 0;
        fold(connection)
    }

    /// Removes a session without a look at its rows, durably.
    pub(super) fn discard(&mut self, session: &SessionId) -> Result<(), Broken> {
        let (mended, id) = (self.mended, [session.as_str()]);
        match self.change(ledger::CLOSE_SESSION, id) {
            Err(_) if self.mended > mended => self.change(ledger::CLOSE_SESSION, id),
            done => done,
        }
    }

    /// Changes a definition of an agent, durably.
    pub(super) fn change_agent(
        &mut self,
        change: &agents::Change<'_>,
    ) -> Result<RowChange, Broken> {
        self.disk.check()?;
        let changed = self.work(|writer, connection| {
            writer.unsynced = true;
            agents::write(connection, change)
        })?;
        self.sync()?;
        Ok(changed)
    }

    /// Adds what sessions in memory have used, durably.
    pub(super) fn spend(&mut self, usage: Usage) -> Result<(), Broken> {
        self.disk.check()?;
        self.change(spent::SPEND, spent::values(usage))
    }

    /// Writes the generation, durably.
    pub(super) fn stamp(&mut self, generation: &Generation) -> Result<(), Broken> {
        let checksum = crc32fast::hash(generation.0.as_bytes());
        self.change(STAMP, params![generation.0, checksum])
    }

    fn change(&mut self, statement: &str, values: impl Params) -> Result<(), Broken> {
        self.work(|writer, connection| {
            writer.unsynced = true;
            sql::execute(connection, statement, values)
        })?;
        self.sync()
    }

    /// Makes all that was projected durable.
    pub(super) fn sync(&mut self) -> Result<(), Broken> {
        self.disk.look_at_files()?;
        self.work(|writer, connection| {
            if writer.unsynced || writer.heads.due().is_some() {
                commit_synced(connection, &writer.heads)?;
            }
            writer.unsynced = false;
            Ok(())
        })
    }

    /// Folds the whole WAL into the database and closes; later calls fail.
    pub(super) fn close(&mut self) -> Result<(), Broken> {
        let connection = self.take()?;
        self.ended = Some(Broken::Io("history: it is closed".to_owned()));
        let folded = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        let closed = connection.close();
        folded.map_err(Failure::from)?;
        Ok(closed.map_err(|(_, error)| Failure::from(error))?)
    }

    fn take(&mut self) -> Result<Connection, Broken> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Ok(file::writer(&self.path)?),
        }
    }

    /// Does one piece of work. A connection that failed is closed, because `SQLite` may have rolled back
    /// what the connection believes to be open.
    pub(super) fn work<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &mut Connection) -> Result<T, Failure>,
    ) -> Result<T, Broken> {
        let mut connection = self.take()?;
        let failure = match work(self, &mut connection) {
            Ok(done) => {
                self.connection = Some(connection);
                return Ok(done);
            }
            Err(failure) => failure,
        };
        if let Err((_, error)) = connection.close() {
            tracing::debug!(%error, "the history's connection did not close well");
        }
        self.mend_index(&failure)?;
        let is_lost_sync = failure.is_lost_sync();
        let broken = Broken::from(failure);
        if is_lost_sync {
            tracing::error!(%broken, "the history takes nothing more until the next start");
            self.ended = Some(broken.clone());
            self.disk.fail(&broken);
        }
        Err(broken)
    }
}

/// Commits one change with an fsync of the WAL.
fn commit_synced(connection: &mut Connection, heads: &Heads) -> Result<(), Failure> {
    // This pragma works while it is compiled, so it must not come out of the statement cache.
    connection.execute_batch("PRAGMA synchronous = FULL")?;
    let change = file::begin(connection)?;
    sql::execute(&change, "UPDATE syncs SET count = count + 1", [])?;
    let head = audit_head::store_due(&change, heads)?;
    samovar_core::failpoint!("history.sync.before");
    change.commit()?;
    heads.are_stored(head);
    samovar_core::failpoint!("history.sync.after");
    connection.execute_batch("PRAGMA synchronous = NORMAL")?;
    Ok(())
}

/// Copies what is in the WAL into the database, as far as no reader still needs it. What cannot be
/// copied now stays in the WAL, where it is as good; only a lost sync counts as a failure.
fn fold(connection: &Connection) -> Result<(), Failure> {
    let folded = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
    match folded.map_err(Failure::from) {
        Err(failure) if failure.is_lost_sync() => Err(failure),
        Err(failure) => {
            tracing::warn!(?failure, "the history's WAL could not be folded");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
