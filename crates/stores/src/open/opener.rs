//! Opens the stores so that a damaged one costs what is in it and nothing else (DU-13).
//!
//! The journal's pages are looked at before anything reads them; when the last start died, a process
//! of its own reads all of it first, which may die of that. What cannot be used is moved to the folder
//! `damaged`, a report is written, and an empty store takes its place: the history still serves what
//! was said, or is made again of what the journal still has.

use std::sync::Arc;

use samovar_core::{Broken, Damages, Journal};

use crate::damage::Part;
use crate::data_dir::{HISTORY, JOURNAL, free_folder, move_all};
use crate::disk::Disk;
use crate::history::SqliteHistory;
use crate::journal::{LmdbJournal, Settings, Wound};
use crate::open::{OpenError, Options, blocking, told};
use crate::run::{RunFile, RunState};

/// Bytes of a journal whose pages are looked at at every start; the pages of a larger one only after
/// a start that died, for a start must not take longer the more is kept.
const LOOKED_AT_BYTES: u64 = 32 << 20;

/// What is opened, and how the last run ended.
pub(crate) struct Opener<'a> {
    pub(crate) options: &'a Options,
    pub(crate) run: &'a RunFile,
}

impl Opener<'_> {
    /// Opens both stores, in whose places new ones stand when they are damaged.
    ///
    /// # Errors
    /// [`OpenError`]; nothing is left open then.
    pub(crate) async fn open(
        &self,
    ) -> Result<(Disk, Arc<LmdbJournal>, Arc<SqliteHistory>), OpenError> {
        let dir = || self.options.dir.path.clone();
        let opened = self.open_journal().await;
        let (disk, journal) = opened.map_err(|source| OpenError::Journal { dir: dir(), source })?;
        match self.open_history(&disk, &journal).await {
            Ok(history) => Ok((disk, journal, history)),
            Err(source) => {
                told(journal.close().await);
                Err(OpenError::History { dir: dir(), source })
            }
        }
    }

    async fn open_journal(&self) -> Result<(Disk, Arc<LmdbJournal>), Broken> {
        let opened = match self.look().await {
            Ok(()) => self.try_journal().await,
            Err(broken) => Err(broken),
        };
        match opened {
            Err(Broken::Damaged(why)) => {
                self.set_aside(Part::Journal, &JOURNAL, &why)?;
                self.try_journal().await
            }
            opened => opened,
        }
    }

    /// Looks at the journal before it is opened.
    async fn look(&self) -> Result<(), Broken> {
        let dir = self.options.dir.path.clone();
        let is_suspicious = self.run.is_suspicious();
        let most = if is_suspicious {
            u64::MAX
        } else {
            LOOKED_AT_BYTES
        };
        blocking(move || LmdbJournal::check(&dir, most)).await?;
        match &self.options.walker {
            Some(walker) if is_suspicious => walker.walk(&self.options.dir.path).await,
            Some(_) | None => Ok(()),
        }
    }

    async fn try_journal(&self) -> Result<(Disk, Arc<LmdbJournal>), Broken> {
        let now = self.options.dir.clock.now();
        let now = u64::try_from(now.0 / 1000).unwrap_or(0);
        // No epoch is begun twice, also not by a journal that knows of none.
        let floor = now.max(self.run.last.epoch.saturating_add(1));
        let dir = self.options.dir.path.clone();
        let settings = Settings {
            durability: self.options.durability,
            ..Settings::default()
        };
        let open = move || {
            let disk = Disk::open(&dir);
            let (journal, recovered) = LmdbJournal::open_on(&disk, floor, &settings)?;
            Ok((disk, journal, recovered))
        };
        let (disk, journal, recovered) = blocking(open).await?;
        if recovered.was_wiped {
            let why = "the system stopped while the journal was not synced, so it was wiped";
            self.options.reports.happened(Part::Journal, why, None);
        }
        for hole in recovered.holes {
            tracing::warn!(
                ?hole,
                "events are missing from a log; they were never synced"
            );
        }
        let journal = Arc::new(journal);
        let audited = journal.clone();
        match blocking(move || audited.audit()).await {
            Ok(wounds) => {
                for wound in wounds {
                    self.tell(&wound);
                }
                Ok((disk, journal))
            }
            Err(broken) => {
                told(journal.close().await);
                Err(broken)
            }
        }
    }

    fn tell(&self, wound: &Wound) {
        let reports = &self.options.reports;
        match (&wound.session, wound.is_mended) {
            (_, true) => tracing::warn!(?wound, "a table was put right from another"),
            (Some(session), false) => reports.session(session, &wound.why),
            (None, false) => reports.store(Part::Session, &wound.why, None),
        }
    }

    async fn open_history(
        &self,
        disk: &Disk,
        journal: &Arc<LmdbJournal>,
    ) -> Result<Arc<SqliteHistory>, Broken> {
        let dir = &self.options.dir.path;
        let path = dir.join(HISTORY[0]);
        let last = &self.run.last;
        // Only a history that was closed has no log beside it; whoever looks at it closes it.
        let has_log = dir.join(HISTORY[1]).exists();
        let is_suspicious = self.run.is_suspicious()
            || last.is_history_suspicious
            || SqliteHistory::looks_short(&path);
        if is_suspicious && let Err(Broken::Damaged(why)) = SqliteHistory::check(&path).await {
            self.set_aside(Part::History, &HISTORY, &why)?;
        }
        let is_cut = last.state == RunState::Ready && path.exists() && !has_log;
        if is_cut {
            let why = "history.db-wal is missing, and nobody had closed the history";
            self.options.reports.happened(Part::History, why, None);
        }
        if is_cut || !path.exists() || last.is_restored {
            project_again(journal).await?;
        }
        match SqliteHistory::open_on(disk, &path).await {
            Err(Broken::Damaged(why)) => {
                self.set_aside(Part::History, &HISTORY, &why)?;
                project_again(journal).await?;
                SqliteHistory::open_on(disk, &path).await.map(Arc::new)
            }
            opened => opened.map(Arc::new),
        }
    }

    /// Moves what is damaged to a folder of its own, and says so first.
    fn set_aside(&self, part: Part, names: &[&str], why: &str) -> Result<(), Broken> {
        let word = match part {
            Part::Journal => "journal",
            Part::History => "history",
            Part::Session => "session",
        };
        let (dir, epoch) = (&self.options.dir.path, self.run.last.epoch);
        if part == Part::Journal {
            // A folder and a report need room, and nobody has the disk yet who could make some.
            Disk::drop_ballast(dir);
        }
        let moved = free_folder(dir, word, epoch).and_then(|folder| {
            let shown = folder.strip_prefix(dir).unwrap_or(&folder);
            let shown = shown.display().to_string();
            self.options.reports.store(part, why, Some(shown));
            move_all(dir, &folder, names)
        });
        moved.map_err(|error| Broken::Io(format!("{why}; it cannot be set aside: {error}")))
    }
}

async fn project_again(journal: &Arc<LmdbJournal>) -> Result<(), Broken> {
    let journal = journal.clone();
    blocking(move || journal.project_again()).await
}
