//! The one door to the stores: [`open`] gives the journal and the history of a data directory, and
//! what is known of both: the room on their disk, how their last run ended, backups.
//!
//! A store that should be there and is not refuses the start before anything is changed; `generation`
//! has the table of what that means. A damaged store costs what is in it and nothing else (DU-13). The
//! journal's pages are looked at before anything reads them; when the last start died, a separate
//! process reads all of it first, which may die of that. What cannot be used is moved to the folder
//! `damaged`, a report is written, and an empty store replaces it: the history still serves what was
//! said, or is made again from what the journal still has.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::{
    AgentRows, Blobs, Broken, DamagedPart, Damages, Durability, History, Journal, failpoint,
};

use crate::audit::{AuditLog, Heads, Origin};
use crate::backup::{self, Backups};
use crate::blobs::FileBlobs;
use crate::damage::Reports;
use crate::data_dir::{DataDir, HISTORY, LOCK};
use crate::disk::{Disk, blocking};
use crate::error::OpenError;
use crate::generation::{Due, Found, Generation, Plan, Store, judge};
use crate::history::SqliteHistory;
use crate::journal::{Fill, LmdbJournal, Settings, Wound, from_io};
use crate::missing::{set_aside, survey, unusable};
use crate::run::{RunFile, RunState};
use crate::walker::Walker;

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
    /// The bytes that messages name by their hash.
    pub blobs: Arc<dyn Blobs>,
    /// The definitions of agents that clients made, in the file of the history.
    pub agents: Arc<dyn AgentRows>,
    /// The audit.
    pub audit: Arc<AuditLog>,
    /// The disk that both are on.
    pub disk: Disk,
    /// Makes backups of both.
    pub backups: Arc<Backups>,
    lmdb: Arc<LmdbJournal>,
    reports: Arc<Reports>,
    run: Mutex<RunFile>,
}

/// Opens the stores; what is damaged is set aside, and an empty store replaces it.
///
/// # Errors
/// [`OpenError`]; nothing is left open then. With [`OpenError::Missing`] nothing was changed either.
pub async fn open(options: Options) -> Result<Stores, OpenError> {
    let run = RunFile::begin(&options.dir);
    let is_history_new = false;
    let opener = Opener {
        options,
        run,
        is_history_new,
    };
    opener.open().await
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

fn told_later(stored: Result<(), Broken>) {
    if let Err(broken) = stored {
        tracing::warn!(%broken, "the audit's head is stored later");
    }
}

fn told(closed: Result<(), Broken>) {
    if let Err(broken) = closed {
        tracing::warn!(%broken, "a store did not close cleanly");
    }
}

/// The options, and how the last run ended.
struct Opener {
    options: Options,
    run: RunFile,
    /// Whether the history begins empty where it was not the first start.
    is_history_new: bool,
}

impl Opener {
    async fn open(mut self) -> Result<Stores, OpenError> {
        let dir = self.options.dir.clone();
        let (journal, history) = match self.admit().await {
            Ok(found) => found,
            Err(refusal) => {
                self.run.refused();
                return Err(refusal);
            }
        };
        let opened = self.open_journal(&journal).await;
        let (disk, lmdb) = opened.map_err(|source| unusable(&dir, Store::Journal, source))?;
        disk.watch(&dir.path.join(LOCK));
        backup::remove_cut(&dir);
        let heads = Heads::default();
        let history = match self.open_history(&disk, &lmdb, &history, &heads).await {
            Ok(history) => history,
            Err(source) => {
                told(lmdb.close().await);
                return Err(unusable(&dir, Store::History, source));
            }
        };
        let audit = match self.open_audit(&disk, heads).await {
            Ok(audit) => Arc::new(audit),
            Err(source) => {
                told(history.close().await);
                told(lmdb.close().await);
                let dir = dir.path;
                return Err(OpenError::Audit { dir, source });
            }
        };
        if audit.has_moved() {
            // At once, so that no later start finds again what this one has recorded.
            told_later(history.sync().await);
        }
        let blobs = Arc::new(FileBlobs::open(&disk));
        let parts = (lmdb.clone(), history.clone(), audit.clone());
        Ok(Stores {
            journal: lmdb.clone(),
            history: history.clone(),
            agents: history,
            audit,
            disk,
            backups: Arc::new(Backups::new(dir, parts, blobs.clone())),
            blobs,
            lmdb,
            reports: self.options.reports,
            run: Mutex::new(self.run),
        })
    }

    async fn open_audit(&self, disk: &Disk, heads: Heads) -> Result<AuditLog, Broken> {
        let (dir, disk) = (self.options.dir.clone(), disk.clone());
        let origin = if self.run.last.is_restored {
            Origin::Backup
        } else if self.is_history_new {
            Origin::NewHistory
        } else {
            Origin::LastRun
        };
        blocking(move || AuditLog::open(&dir, &disk, heads, origin)).await
    }

    /// Finds the stores, and notes how they are opened before anything of it is done.
    async fn admit(&mut self) -> Result<(Found, Found), OpenError> {
        let dir = self.options.dir.clone();
        let walker = self.options.walker.as_ref();
        let (journal, history) =
            survey(&dir, &self.run.last, self.run.is_suspicious(), walker).await?;
        let verdict = judge(&self.run.marks(), &journal, &history);
        let mut plan = verdict.map_err(|missing| OpenError::Missing {
            dir: dir.path.clone(),
            missing,
        })?;
        for (store, found) in [(Store::Journal, &journal), (Store::History, &history)] {
            if found.has_damaged_stamp() {
                tracing::warn!(?store, "its generation was damaged; it is written again");
            }
        }
        let noted = match plan.generation {
            Some(_) => self.note(&plan),
            None => Generation::fresh().and_then(|fresh| {
                plan.generation = Some(fresh);
                self.note(&plan)
            }),
        };
        match noted {
            Ok(()) => {}
            Err(error) if plan.journal == Due::Make || plan.history == Due::Make => {
                let source = from_io("run.json", &error);
                return Err(unusable(&dir, Store::Journal, source));
            }
            // A store with a damaged generation is as good as it was; the next start stamps it.
            Err(error) => tracing::warn!(%error, "the stores get their generation later"),
        }
        Ok((journal, history))
    }

    fn note(&mut self, plan: &Plan) -> std::io::Result<()> {
        self.run.planned(plan).or_else(|_| {
            Disk::drop_ballast(&self.options.dir.path);
            self.run.planned(plan)
        })
    }

    async fn open_journal(&mut self, found: &Found) -> Result<(Disk, Arc<LmdbJournal>), Broken> {
        let opened = match found {
            Found::Damaged(why) => Err(Broken::Damaged(why.clone())),
            Found::Gone | Found::Empty | Found::Torn | Found::Cut | Found::There { .. } => {
                self.try_journal().await
            }
        };
        let (disk, journal) = match opened {
            Err(Broken::Damaged(why)) => {
                self.set_aside(Store::Journal, &why)?;
                self.try_journal().await?
            }
            opened => opened?,
        };
        let marks = self.run.marks();
        if let (Some(generation), true) = (marks.generation, marks.journal != Due::Nothing) {
            let stamped = journal.clone();
            blocking(move || stamped.stamp(&generation)).await?;
            failpoint!("stamp.journal.after");
        }
        Ok((disk, journal))
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
            self.options
                .reports
                .happened(DamagedPart::Journal, why, None);
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
            (None, false) => reports.store(DamagedPart::Session, &wound.why, None),
        }
    }

    async fn open_history(
        &mut self,
        disk: &Disk,
        journal: &Arc<LmdbJournal>,
        found: &Found,
        heads: &Heads,
    ) -> Result<Arc<SqliteHistory>, Broken> {
        let dir = self.options.dir.path.clone();
        let path = dir.join(HISTORY[0]);
        let last = self.run.last.clone();
        // Only a history that was closed has no log beside it; whoever looks at it closes it.
        let has_log = dir.join(HISTORY[1]).exists();
        let is_suspicious = self.run.is_suspicious()
            || last.is_history_suspicious
            || matches!(found, Found::Damaged(_))
            || SqliteHistory::looks_short(&path);
        if is_suspicious && let Err(Broken::Damaged(why)) = SqliteHistory::check(&path).await {
            self.set_aside(Store::History, &why)?;
        }
        let is_cut = last.state == RunState::Ready && path.exists() && !has_log;
        if is_cut {
            let why = "history.db-wal is missing, and the history was not closed";
            self.options
                .reports
                .happened(DamagedPart::History, why, None);
        }
        let is_made = matches!(found, Found::Gone | Found::Empty);
        if is_cut || is_made || !path.exists() || last.is_restored {
            project_again(journal).await?;
        }
        self.is_history_new = !path.exists();
        let history = match self.try_history(disk, &path, heads).await {
            Err(Broken::Damaged(why)) => {
                self.set_aside(Store::History, &why)?;
                self.is_history_new = true;
                project_again(journal).await?;
                self.try_history(disk, &path, heads).await?
            }
            opened => opened?,
        };
        let marks = self.run.marks();
        if let (Some(generation), true) = (marks.generation, marks.history != Due::Nothing) {
            history.stamp(&generation).await?;
            failpoint!("stamp.history.after");
        }
        Ok(Arc::new(history))
    }

    async fn try_history(
        &self,
        disk: &Disk,
        path: &Path,
        heads: &Heads,
    ) -> Result<SqliteHistory, Broken> {
        let reports = self.options.reports.clone();
        SqliteHistory::open_for(disk, path, reports, heads.clone()).await
    }

    /// Moves what is damaged to a folder of its own, and says so first.
    fn set_aside(&mut self, store: Store, why: &str) -> Result<(), Broken> {
        let dir = &self.options.dir.path;
        if store == Store::Journal {
            // A folder and a report need space, and no store is open yet that could free some.
            Disk::drop_ballast(dir);
        }
        let report = |part, kept_in| self.options.reports.store(part, why, kept_in);
        let noted = self.run.makes(store);
        let moved = noted.and_then(|()| set_aside(dir, self.run.last.epoch, store, report));
        let moved = moved.map(drop);
        moved.map_err(|error| Broken::Io(format!("{why}; it cannot be set aside: {error}")))
    }
}

async fn project_again(journal: &Arc<LmdbJournal>) -> Result<(), Broken> {
    let journal = journal.clone();
    blocking(move || journal.project_again()).await
}
