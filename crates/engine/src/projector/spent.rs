//! What sessions in memory have used: all that the history is told of them (AS-18).

use std::time::Duration;

use samovar_core::Usage;
use tokio::sync::oneshot;

use super::Projector;

/// What the history does not count yet.
#[derive(Default)]
pub(super) struct Spent {
    usage: Usage,
    /// Those that wait until the history has counted it.
    waiting: Vec<oneshot::Sender<()>>,
}

impl Projector {
    /// Waits until the history has counted, durably, what a session in memory has used. What it has
    /// not counted within `patience` is counted later: a broken history keeps no session back.
    pub(crate) async fn count(&self, usage: Usage, patience: Duration) {
        if usage == Usage::default() {
            return;
        }
        let (told, counted) = oneshot::channel();
        {
            let spent = &mut self.state().spent;
            spent.usage = spent.usage.plus(usage);
            spent.waiting.push(told);
        }
        self.marks.mark();
        self.marks.want_all();
        if tokio::time::timeout(patience, counted).await.is_err() {
            tracing::debug!("tokens of a session in memory are counted later");
        }
    }

    /// Has the history count it; what it does not take is for the next pass.
    pub(super) async fn spend(&self) {
        let Spent { usage, waiting } = std::mem::take(&mut self.state().spent);
        if usage == Usage::default() {
            return;
        }
        if let Err(broken) = self.history.spend(usage).await {
            tracing::warn!(%broken, "tokens of a session in memory are counted later");
            let spent = &mut self.state().spent;
            spent.usage = spent.usage.plus(usage);
        }
        // Those that wait continue in either case.
        drop(waiting);
    }
}
