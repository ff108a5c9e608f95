//! Stores that a test can make fail, and that outlive every engine on them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::audit::{Audit, Decision, RecordedCalls};
use samovar_core::blob::MemoryBlobs;
use samovar_core::history::Projection;
use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{Broken, Event, Future, History, Journal, Millis, Seq, SessionId, Usage};
use tokio::sync::{Notify, watch};

use crate::Gate;
use crate::history::MemoryHistory;
use crate::over::{Over, OverHistory, OverJournal};

/// Whether a store is full, and how often it refused a write for that.
#[derive(Default)]
pub struct Full(watch::Sender<(bool, u64)>);

impl Full {
    /// Makes it full, or gives it room again.
    pub fn set(&self, full: bool) {
        self.0.send_modify(|state| state.0 = full);
    }

    /// Waits until it has refused one more write.
    pub async fn refuses(&self) {
        let mut state = self.0.subscribe();
        let before = state.borrow_and_update().1;
        // The sender lives in `self`, so waiting cannot fail.
        state.wait_for(|(_, count)| *count > before).await.ok();
    }

    fn check(&self) -> Result<(), Broken> {
        if !self.0.borrow().0 {
            return Ok(());
        }
        self.0.send_modify(|state| state.1 += 1);
        Err(Broken::Full("on purpose".to_owned()))
    }
}

/// An audit that is read as what was decided about which tool.
#[derive(Default)]
pub struct MemoryAudit {
    decisions: Mutex<Vec<Decision>>,
    full: Full,
}

impl MemoryAudit {
    /// Whether there is room for it.
    pub fn full(&self) -> &Full {
        &self.full
    }

    /// What was decided about calls, in order, as in `call_started touch`.
    pub fn calls(&self) -> Vec<String> {
        let decisions = self.lock();
        let of_calls = decisions.iter().filter(|decision| decision.call.is_some());
        let told = of_calls.map(|decision| {
            let tool = decision.tool.as_deref().unwrap_or_default();
            format!("{} {tool}", decision.what.as_str())
        });
        told.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Decision>> {
        self.decisions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Audit for MemoryAudit {
    fn append(&self, decisions: Vec<Decision>) -> Future<'_, Result<(), Broken>> {
        let room = self.full.check();
        if room.is_ok() {
            self.lock().extend(decisions);
        }
        Box::pin(std::future::ready(room))
    }

    fn sync(&self) -> Future<'_, Result<bool, Broken>> {
        Box::pin(std::future::ready(Ok(false)))
    }

    fn recorded(&self, _since: Millis) -> Future<'_, Result<RecordedCalls, Broken>> {
        let decisions = self.lock();
        let recorded = decisions.iter().filter_map(|decision| {
            let call = decision.call.as_ref()?;
            Some((call.call.to_string(), decision.what.as_str().to_owned()))
        });
        Box::pin(std::future::ready(Ok(recorded.collect())))
    }

    fn is_short(&self) -> bool {
        false
    }
}

/// A journal, a history and an audit. A clone is the same.
#[derive(Clone)]
pub struct Disk(Arc<Stores>);

struct Stores {
    journal: Arc<dyn Journal>,
    history: MemoryHistory,
    blobs: Arc<MemoryBlobs>,
    full_journal: Full,
    full_history: Full,
    audit: Arc<MemoryAudit>,
    damaged: Mutex<Option<SessionId>>,
    slow: Mutex<Option<(Gate, bool)>>,
    commits: watch::Sender<u64>,
    is_held: watch::Sender<bool>,
    is_busy: AtomicBool,
    most_changes: AtomicUsize,
    swept: Notify,
    logs: Mutex<HashMap<LogNo, Spool>>,
    was_closed: AtomicBool,
}

/// The live events of a log that no commit has brought yet.
struct Spool {
    session: SessionId,
    open_from: Option<Seq>,
    events: Vec<Arc<Event>>,
}

impl Disk {
    /// A journal in memory, and an empty history.
    pub fn on(journal: Arc<dyn Journal>) -> Self {
        Self(Arc::new(Stores {
            journal,
            history: MemoryHistory::default(),
            blobs: Arc::default(),
            full_journal: Full::default(),
            full_history: Full::default(),
            audit: Arc::default(),
            damaged: Mutex::default(),
            slow: Mutex::default(),
            commits: watch::Sender::default(),
            is_held: watch::Sender::default(),
            is_busy: AtomicBool::default(),
            most_changes: AtomicUsize::default(),
            swept: Notify::new(),
            logs: Mutex::default(),
            was_closed: AtomicBool::default(),
        }))
    }

    /// The journal of the next run, with the live events that the run before has left.
    ///
    /// # Panics
    /// When the journal has a position of them already.
    pub async fn boot(&self) -> Arc<dyn Journal> {
        let spools = std::mem::take(&mut *self.0.logs());
        for (log, spool) in spools {
            let batch = Batch {
                log,
                session: spool.session,
                events: Vec::new(),
                folded: spool.events,
                open_from: spool.open_from,
            };
            let kept = self.0.journal.commit(batch).await;
            kept.expect("a journal in memory keeps what it has not kept yet");
        }
        let was_closed = self.0.was_closed.swap(false, Ordering::SeqCst);
        let stores = self.0.clone();
        Arc::new(Over(OnDisk { stores, was_closed }))
    }

    /// The blobs.
    pub fn blobs(&self) -> Arc<MemoryBlobs> {
        self.0.blobs.clone()
    }

    /// The history.
    pub fn history(&self) -> Arc<dyn History> {
        let (stores, was_closed) = (self.0.clone(), true);
        Arc::new(Over(OnDisk { stores, was_closed }))
    }

    /// The audit.
    pub fn audit(&self) -> Arc<MemoryAudit> {
        self.0.audit.clone()
    }

    /// The journal itself, which nothing makes fail.
    pub fn journal(&self) -> &dyn Journal {
        self.0.journal.as_ref()
    }

    /// Whether there is room for the journal.
    pub fn full_journal(&self) -> &Full {
        &self.0.full_journal
    }

    /// Whether there is room for the history.
    pub fn full_history(&self) -> &Full {
        &self.0.full_history
    }

    /// Damages the log of a session: nothing of it can be read, though it takes commits.
    pub fn damage(&self, session: SessionId) {
        if let Ok(mut damaged) = self.0.damaged.lock() {
            *damaged = Some(session);
        }
    }

    /// Answers no commit from the next one on, for which it waits.
    pub async fn hold(&self, begin: impl FnOnce()) {
        self.0.is_held.send_replace(true);
        let mut commits = self.0.commits.subscribe();
        begin();
        // The sender lives in `self`, so waiting cannot fail.
        commits.changed().await.ok();
    }

    /// Lets the next commit take 10 ms, opens a gate when it begins, and then refuses it or not.
    pub fn slow_next(&self, gate: &Gate, is_refused: bool) {
        let slow = self.0.slow.lock();
        *slow.unwrap_or_else(PoisonError::into_inner) = Some((gate.clone(), is_refused));
    }

    /// Answers the commits again.
    pub fn let_go(&self) {
        self.0.is_held.send_replace(false);
    }

    /// From now on each write of the history waits for another commit.
    pub fn keep_busy(&self) {
        self.0.is_busy.store(true, Ordering::SeqCst);
    }

    /// The changes of the largest write of the history.
    pub fn most_changes(&self) -> usize {
        self.0.most_changes.load(Ordering::SeqCst)
    }

    /// Waits until the journal is swept.
    pub async fn swept(&self) {
        self.0.swept.notified().await;
    }
}

impl Stores {
    fn logs(&self) -> MutexGuard<'_, HashMap<LogNo, Spool>> {
        self.logs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_damaged(&self, session: &SessionId) -> bool {
        let damaged = self.damaged.lock();
        damaged.is_ok_and(|damaged| damaged.as_ref() == Some(session))
    }
}

async fn passes_slowly(gate: &Gate) {
    gate.open();
    tokio::time::sleep(Duration::from_millis(10)).await;
}

struct OnDisk {
    stores: Arc<Stores>,
    was_closed: bool,
}

impl OverJournal for OnDisk {
    fn journal(&self) -> &dyn Journal {
        self.stores.journal.as_ref()
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        if let Err(full) = self.stores.full_journal.check() {
            return Box::pin(std::future::ready(Err(full)));
        }
        let slow = self.stores.slow.lock();
        let slow = slow.unwrap_or_else(PoisonError::into_inner).take();
        if let Some((gate, true)) = &slow {
            let gate = gate.clone();
            return Box::pin(async move {
                passes_slowly(&gate).await;
                Err(Broken::Full("on purpose".to_owned()))
            });
        }
        let mut logs = self.stores.logs();
        let spool = logs.entry(batch.log).or_insert_with(|| Spool {
            session: batch.session.clone(),
            open_from: None,
            events: Vec::new(),
        });
        spool.open_from = batch.open_from;
        spool.events.retain(|event| !batch.folded.contains(event));
        let kept = self.stores.journal.commit(batch);
        self.stores.commits.send_modify(|count| *count += 1);
        let stores = self.stores.clone();
        Box::pin(async move {
            let mut is_held = stores.is_held.subscribe();
            is_held.wait_for(|held| !held).await.ok();
            if let Some((gate, _)) = slow {
                passes_slowly(&gate).await;
            }
            kept.await
        })
    }

    fn spool(&self, log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        self.journal().spool(log, events)?;
        if let Some(spool) = self.stores.logs().get_mut(&log) {
            spool.events.extend_from_slice(events);
        }
        Ok(())
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        if self.stores.is_damaged(session) {
            return Err(Broken::Damaged("on purpose".to_owned()));
        }
        self.journal().entry(session)
    }

    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        let session = self
            .stores
            .logs()
            .get(&log)
            .map(|spool| spool.session.clone());
        if session.is_some_and(|session| self.stores.is_damaged(&session)) {
            return Err(Broken::Damaged("on purpose".to_owned()));
        }
        self.journal().read(log, after, max_bytes)
    }

    fn was_closed(&self) -> bool {
        self.was_closed
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.stores.swept.notify_one();
        self.journal().sweep(before)
    }

    /// The journal stays open for the next run.
    fn close(&self) -> Future<'static, Result<(), Broken>> {
        self.stores.was_closed.store(true, Ordering::SeqCst);
        Box::pin(std::future::ready(Ok(())))
    }
}

impl OverHistory for OnDisk {
    fn history(&self) -> &dyn History {
        &self.stores.history
    }

    fn project(&self, projections: Vec<Projection>) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            self.stores.full_history.check()?;
            let changes = projections.iter().map(|one| one.changes.len()).sum();
            self.stores
                .most_changes
                .fetch_max(changes, Ordering::SeqCst);
            self.stores.history.project(projections).await?;
            if self.stores.is_busy.load(Ordering::SeqCst) {
                let mut commits = self.stores.commits.subscribe();
                commits.changed().await.ok();
            }
            Ok(())
        })
    }

    fn spend(&self, usage: Usage) -> Future<'_, Result<(), Broken>> {
        Box::pin(async move {
            self.stores.full_history.check()?;
            self.stores.history.spend(usage).await
        })
    }
}
