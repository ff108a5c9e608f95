//! What makes projections durable, and lets the journal forget what was projected.

use samovar_core::{Millis, failpoint};

use super::Projector;

impl Projector {
    /// Makes the audit durable and then the history, tells the journal, and lets it remove what is old.
    pub(super) async fn settle(&self) {
        self.spend().await;
        let marks: Vec<_> = {
            let mut state = self.state();
            state.unsynced.drain().collect()
        };
        let recorded = self.audit.sync().await;
        if !marks.is_empty() || matches!(recorded, Ok(true)) {
            let synced = match recorded {
                Ok(_) => self.history.sync().await,
                Err(broken) => Err(broken),
            };
            if let Err(broken) = synced {
                tracing::error!(%broken, "the history cannot be synced; the journal keeps its rows");
                let mut state = self.state();
                for (log, seq) in marks {
                    state.unsynced.entry(log).or_insert(seq);
                }
                return;
            }
            if !marks.is_empty() {
                self.journal.projected(marks);
            }
            failpoint!("mark.after");
        }
        let retention = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let before = Millis(self.clock.now().0.saturating_sub(retention));
        if let Err(broken) = self.journal.sweep(before).await {
            tracing::error!(%broken, "the journal cannot be swept");
        }
    }
}
