//! The cold store on `SQLite`: what was said, for reading (DU-1, DU-15).
//!
//! One connection writes, a small pool reads; every connection has a thread of its own, so nothing
//! here blocks the runtime. The file is in WAL mode: readers never wait for the writer.
//!
//! Start with `ledger`: how changes become rows. The tables are in `migrations/`.

mod agents;
mod audit_head;
mod blobs;
mod checksum;
mod deep;
mod exchanges;
mod failure;
mod file;
mod index;
mod ledger;
mod reader;
mod row;
mod search;
mod session;
mod spent;
mod tree;
mod turns;
mod whole;
mod writer;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use samovar_core::history::{
    Exchange, ExchangeId, ExchangeQuery, Hits, LastTurn, MessageQuery, MessageRow, Projection,
    SearchQuery, SessionQuery, SessionRow, Totals, TurnQuery, TurnRow,
};
use samovar_core::{
    BlobHash, Broken, Damages, Future, History, MessageId, Seq, SessionId, TurnId, Usage,
};
use sqlx::SqlitePool;
use tokio::sync::Mutex;

pub use self::deep::{HistoryReport, read_history};
use self::failure::Failure;
use self::writer::Writer;
use crate::audit::Heads;
use crate::disk::Disk;

/// The history in one `SQLite` file.
pub struct SqliteHistory {
    writer: Mutex<Writer>,
    readers: SqlitePool,
    /// Set once the index of the search was found whole although something was damaged.
    is_index_whole: Arc<AtomicBool>,
    /// Where damage is reported that a list leaves out.
    damages: Arc<dyn Damages>,
}

impl SqliteHistory {
    /// Opens the file, makes it when there is none (mode 0600), and brings its tables up to date in
    /// transactions. Nothing is written to a file that is not a history.
    ///
    /// # Errors
    /// [`Broken::Damaged`] for a file that is not a database or is cut short; [`Broken::Full`] and
    /// [`Broken::Io`] when it cannot be made or opened, or is not of this program's format.
    pub async fn open(path: impl AsRef<Path>) -> Result<Self, Broken> {
        let path = path.as_ref();
        let disk = Disk::with_ballast(path.parent().unwrap_or(path), 0);
        Self::open_on(&disk, path, Arc::new(())).await
    }

    /// The same for a file on a disk that other stores share: nothing is brought in while it is full.
    ///
    /// # Errors
    /// As [`SqliteHistory::open`].
    pub async fn open_on(
        disk: &Disk,
        path: &Path,
        damages: Arc<dyn Damages>,
    ) -> Result<Self, Broken> {
        Self::open_for(disk, path, damages, Heads::default()).await
    }

    /// The same, with the heads of the audit's chain that its positions are stored with.
    pub(crate) async fn open_for(
        disk: &Disk,
        path: &Path,
        damages: Arc<dyn Damages>,
        heads: Heads,
    ) -> Result<Self, Broken> {
        let file = file::Options::new(path)?;
        let writer = Writer::open(file.writer(), disk.clone(), heads).await?;
        disk.watch(path);
        Ok(Self {
            is_index_whole: writer.is_index_whole.clone(),
            writer: Mutex::new(writer),
            readers: file.readers(),
            damages,
        })
    }

    /// Puts an empty index of the search in place if a search failed because that is damaged; whether it
    /// did. A doubt is settled once per start, and the writer does not wait for that.
    async fn mends(&self, failure: &Failure) -> Result<bool, Broken> {
        if !failure.is_of_index() {
            if !failure.is_somewhere() || self.is_index_whole.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let mut reader = self.readers.acquire().await.map_err(Failure::from)?;
            if index::is_whole(&mut reader).await {
                self.is_index_whole.store(true, Ordering::Relaxed);
                return Ok(false);
            }
        }
        self.writer.lock().await.remake_index().await?;
        Ok(true)
    }
}

impl History for SqliteHistory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move { self.writer.lock().await.project(&projections).await })
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move { self.writer.lock().await.sync().await })
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        Box::pin(async move { Ok(reader::session(&self.readers, id).await?) })
    }

    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        Box::pin(async move { Ok(reader::sessions(&self.readers, &query, &*self.damages).await?) })
    }

    /// Messages of a session. None when `before` names no message of it.
    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        Box::pin(async move { Ok(reader::messages(&self.readers, &query).await?) })
    }

    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        Box::pin(async move { Ok(reader::count_before(&self.readers, session, message).await?) })
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        Box::pin(async move { Ok(reader::message(&self.readers, id).await?) })
    }

    fn answer_of<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        Box::pin(async move { Ok(reader::answer_of(&self.readers, session, turn).await?) })
    }

    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        Box::pin(async move { Ok(reader::turn_from(&self.readers, session, turn).await?) })
    }

    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
        before: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        Box::pin(async move { Ok(reader::last_turn(&self.readers, session, before).await?) })
    }

    fn turns(&self, query: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>> {
        Box::pin(async move { Ok(tree::turns(&self.readers, &query).await?) })
    }

    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        Box::pin(async move { Ok(reader::is_over(&self.readers, session, turn).await?) })
    }

    fn search(&self, query: SearchQuery) -> Future<'_, Result<Hits, Broken>> {
        Box::pin(async move {
            match search::search(&self.readers, &query, &*self.damages).await {
                Err(failure) if self.mends(&failure).await? => Ok(Hits::default()),
                found => Ok(found?),
            }
        })
    }

    fn exchange_ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, Broken>> {
        Box::pin(async move { Ok(exchanges::exchange_ids(&self.readers, most).await?) })
    }

    fn exchanges(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, Broken>> {
        Box::pin(async move {
            match exchanges::exchanges(&self.readers, &query, &*self.damages).await {
                Err(failure) if self.mends(&failure).await? => Ok(Vec::new()),
                found => Ok(found?),
            }
        })
    }

    fn index(&self) -> Future<'_, Result<bool, Broken>> {
        Box::pin(async move { self.writer.lock().await.index().await })
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        Box::pin(async move { self.writer.lock().await.discard(session).await })
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        Box::pin(async move { Ok(reader::totals(&self.readers, &*self.damages).await?) })
    }

    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        Box::pin(async move { Ok(blobs::named(&self.readers).await?) })
    }

    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move { self.writer.lock().await.spend(usage).await })
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            // The readers go first: the last connection to leave also removes the WAL.
            self.readers.close().await;
            self.writer.lock().await.close().await
        })
    }
}

#[cfg(test)]
mod tests;
