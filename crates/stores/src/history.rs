//! The cold store on `SQLite`: what was said, for reading (DU-1, DU-15).
//!
//! One connection writes, a few read, each piece of work on a thread that may block, so that nothing here
//! blocks the runtime. The file is in WAL mode: readers never wait for the writer.
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
mod readers;
mod row;
mod search;
mod session;
mod spent;
mod sql;
mod tree;
mod turns;
mod whole;
mod writer;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use samovar_core::history::{
    Exchange, ExchangeId, ExchangeQuery, Hits, LastTurn, MessageQuery, MessageRow, Projection,
    SearchQuery, SessionQuery, SessionRow, Totals, TurnQuery, TurnRow,
};
use samovar_core::{
    BlobHash, Broken, Damages, Future, History, MessageId, Seq, SessionId, TurnId, Usage,
};
use tokio::sync::Mutex;

pub use self::deep::{HistoryReport, read_history};
use self::failure::Failure;
use self::readers::Readers;
use self::writer::Writer;
use crate::audit::Heads;
use crate::disk::Disk;

/// The history in one `SQLite` file.
pub struct SqliteHistory {
    writer: Arc<Mutex<Writer>>,
    readers: Readers,
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
        let made = file::make(path)?;
        let (file, disk_too) = (made.clone(), disk.clone());
        let open = tokio::task::spawn_blocking(move || Writer::open(file, disk_too, heads));
        let writer = open
            .await
            .map_err(|error| Broken::Io(error.to_string()))??;
        disk.watch(path);
        Ok(Self {
            is_index_whole: writer.is_index_whole.clone(),
            writer: Arc::new(Mutex::new(writer)),
            readers: Readers::new(made),
            damages,
        })
    }

    /// Reads as of one moment.
    fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Future<'_, Result<T, Broken>> {
        Box::pin(async move { Ok(self.readers.read(read).await?) })
    }

    /// Has the writer do something; it ends what it began although the caller goes away.
    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&mut Writer) -> Result<T, Broken> + Send + 'static,
    ) -> Result<T, Broken> {
        let mut writer = self.writer.clone().lock_owned().await;
        let done = tokio::task::spawn_blocking(move || write(&mut writer)).await;
        done.unwrap_or_else(|error| Err(Broken::Io(format!("history: {error}"))))
    }

    /// Puts an empty index of the search in place if a search failed because that is damaged; whether it
    /// did. A doubt is settled once per start, and the writer does not wait for that.
    async fn mends(&self, failure: &Failure) -> Result<bool, Broken> {
        if !failure.is_of_index() {
            if !failure.is_somewhere() || self.is_index_whole.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let is_whole = self.readers.with(|reader| Ok(index::is_whole(reader)));
            if is_whole.await? {
                self.is_index_whole.store(true, Ordering::Relaxed);
                return Ok(false);
            }
        }
        self.write(Writer::remake_index).await?;
        Ok(true)
    }
}

impl History for SqliteHistory {
    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        Box::pin(self.write(move |writer| writer.project(&projections)))
    }

    fn sync(&self) -> Future<'_, Result<(), Broken>> {
        Box::pin(self.write(Writer::sync))
    }

    fn session<'a>(&'a self, id: &'a SessionId) -> Future<'a, Result<Option<SessionRow>, Broken>> {
        let id = id.clone();
        self.read(move |moment| reader::session(moment, &id))
    }

    fn sessions(&self, query: SessionQuery) -> Future<'_, Result<(Vec<SessionRow>, u64), Broken>> {
        let damages = self.damages.clone();
        self.read(move |moment| reader::sessions(moment, &query, &*damages))
    }

    /// Messages of a session. None when `before` names no message of it.
    fn messages(&self, query: MessageQuery) -> Future<'_, Result<Vec<MessageRow>, Broken>> {
        self.read(move |moment| reader::messages(moment, &query))
    }

    fn place<'a>(
        &'a self,
        session: &'a SessionId,
        message: &'a MessageId,
    ) -> Future<'a, Result<u64, Broken>> {
        let (session, message) = (session.clone(), message.clone());
        self.read(move |moment| reader::count_before(moment, &session, &message))
    }

    fn message<'a>(&'a self, id: &'a MessageId) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        let id = id.clone();
        self.read(move |moment| reader::message(moment, &id))
    }

    fn answer_of<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<MessageRow>, Broken>> {
        let (session, turn) = (session.clone(), turn.clone());
        self.read(move |moment| reader::answer_of(moment, &session, &turn))
    }

    fn turn_from<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<Option<Seq>, Broken>> {
        let (session, turn) = (session.clone(), turn.clone());
        self.read(move |moment| reader::turn_from(moment, &session, &turn))
    }

    fn last_turn<'a>(
        &'a self,
        session: &'a SessionId,
        before: Option<&'a TurnId>,
    ) -> Future<'a, Result<Option<LastTurn>, Broken>> {
        let (session, before) = (session.clone(), before.cloned());
        self.read(move |moment| reader::last_turn(moment, &session, before.as_ref()))
    }

    fn turns(&self, query: TurnQuery) -> Future<'_, Result<Vec<TurnRow>, Broken>> {
        self.read(move |moment| tree::turns(moment, &query))
    }

    fn is_over<'a>(
        &'a self,
        session: &'a SessionId,
        turn: &'a TurnId,
    ) -> Future<'a, Result<bool, Broken>> {
        let (session, turn) = (session.clone(), turn.clone());
        self.read(move |moment| reader::is_over(moment, &session, &turn))
    }

    fn search(&self, query: SearchQuery) -> Future<'_, Result<Hits, Broken>> {
        let damages = self.damages.clone();
        Box::pin(async move {
            let search = move |moment: &Connection| search::search(moment, &query, &*damages);
            match self.readers.read(search).await {
                Err(failure) if self.mends(&failure).await? => Ok(Hits::default()),
                found => Ok(found?),
            }
        })
    }

    fn exchange_ids(&self, most: u32) -> Future<'_, Result<Vec<ExchangeId>, Broken>> {
        self.read(move |moment| exchanges::exchange_ids(moment, most))
    }

    fn exchanges(&self, query: ExchangeQuery) -> Future<'_, Result<Vec<Exchange>, Broken>> {
        let damages = self.damages.clone();
        Box::pin(async move {
            let find = move |moment: &Connection| exchanges::exchanges(moment, &query, &*damages);
            match self.readers.read(find).await {
                Err(failure) if self.mends(&failure).await? => Ok(Vec::new()),
                found => Ok(found?),
            }
        })
    }

    fn index(&self) -> Future<'_, Result<bool, Broken>> {
        Box::pin(self.write(Writer::index))
    }

    fn discard<'a>(&'a self, session: &'a SessionId) -> Future<'a, Result<(), Broken>> {
        let session = session.clone();
        Box::pin(self.write(move |writer| writer.discard(&session)))
    }

    fn totals(&self) -> Future<'_, Result<Totals, Broken>> {
        let damages = self.damages.clone();
        self.read(move |moment| reader::totals(moment, &*damages))
    }

    fn blobs(&self) -> Future<'_, Result<BTreeSet<BlobHash>, Broken>> {
        self.read(blobs::named)
    }

    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        Box::pin(self.write(move |writer| writer.spend(usage)))
    }

    fn close(&self) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            // The readers go first: the last connection to leave also removes the WAL.
            self.readers.close().await;
            self.write(Writer::close).await
        })
    }
}

#[cfg(test)]
mod tests;
