//! Stores that die at a chosen operation, as the process would that has them: what was asked of
//! them before is kept or not, and nobody hears of anything any more.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use samovar_core::history::Projection;
use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Broken, Event, Future, History, Journal, Millis, Seq};
use samovar_doubles::{OverHistory, OverJournal};
use samovar_stores::history::SqliteHistory;
use samovar_stores::journal::LmdbJournal;
use tokio::sync::watch;

/// One life of a process.
pub(super) struct Life {
    /// Writes that are left; negative for one that does not die.
    left: AtomicI64,
    /// Whether the last write is kept.
    keeps_last: bool,
    /// Commits that find the disk full.
    full: AtomicU32,
    dead: watch::Sender<bool>,
}

/// What becomes of a write.
enum Write {
    Kept,
    /// It is kept, and nobody hears of it.
    KeptUnheard,
    Full,
    Lost,
}

impl Life {
    pub(super) fn new(writes: Option<(i64, bool)>) -> Arc<Self> {
        let (left, keeps_last) = writes.unwrap_or((-1, false));
        Arc::new(Self {
            left: AtomicI64::new(left),
            keeps_last,
            full: AtomicU32::new(0),
            dead: watch::Sender::new(false),
        })
    }

    pub(super) fn fill(&self, commits: u32) {
        self.full.store(commits, Ordering::SeqCst);
    }

    pub(super) fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Ends it here, whatever was left.
    pub(super) fn die(&self) {
        self.dead.send_replace(true);
    }

    pub(super) async fn died(&self) {
        // The sender lives in `self`.
        self.dead.subscribe().wait_for(|dead| *dead).await.ok();
    }

    fn write(&self) -> Write {
        if self.is_dead() {
            return Write::Lost;
        }
        if self.left.load(Ordering::SeqCst) < 0 {
            return Write::Kept;
        }
        if self.left.fetch_sub(1, Ordering::SeqCst) > 1 {
            return Write::Kept;
        }
        self.die();
        if self.keeps_last {
            Write::KeptUnheard
        } else {
            Write::Lost
        }
    }

    fn commit(&self) -> Write {
        let one_less = |full: u32| full.checked_sub(1);
        let was_full = self
            .full
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
        match was_full {
            Ok(_) if !self.is_dead() => Write::Full,
            Ok(_) | Err(_) => self.write(),
        }
    }
}

pub(super) struct MortalJournal(pub(super) LmdbJournal, pub(super) Arc<Life>);

fn gone() -> Broken {
    Broken::Io("the process is dead".to_owned())
}

impl OverJournal for MortalJournal {
    fn journal(&self) -> &dyn Journal {
        &self.0
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        match self.1.commit() {
            Write::Kept => self.0.commit(batch),
            Write::KeptUnheard => {
                let kept = self.0.commit(batch);
                Box::pin(async move {
                    kept.await.ok();
                    std::future::pending().await
                })
            }
            Write::Full => {
                let full = Broken::Full("on purpose".to_owned());
                Box::pin(std::future::ready(Err(full)))
            }
            Write::Lost => Box::pin(std::future::pending()),
        }
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        match self.1.write() {
            Write::Kept => self.0.spool(log, events),
            Write::KeptUnheard => self.0.spool(log, events).and(Err(gone())),
            Write::Full | Write::Lost => Err(gone()),
        }
    }

    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        if !self.1.is_dead() {
            self.0.projected(marks);
        }
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        if self.1.is_dead() {
            return Box::pin(std::future::pending());
        }
        self.0.sweep(before)
    }
}

pub(super) struct MortalHistory(pub(super) SqliteHistory, pub(super) Arc<Life>);

impl OverHistory for MortalHistory {
    fn history(&self) -> &dyn History {
        &self.0
    }

    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        match self.1.write() {
            Write::Kept => self.0.project(projections),
            Write::KeptUnheard => Box::pin(async move {
                self.0.project(projections).await.ok();
                std::future::pending().await
            }),
            Write::Full | Write::Lost => Box::pin(std::future::pending()),
        }
    }
}
