//! The projector: brings the logs' durable events into the history, in batches, off the hot path.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Clock, Event, History, Journal, Millis, Seq, SessionId};
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::log::{Log, Lost};
use crate::projection;

/// How long the projector rests after the history has failed.
const REST: Duration = Duration::from_millis(500);
/// Sessions that one transaction takes, at most.
const MAX_BATCH: usize = 256;

/// Brings events into the history. Works from a set of sessions that have something new, so that
/// it holds no queue: one that falls behind costs a row of this set for each session.
pub(crate) struct Projector {
    history: Arc<dyn History>,
    journal: Arc<dyn Journal>,
    clock: Arc<dyn Clock>,
    retention: Duration,
    sync_every: Duration,
    state: Mutex<State>,
    progress: watch::Sender<Progress>,
}

#[derive(Default)]
struct State {
    dirty: HashMap<SessionId, Log>,
    /// What the running transaction writes.
    writing: HashSet<SessionId>,
    /// How far each session is in the history, as this process wrote it.
    done: HashMap<SessionId, Seq>,
    /// What the next sync makes durable.
    unsynced: HashMap<LogNo, Seq>,
}

/// How many marks were made, and how many of them are done.
#[derive(Clone, Copy, Default)]
struct Progress {
    marked: u64,
    done: u64,
}

impl Projector {
    pub(crate) fn new(
        history: Arc<dyn History>,
        journal: Arc<dyn Journal>,
        clock: Arc<dyn Clock>,
        settings: &crate::Settings,
    ) -> Self {
        let (progress, _) = watch::channel(Progress::default());
        let (retention, sync_every) = (settings.retention, settings.sync_every);
        let state = Mutex::default();
        Self {
            history,
            journal,
            clock,
            retention,
            sync_every,
            state,
            progress,
        }
    }

    /// Notes how far a session that comes into memory is in the history.
    pub(crate) fn begin(&self, session: &SessionId, projected: Seq) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done.entry(session.clone()).or_insert(projected);
    }

    /// Notes that a log has durable events which the history lacks.
    pub(crate) fn mark(&self, log: &Log) {
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.dirty.insert(log.session().clone(), log.clone());
        }
        self.progress.send_modify(|progress| progress.marked += 1);
    }

    /// How far a session is in the history, if this process has written it and it is warm.
    pub(crate) fn position(&self, session: &SessionId) -> Option<Seq> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done.get(session).copied()
    }

    /// The log of a session that is to be written still.
    pub(crate) fn log(&self, session: &SessionId) -> Option<Log> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.dirty.get(session).cloned()
    }

    /// Forgets a session that leaves memory, unless something of it is still to be written.
    pub(crate) fn forget(&self, session: &SessionId) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let is_clean = !state.dirty.contains_key(session) && !state.writing.contains(session);
        if is_clean {
            state.done.remove(session);
        }
        is_clean
    }

    /// Waits until everything that was marked before is in the history; false when that takes too
    /// long (DU-2).
    pub(crate) async fn caught_up(&self, within: Duration) -> bool {
        let mut progress = self.progress.subscribe();
        let wanted = progress.borrow().marked;
        let done = progress.wait_for(|progress| progress.done >= wanted);
        tokio::time::timeout(within, done).await.is_ok()
    }

    /// Works until it is stopped, and then until nothing is left to do.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut progress = self.progress.subscribe();
        let mut next_sync = Instant::now() + self.sync_every;
        loop {
            let is_idle = {
                let seen = progress.borrow_and_update();
                seen.done >= seen.marked
            };
            if is_idle {
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = progress.changed() => continue,
                    () = tokio::time::sleep_until(next_sync) => {}
                }
            } else if let Err(broken) = self.pass().await {
                tracing::error!(%broken, "the history cannot be written; trying again");
                tokio::select! {
                    () = stop.cancelled() => break,
                    () = tokio::time::sleep(REST) => continue,
                }
            }
            if Instant::now() >= next_sync {
                self.settle().await;
                next_sync = Instant::now() + self.sync_every;
            }
        }
        // What was accepted before the stop goes in; what cannot is projected at the next start.
        if let Err(broken) = self.pass().await {
            tracing::error!(%broken, "the history could not be completed; the journal has the rest");
        }
        self.settle().await;
    }

    async fn pass(&self) -> Result<(), Broken> {
        let marked = self.progress.borrow().marked;
        loop {
            let logs = self.take();
            if logs.is_empty() {
                break;
            }
            let projected = self.project(&logs).await;
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.writing.clear();
            if let Err(broken) = projected {
                for log in logs {
                    state.dirty.entry(log.session().clone()).or_insert(log);
                }
                return Err(broken);
            }
        }
        self.progress
            .send_modify(|progress| progress.done = progress.done.max(marked));
        Ok(())
    }

    fn take(&self) -> Vec<Log> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let some: Vec<SessionId> = state.dirty.keys().take(MAX_BATCH).cloned().collect();
        state.writing.extend(some.iter().cloned());
        some.iter()
            .filter_map(|session| state.dirty.remove(session))
            .collect()
    }

    async fn project(&self, logs: &[Log]) -> Result<(), Broken> {
        let mut projections = Vec::with_capacity(logs.len());
        let mut positions = Vec::with_capacity(logs.len());
        for log in logs {
            let from = self.position(log.session()).unwrap_or_default();
            let events = read_all(log, from, log.published()).await?;
            let Some(projection) = projection::project(log.session(), &events) else {
                continue;
            };
            positions.push((log.session().clone(), log.number(), projection.up_to));
            projections.push(projection);
        }
        if projections.is_empty() {
            return Ok(());
        }
        self.history.project(projections).await?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (session, log, up_to) in positions {
            state.done.insert(session, up_to);
            state.unsynced.insert(log, up_to);
        }
        Ok(())
    }

    /// Makes the history durable, tells the journal, and lets it remove what is old.
    async fn settle(&self) {
        let marks: Vec<_> = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.unsynced.drain().collect()
        };
        if !marks.is_empty() {
            if let Err(broken) = self.history.sync().await {
                tracing::error!(%broken, "the history cannot be synced; the journal keeps its rows");
                let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
                for (log, seq) in marks {
                    state.unsynced.entry(log).or_insert(seq);
                }
                return;
            }
            self.journal.projected(marks);
        }
        let retention = i64::try_from(self.retention.as_millis()).unwrap_or(i64::MAX);
        let before = Millis(self.clock.now().0.saturating_sub(retention));
        if let Err(broken) = self.journal.sweep(before).await {
            tracing::error!(%broken, "the journal cannot be swept");
        }
    }
}

/// The published events of a log behind a position.
pub(crate) async fn read_all(log: &Log, from: Seq, to: Seq) -> Result<Vec<Arc<Event>>, Broken> {
    let mut follower = log.follow(from);
    let mut events = Vec::new();
    let mut at = from;
    while at < to {
        match follower.next().await {
            Ok(more) => {
                at = more.last().map_or(to, |event| event.seq);
                events.extend(more.into_iter().filter(|event| event.kind.is_durable()));
            }
            Err(Lost::Broken(broken)) => return Err(broken),
            Err(Lost::Gone(seq)) => {
                let lost = format!("{} lacks the events behind {}", log.session(), seq.0);
                return Err(Broken::Damaged(lost));
            }
        }
    }
    Ok(events)
}
