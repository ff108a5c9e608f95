//! The stores of an opened data directory, and what is known of their disk.

mod aside;
mod opener;
pub(crate) mod run;
mod walker;

use std::path::Path;
use std::sync::Arc;

use samovar_core::{Broken, Code, Error, History, Journal};
use samovar_locale as locale;
use samovar_stores::disk::Disk;
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use samovar_wire::api::StoreInfo;

use crate::home::OpenError;

pub(crate) use aside::{HISTORY, JOURNAL, make_folder, move_all, sync_dir};
pub(crate) use opener::Opener;
pub use walker::{Walker, walk};

/// The stores, opened.
#[derive(Clone)]
pub(crate) struct Stores {
    pub(crate) disk: Disk,
    pub(crate) journal: Arc<LmdbJournal>,
    pub(crate) history: Arc<SqliteHistory>,
}

impl Stores {
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

/// Work that waits for the disk, on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Broken> + Send + 'static,
) -> Result<T, Broken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Broken::Io(error.to_string())))
}
