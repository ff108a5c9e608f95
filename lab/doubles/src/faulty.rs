//! Stores that break their promises: the planted faults that a port can have.

use std::sync::Arc;
use std::time::Duration;

use samovar_core::history::{Change, Projection};
use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Broken, Event, Future, History, Journal, Kind, Millis, planted};
use tokio_util::task::TaskTracker;

use crate::over::{Over, OverHistory, OverJournal};

/// Lays the planted fault over the stores, if it is one of theirs.
pub fn faulty(
    journal: Arc<dyn Journal>,
    history: Arc<dyn History>,
) -> (Arc<dyn Journal>, Arc<dyn History>) {
    let faulty = Faulty {
        journal,
        history,
        late: TaskTracker::new(),
    };
    (Arc::new(Over(faulty.clone())), Arc::new(Over(faulty)))
}

#[derive(Clone)]
struct Faulty {
    journal: Arc<dyn Journal>,
    history: Arc<dyn History>,
    /// Commits that were answered before they began.
    late: TaskTracker,
}

impl OverJournal for Faulty {
    fn journal(&self) -> &dyn Journal {
        self.journal.as_ref()
    }

    fn commit(&self, mut batch: Batch) -> Future<'static, Result<(), Broken>> {
        planted!("result-not-kept", {
            let is_result = |event: &Event| matches!(event.kind, Kind::CallClosed { .. });
            batch.events.retain(|event| !is_result(event));
        });
        let commit = self.journal.commit(batch);
        planted!("ack-before-fsync", {
            self.late.spawn(delayed(commit));
            return Box::pin(std::future::ready(Ok(())));
        });
        commit
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        planted!("drop-last-delta", {
            let but_last = events.len().saturating_sub(1);
            return self.journal.spool(log, &events[..but_last]);
        });
        self.journal.spool(log, events)
    }

    /// A clean stop loses nothing: only a kill shows these faults.
    fn close(&self) -> Future<'static, Result<(), Broken>> {
        let (late, journal) = (self.late.clone(), self.journal.clone());
        Box::pin(async move {
            late.close();
            late.wait().await;
            journal.close().await
        })
    }
}

/// Leaves time for a kill before the commit.
async fn delayed(commit: Future<'static, Result<(), Broken>>) -> Result<(), Broken> {
    tokio::time::sleep(Duration::from_millis(30)).await;
    commit.await
}

impl OverHistory for Faulty {
    fn history(&self) -> &dyn History {
        self.history.as_ref()
    }

    fn project(&self, mut projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        planted!("row-forgotten", {
            for projection in &mut projections {
                let changes = &mut projection.changes;
                changes.retain(|(seq, change)| {
                    seq.0 % 7 != 0 || !matches!(change, Change::Put { .. })
                });
            }
        });
        Box::pin(async {
            planted!("sweep-too-early", {
                self.sweep(&projections).await?;
            });
            self.history.project(projections).await
        })
    }
}

impl Faulty {
    /// Has the journal remove what the history is about to commit.
    async fn sweep(&self, projections: &[Projection]) -> Result<(), Broken> {
        let mut marks = Vec::new();
        for projection in projections {
            let entry = self.journal.entry(&projection.session)?;
            marks.extend(entry.map(|entry| (entry.log, projection.up_to)));
        }
        self.journal.projected(marks);
        self.journal.sweep(Millis(i64::MAX)).await
    }
}
