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

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use samovar_core::history::Projection;
use samovar_core::{Broken, RowChange, SessionId, Usage};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use super::failure::Failure;
use super::row::Statement;
use super::{agents, audit_head, blobs, file, index, ledger, spent};
use crate::audit::Heads;
use crate::disk::Disk;
use crate::generation::Generation;

/// After so many changes the WAL is folded: it stays at some ten megabytes.
const CHANGES_IN_WAL: usize = 1000;

/// There is one generation, so its row is always the first.
const STAMP: &str = "INSERT OR REPLACE INTO generation (rowid, id, checksum) VALUES (1, ?1, ?2)";

/// The connection that writes.
pub(super) struct Writer {
    options: SqliteConnectOptions,
    disk: Disk,
    /// Stored with what the audit has recorded of it.
    heads: Heads,
    /// None after a failure, until the next write.
    pub(super) connection: Option<SqliteConnection>,
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
    pub(super) async fn open(
        options: SqliteConnectOptions,
        disk: Disk,
        heads: Heads,
    ) -> Result<Self, Broken> {
        let mut connection = file::migrate(&options).await?;
        let indexed = sqlx::raw_sql(blobs::INDEX).execute(&mut connection).await;
        indexed.map_err(Failure::from)?;
        if let Some(stored) = audit_head::find(&mut connection).await? {
            heads.begin(stored);
        }
        Ok(Self {
            options,
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
    pub(super) async fn project(&mut self, projections: &[Projection]) -> Result<(), Broken> {
        let mended = self.mended;
        match self.project_once(projections).await {
            Err(_) if self.mended > mended => self.project_once(projections).await,
            done => done,
        }
    }

    async fn project_once(&mut self, projections: &[Projection]) -> Result<(), Broken> {
        // The journal keeps it until there is room.
        self.disk.check()?;
        let mut connection = self.take().await?;
        self.unsynced = true;
        let mut written = ledger::write(&mut connection, projections, &self.heads).await;
        let changes = projections
            .iter()
            .map(|projection| projection.changes.len());
        let changes = changes.sum();
        if written.is_ok() {
            written = self.fold_after(changes, &mut connection).await;
        }
        self.give_back(connection, written).await
    }

    /// Makes some of the backlog searchable, not synced; whether there may be more.
    pub(super) async fn index(&mut self) -> Result<bool, Broken> {
        self.disk.check()?;
        let mut connection = self.take().await?;
        let (count, written) = match index::fill(&mut connection).await {
            Ok(count) => (count, self.fold_after(count, &mut connection).await),
            Err(failure) => (0, Err(failure)),
        };
        self.unsynced |= count > 0;
        self.give_back(connection, written).await?;
        Ok(count > 0)
    }

    /// Puts an empty index of the search in place if a write failed because that is damaged. The rows have
    /// everything.
    async fn mend_index(&mut self, failure: &Failure) -> Result<(), Broken> {
        if !failure.is_of_index() {
            if !failure.is_somewhere() || self.is_index_whole.load(Ordering::Relaxed) {
                return Ok(());
            }
            let mut connection = self.take().await?;
            if index::is_whole(&mut connection).await {
                self.is_index_whole.store(true, Ordering::Relaxed);
                self.connection = Some(connection);
                return Ok(());
            }
        }
        self.remake_index().await
    }

    /// Puts an empty index of the search in place of a damaged one.
    pub(super) async fn remake_index(&mut self) -> Result<(), Broken> {
        let mut connection = self.take().await?;
        tracing::error!("the index of the search is damaged; the next start fills it again");
        self.unsynced = true;
        index::remake(&mut connection).await?;
        self.mended += 1;
        self.connection = Some(connection);
        Ok(())
    }

    /// Folds the WAL once enough was written since.
    async fn fold_after(
        &mut self,
        changes: usize,
        connection: &mut SqliteConnection,
    ) -> Result<(), Failure> {
        self.unfolded += changes;
        if self.unfolded < CHANGES_IN_WAL {
            return Ok(());
        }
        self.unfolded = 0;
        fold(connection).await
    }

    /// Removes a session without a look at its rows, durably.
    pub(super) async fn discard(&mut self, session: &SessionId) -> Result<(), Broken> {
        let close = || sqlx::query(ledger::CLOSE_SESSION).bind(session.as_str());
        let mended = self.mended;
        match self.change(close()).await {
            Err(_) if self.mended > mended => self.change(close()).await,
            done => done,
        }
    }

    /// Changes a definition of an agent, durably.
    pub(super) async fn change_agent(
        &mut self,
        change: &agents::Change<'_>,
    ) -> Result<RowChange, Broken> {
        self.disk.check()?;
        let mut connection = self.take().await?;
        self.unsynced = true;
        let (changed, written) = match agents::write(&mut connection, change).await {
            Ok(changed) => (changed, Ok(())),
            Err(failure) => (RowChange::Stale(None), Err(failure)),
        };
        self.give_back(connection, written).await?;
        self.sync().await?;
        Ok(changed)
    }

    /// Adds what sessions in memory have used, durably.
    pub(super) async fn spend(&mut self, usage: Usage) -> Result<(), Broken> {
        self.disk.check()?;
        self.change(spent::add(usage)).await
    }

    /// Writes the generation, durably.
    pub(super) async fn stamp(&mut self, generation: &Generation) -> Result<(), Broken> {
        let checksum = crc32fast::hash(generation.0.as_bytes());
        let stamp = sqlx::query(STAMP).bind(&generation.0);
        self.change(stamp.bind(i64::from(checksum))).await
    }

    async fn change(&mut self, statement: Statement<'_>) -> Result<(), Broken> {
        let mut connection = self.take().await?;
        self.unsynced = true;
        let changed = statement.execute(&mut connection).await;
        let changed = changed.map(drop).map_err(Failure::from);
        self.give_back(connection, changed).await?;
        self.sync().await
    }

    /// Makes all that was projected durable.
    pub(super) async fn sync(&mut self) -> Result<(), Broken> {
        self.disk.look_at_files()?;
        let mut connection = self.take().await?;
        let synced = if self.unsynced || self.heads.due().is_some() {
            commit_synced(&mut connection, &self.heads).await
        } else {
            Ok(())
        };
        self.unsynced &= synced.is_err();
        self.give_back(connection, synced).await
    }

    /// Folds the whole WAL into the database and closes; later calls fail.
    pub(super) async fn close(&mut self) -> Result<(), Broken> {
        let mut connection = self.take().await?;
        self.ended = Some(Broken::Io("history: it is closed".to_owned()));
        let folded = sqlx::raw_sql("PRAGMA wal_checkpoint(TRUNCATE)");
        let folded = folded.execute(&mut connection).await;
        let closed = connection.close().await;
        folded.map_err(Failure::from)?;
        Ok(closed.map_err(Failure::from)?)
    }

    /// Takes the connection for one piece of work. It is given back only when that went well: a
    /// caller that is dropped halfway drops the connection, and with it the open transaction.
    pub(super) async fn take(&mut self) -> Result<SqliteConnection, Broken> {
        if let Some(ended) = &self.ended {
            return Err(ended.clone());
        }
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => Ok(self.options.connect().await.map_err(Failure::from)?),
        }
    }

    /// Ends a piece of work. A connection that failed is closed, because `SQLite` may have rolled
    /// back what the connection believes to be open.
    pub(super) async fn give_back(
        &mut self,
        connection: SqliteConnection,
        work: Result<(), Failure>,
    ) -> Result<(), Broken> {
        let Err(failure) = work else {
            self.connection = Some(connection);
            return Ok(());
        };
        if let Err(error) = connection.close().await {
            tracing::debug!(%error, "the history's connection did not close well");
        }
        self.mend_index(&failure).await?;
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
async fn commit_synced(connection: &mut SqliteConnection, heads: &Heads) -> Result<(), Failure> {
    // This pragma works while it is compiled, so it must not come out of the statement cache.
    let full = sqlx::raw_sql("PRAGMA synchronous = FULL");
    full.execute(&mut *connection).await?;
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
    let change = sqlx::query("UPDATE syncs SET count = count + 1");
    change.execute(&mut *transaction).await?;
    let head = audit_head::store_due(&mut transaction, heads).await?;
    samovar_core::failpoint!("history.sync.before");
    transaction.commit().await?;
    heads.are_stored(head);
    samovar_core::failpoint!("history.sync.after");
    let normal = sqlx::raw_sql("PRAGMA synchronous = NORMAL");
    normal.execute(&mut *connection).await?;
    Ok(())
}

/// Copies what is in the WAL into the database, as far as no reader still needs it. What cannot be
/// copied now stays in the WAL, where it is as good; only a lost sync counts as a failure.
async fn fold(connection: &mut SqliteConnection) -> Result<(), Failure> {
    let passive = sqlx::raw_sql("PRAGMA wal_checkpoint(PASSIVE)");
    match passive.execute(connection).await.map_err(Failure::from) {
        Err(failure) if failure.is_lost_sync() => Err(failure),
        Err(failure) => {
            tracing::warn!(?failure, "the history's WAL could not be folded");
            Ok(())
        }
        Ok(_) => Ok(()),
    }
}
