//! The stores of an opened data directory, and what is known of their disk.

use std::path::Path;
use std::sync::Arc;

use samovar_core::{Broken, Clock, Code, Error, History, Journal};
use samovar_locale as locale;
use samovar_stores::disk::Disk;
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::{Durability, LmdbJournal, Settings};
use samovar_wire::api::StoreInfo;

use crate::clock::SystemClock;
use crate::home::OpenError;

/// The stores, opened.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) disk: Disk,
    pub(crate) journal: Arc<LmdbJournal>,
    pub(crate) history: Arc<SqliteHistory>,
}

impl Stores {
    /// Opens all of them, and makes again what an earlier process left.
    pub(crate) async fn open(dir: &Path, durability: Durability) -> Result<Self, OpenError> {
        let (disk, journal) = open_journal(dir, durability).await?;
        let history = SqliteHistory::open_on(&disk, &dir.join("history.db")).await;
        match history {
            Ok(history) => Ok(Self {
                disk,
                journal,
                history: Arc::new(history),
            }),
            Err(source) => {
                told(journal.close().await);
                let dir = dir.to_owned();
                Err(OpenError::History { dir, source })
            }
        }
    }

    /// Closes them because another part cannot be opened, which is what is told.
    pub(crate) async fn close(&self) {
        told(self.history.close().await);
        told(self.journal.close().await);
    }

    /// How much of them is taken.
    ///
    /// # Errors
    /// [`Code::Internal`] when the journal cannot be read.
    pub(crate) fn info(&self) -> Result<StoreInfo, Error> {
        let fill = self.journal.fill().map_err(|broken| {
            tracing::error!(%broken, "the journal cannot be read");
            Error::new(Code::Internal, locale::store::unreadable())
        })?;
        Ok(StoreInfo {
            is_full: self.disk.is_full(),
            free_bytes: self.disk.free_bytes(),
            journal_used_bytes: fill.used_bytes as u64,
            journal_map_bytes: fill.map_bytes as u64,
            journal_commits: self.journal.commits(),
        })
    }
}

async fn open_journal(
    dir: &Path,
    durability: Durability,
) -> Result<(Disk, Arc<LmdbJournal>), OpenError> {
    let now_seconds = u64::try_from(SystemClock.now().0 / 1000).unwrap_or(0);
    let place = dir.to_owned();
    let open = move || {
        let disk = Disk::open(&place);
        let settings = Settings {
            durability,
            ..Settings::default()
        };
        let (journal, recovered) = LmdbJournal::open_on(&disk, now_seconds, &settings)?;
        Ok((disk, journal, recovered))
    };
    let opened = tokio::task::spawn_blocking(open).await;
    let opened = opened
        .map_err(|error| Broken::Io(error.to_string()))
        .and_then(|opened| opened);
    let (disk, journal, recovered) = opened.map_err(|source| no_journal(dir, source))?;
    for hole in recovered.holes {
        tracing::warn!(
            ?hole,
            "events are missing from a log; they were never synced"
        );
    }
    Ok((disk, Arc::new(journal)))
}

fn told(closed: Result<(), Broken>) {
    if let Err(broken) = closed {
        tracing::warn!(%broken, "a store did not close cleanly");
    }
}

/// The journal cannot be opened.
pub(crate) fn no_journal(dir: &Path, source: Broken) -> OpenError {
    OpenError::Journal {
        dir: dir.to_owned(),
        source,
    }
}
