//! The one door to the stores: [`open`] gives the journal and the history of a data directory, and
//! what is known of both: the room on their disk, how their last run ended, backups.

mod opener;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::{Broken, History, Journal};
use samovar_locale as locale;

use crate::backup::Backups;
use crate::damage::Reports;
use crate::data_dir::DataDir;
use crate::disk::Disk;
use crate::journal::{Durability, Fill, LmdbJournal};
use crate::run::RunFile;
use crate::walker::Walker;

use opener::Opener;

/// What the stores are opened with.
pub struct Options {
    /// The data directory, which the caller holds.
    pub dir: DataDir,
    /// What a commit survives.
    pub durability: Durability,
    /// The program that reads a journal first when the last start died.
    pub walker: Option<Walker>,
    /// Where damage is reported.
    pub reports: Arc<Reports>,
}

/// The stores, opened.
pub struct Stores {
    /// The hot store.
    pub journal: Arc<dyn Journal>,
    /// The cold store.
    pub history: Arc<dyn History>,
    /// The disk that both are on.
    pub disk: Disk,
    /// Makes backups of both.
    pub backups: Arc<Backups>,
    lmdb: Arc<LmdbJournal>,
    reports: Arc<Reports>,
    run: Mutex<RunFile>,
}

/// Why the stores cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A restore that was cut off cannot be finished.
    #[error("{}", locale::backup::unfinished(locale::quoted(.dir), .source))]
    Restore {
        /// The data directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The journal cannot be opened.
    #[error("{}", locale::store::journal_unusable(locale::quoted(.dir), .source))]
    Journal {
        /// The data directory.
        dir: PathBuf,
        /// What it said.
        source: Broken,
    },
    /// The history cannot be opened.
    #[error("{}", locale::store::history_unusable(locale::quoted(.dir), .source))]
    History {
        /// The data directory.
        dir: PathBuf,
        /// What it said.
        source: Broken,
    },
}

/// Opens the stores; what is damaged is set aside, and an empty store replaces it.
///
/// # Errors
/// [`OpenError`]; nothing is left open then.
pub async fn open(options: Options) -> Result<Stores, OpenError> {
    let run = RunFile::begin(&options.dir);
    let opener = Opener {
        options: &options,
        run: &run,
    };
    let (disk, lmdb, history) = opener.open().await?;
    Ok(Stores {
        journal: lmdb.clone(),
        history: history.clone(),
        disk,
        backups: Arc::new(Backups::new(options.dir, lmdb.clone(), history)),
        lmdb,
        reports: options.reports,
        run: Mutex::new(run),
    })
}

impl Stores {
    /// Closes them because another part cannot be opened.
    pub async fn close(&self) {
        told(self.history.close().await);
        told(self.journal.close().await);
    }

    /// How full the journal is.
    ///
    /// # Errors
    /// [`Broken`].
    pub fn fill(&self) -> Result<Fill, Broken> {
        self.lmdb.fill()
    }

    /// Synced commits of the journal so far (DU-4).
    pub fn commits(&self) -> u64 {
        self.lmdb.commits()
    }

    /// Notes that they serve.
    pub fn ready(&self) {
        self.run().ready(self.journal.epoch().0);
    }

    /// Notes that everything is about to be written out: from here on a store that was closed lacks
    /// nothing.
    pub fn closing(&self) {
        self.run().closing(self.reports.is_history_suspicious());
    }

    /// Notes that everything is written out.
    pub fn closed(&self) {
        self.run().closed(self.reports.is_history_suspicious());
    }

    fn run(&self) -> MutexGuard<'_, RunFile> {
        self.run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn told(closed: Result<(), Broken>) {
    if let Err(broken) = closed {
        tracing::warn!(%broken, "a store did not close cleanly");
    }
}

/// Work that waits for the disk, on a thread that may.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Broken> + Send + 'static,
) -> Result<T, Broken> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Broken::Io(error.to_string())))
}
