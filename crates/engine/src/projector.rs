//! The projector: brings the logs' durable events into the history, in batches, off the hot path.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::audit::Audit;
use samovar_core::history::{Change, Projection, TurnRow};
use samovar_core::journal::LogNo;
use samovar_core::{Broken, Clock, Damages, History, Journal, Millis, Seq, SessionId};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::log::{Keeping, Log, WeakLog};
use crate::projection;

use self::catch_up::Unprojected;
use self::claims::{Claims, ProjectedIds};
use self::last::LastEvents;
use self::progress::Marks;
use self::recording::Recording;
use self::spent::Spent;

mod catch_up;
mod claims;
mod last;
mod progress;
mod reading;
mod recording;
mod spent;
mod sync;

pub(crate) use claims::Claim;
pub(crate) use reading::{read_all, read_kept, read_open, read_those, read_turn};

/// How long the projector rests after the history has failed.
const REST: Duration = Duration::from_millis(500);
/// How long what has happened waits for more, so that one transaction takes it all, unless a reader waits.
const GATHERING: Duration = Duration::from_millis(50);
/// Sessions that one transaction takes, at most.
const MAX_BATCH: usize = 256;
/// Events of one session that it takes, about: what others did comes in between those of a long copy.
const MAX_EVENTS: usize = 1000;

/// Brings events into the history. Works from a set of logs that have something new, so that it holds
/// no queue: while the history cannot be written, each such log costs a row of this set, and may
/// leave memory itself.
pub(crate) struct Projector {
    history: Arc<dyn History>,
    journal: Arc<dyn Journal>,
    audit: Arc<dyn Audit>,
    clock: Arc<dyn Clock>,
    damages: Arc<dyn Damages>,
    /// Held while something is appended to the audit.
    recording: tokio::sync::Mutex<()>,
    retention: Duration,
    sync_every: Duration,
    state: Mutex<Backlog>,
    marks: Marks,
    claims: Claims,
}

struct Backlog {
    /// What a former run left to do; it comes first.
    left: Unprojected,
    /// The logs that have something new, in the order in which they were marked: a session that was
    /// deleted and created again has two logs, and the deletion comes first.
    dirty: VecDeque<LogNo>,
    /// What is in `dirty`.
    waiting: HashMap<LogNo, Waiting>,
    /// What was taken out of it and is being written.
    taken: HashMap<LogNo, Waiting>,
    /// How far each log that is in memory, or has something new, is in the history.
    done: HashMap<LogNo, Done>,
    /// What the next sync makes durable.
    unsynced: HashMap<LogNo, Seq>,
    /// What sessions in memory have used and the history does not count yet.
    spent: Spent,
    /// What happened last in turns that are not over.
    last: LastEvents,
    /// What is on its way to the audit.
    recording: Recording,
    /// The sessions that are being read from the stores, and what of them was written meanwhile.
    loading: HashMap<SessionId, Option<(LogNo, Seq)>>,
    /// Since when the history cannot be written.
    failed_since: Option<Millis>,
}

/// How far the history is from what was accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Sessions with events that it lacks.
    pub logs: usize,
    /// Since when it cannot be written; `None` while it can.
    pub failed_since: Option<Millis>,
}

/// A log that has something new.
#[derive(Clone)]
struct Waiting {
    session: SessionId,
    number: LogNo,
    log: WeakLog,
    /// How far the history has it.
    from: Seq,
    /// The last position that readers saw when it was marked.
    head: Seq,
}

/// How far a log is in the history.
struct Done {
    at: Seq,
    /// Whether the log is in memory.
    is_warm: bool,
}

/// A session that is being read from the stores.
pub(crate) struct Loading<'a> {
    projector: &'a Projector,
    session: SessionId,
}

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.projector.state().loading.remove(&self.session);
    }
}

impl Backlog {
    fn new(recording: Recording) -> Self {
        Self {
            left: Unprojected::default(),
            dirty: VecDeque::new(),
            waiting: HashMap::new(),
            taken: HashMap::new(),
            done: HashMap::new(),
            unsynced: HashMap::new(),
            spent: Spent::default(),
            last: LastEvents::default(),
            recording,
            loading: HashMap::new(),
            failed_since: None,
        }
    }

    /// Puts back what could not be written, in its order.
    fn give_back(&mut self, logs: Vec<Waiting>) {
        for log in logs.into_iter().rev() {
            let number = log.number;
            if let Entry::Vacant(free) = self.waiting.entry(number) {
                free.insert(log);
                self.dirty.push_front(number);
            }
        }
    }

    /// Puts back a log of which a transaction took a part; others come first.
    fn put_off(&mut self, log: Waiting) {
        let number = log.number;
        if let Entry::Vacant(free) = self.waiting.entry(number) {
            free.insert(log);
            self.dirty.push_back(number);
        }
    }

    /// What was marked of a session and is not in the history: its logs, and how far each was seen.
    fn wanted(&self, session: &SessionId) -> Vec<(LogNo, Seq)> {
        let logs = self.waiting.values().chain(self.taken.values());
        let logs = logs.filter(|log| log.session == *session);
        logs.map(|log| (log.number, log.head)).collect()
    }

    fn has(&self, session: &SessionId, wanted: &[(LogNo, Seq)]) -> bool {
        let is_there = |(log, head): &(LogNo, Seq)| {
            let is_far = self.done.get(log).is_some_and(|done| done.at >= *head);
            is_far || !self.waiting.contains_key(log) && !self.taken.contains_key(log)
        };
        wanted.iter().all(is_there) && self.left.iter().all(|(left, _)| left != session)
    }

    /// Notes how far the history has a log.
    fn note(&mut self, session: &SessionId, log: LogNo, at: Seq, is_written: bool) {
        if let Some(done) = self.done.get_mut(&log) {
            done.at = at.max(done.at);
        }
        self.recording.is_projected(log, at);
        if let Some(written) = self.loading.get_mut(session) {
            *written = Some((log, at));
        }
        if is_written {
            self.unsynced.insert(log, at);
        }
    }

    /// Drops the position of a log that left memory and has nothing new.
    fn tidy(&mut self, log: LogNo) {
        let is_cold = self.done.get(&log).is_some_and(|done| !done.is_warm);
        if is_cold && !self.waiting.contains_key(&log) {
            self.done.remove(&log);
        }
    }
}

impl Projector {
    pub(crate) fn new(
        (journal, history, audit): (Arc<dyn Journal>, Arc<dyn History>, Arc<dyn Audit>),
        clock: Arc<dyn Clock>,
        damages: Arc<dyn Damages>,
        settings: &crate::Settings,
    ) -> Self {
        let (retention, sync_every) = (settings.retention, settings.sync_every);
        let state = Mutex::new(Backlog::new(Recording::new(settings.approval)));
        Self {
            history,
            journal,
            audit,
            clock,
            damages,
            recording: tokio::sync::Mutex::default(),
            retention,
            sync_every,
            state,
            marks: Marks::new(),
            claims: Claims::default(),
        }
    }

    /// The ids that messages were accepted with and that the history may lack.
    pub(crate) fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Whether all that a former run left is in the history; waits for it a while.
    pub(crate) async fn took_over(&self, within: Duration) -> bool {
        let is_done = || self.state().left.is_empty();
        is_done() || self.caught_up(within).await && is_done()
    }

    /// Notes that a session is being read from the stores, until the guard is dropped.
    pub(crate) fn loads(&self, session: &SessionId) -> Loading<'_> {
        self.state().loading.insert(session.clone(), None);
        Loading {
            projector: self,
            session: session.clone(),
        }
    }

    /// Notes how far a log that comes into memory is in the history.
    pub(crate) fn begin(&self, log: &Log, projected: Seq) {
        if log.keeping() == Keeping::Memory {
            return;
        }
        let mut state = self.state();
        // The history may have been given more since the session was looked up in it.
        let written = state.loading.get(log.session()).copied().flatten();
        let written = written.filter(|(number, _)| *number == log.number());
        let at = written.map_or(projected, |(_, at)| at.max(projected));
        let done = state.done.entry(log.number());
        let done = done.or_insert(Done { at, is_warm: true });
        done.is_warm = true;
        let at = done.at;
        drop(state);
        log.is_projected(at);
    }

    /// Notes that a log has durable events which the history lacks.
    pub(crate) fn mark(&self, log: &Log) {
        if log.keeping() == Keeping::Memory {
            self.take_in_memory(log);
            return;
        }
        let number = log.number();
        {
            let mut state = self.state();
            // Read here, so that no other mark has a later one.
            let head = log.published();
            let marked = Waiting {
                session: log.session().clone(),
                number,
                log: log.downgrade(),
                from: state
                    .done
                    .get(&number)
                    .map_or(Seq::default(), |done| done.at),
                head,
            };
            if state.waiting.insert(number, marked).is_none() {
                state.dirty.push_back(number);
            }
        }
        self.marks.mark();
    }

    /// How far a log in memory is in the history.
    pub(crate) fn position(&self, log: LogNo) -> Option<Seq> {
        self.state().done.get(&log).map(|done| done.at)
    }

    /// Notes that a log leaves memory. What the history lacks of it is in the journal.
    pub(crate) fn forget(&self, log: LogNo) {
        let mut state = self.state();
        if let Some(done) = state.done.get_mut(&log) {
            done.is_warm = false;
        }
        state.tidy(log);
    }

    fn state(&self) -> MutexGuard<'_, Backlog> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything that was marked before is in the history; false when that takes too
    /// long (DU-2).
    pub(crate) async fn caught_up(&self, within: Duration) -> bool {
        let all = self.marks.wait_for_all();
        tokio::time::timeout(within, all).await.is_ok()
    }

    /// Waits until all that was marked of a session before is in the history; false when that takes too
    /// long (DU-2).
    pub(crate) async fn has_all_of(&self, session: &SessionId, within: Duration) -> bool {
        let wanted = self.state().wanted(session);
        let all = || self.state().has(session, &wanted);
        let there = self.marks.wait_until(all);
        tokio::time::timeout(within, there).await.is_ok()
    }

    /// Works until it is stopped, and then until nothing is left to do.
    pub(crate) async fn run(self: Arc<Self>, stop: CancellationToken) {
        let mut progress = self.marks.watch();
        let mut next_sync = Instant::now() + self.sync_every;
        loop {
            let is_idle = progress.borrow_and_update().is_idle();
            if is_idle {
                tokio::select! {
                    () = stop.cancelled() => break,
                    _ = progress.changed() => continue,
                    () = tokio::time::sleep_until(next_sync) => {}
                }
            } else {
                tokio::select! {
                    () = stop.cancelled() => {}
                    _ = progress.wait_for(|progress| progress.is_wanted()) => {}
                    () = tokio::time::sleep(GATHERING) => {}
                }
                let passed = self.pass().await;
                self.tell(&passed);
                if passed.is_err() {
                    tokio::select! {
                        () = stop.cancelled() => break,
                        () = tokio::time::sleep(REST) => continue,
                    }
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

    /// Notes what happened last in turns.
    pub(crate) async fn note_last(&self, turns: &mut [TurnRow]) {
        self.state().last.tell(turns);
        last::look_up(self.journal.clone(), turns).await;
    }

    /// How far the history is from what was accepted.
    pub(crate) fn lag(&self) -> Lag {
        let state = self.state();
        Lag {
            logs: state.left.len() + state.waiting.len() + state.taken.len(),
            failed_since: state.failed_since,
        }
    }

    /// Says once that the history cannot be written, and once that it can be again.
    fn tell(&self, passed: &Result<(), Broken>) {
        let now = self.clock.now();
        let mut state = self.state();
        match (passed, state.failed_since) {
            (Err(broken), None) => {
                state.failed_since = Some(now);
                let why = "the history cannot be written; the journal keeps everything meanwhile";
                tracing::warn!(%broken, "{why}");
            }
            (Ok(()), Some(since)) => {
                state.failed_since = None;
                let seconds = now.0.saturating_sub(since.0) / 1000;
                tracing::info!(seconds, "the history is written again");
            }
            (Err(_), Some(_)) | (Ok(()), None) => {}
        }
    }

    /// Brings in what was marked before. What is marked meanwhile is for the next pass, or none would
    /// ever end while much happens.
    async fn pass(&self) -> Result<(), Broken> {
        let marked = self.marks.count();
        self.spend().await;
        self.record().await?;
        self.bring_in().await?;
        let mut left = self.state().dirty.len();
        while left > 0 {
            // Sessions wait for that.
            self.spend().await;
            let logs = self.take(left);
            left -= logs.len();
            let projected = self.project(&logs).await;
            {
                let mut state = self.state();
                state.taken.clear();
                match projected {
                    Err(broken) => {
                        state.give_back(logs);
                        return Err(broken);
                    }
                    Ok(cut) => {
                        left += cut.len();
                        for log in cut {
                            state.put_off(log);
                        }
                    }
                }
                for log in logs {
                    state.tidy(log.number);
                }
            }
            // Who waits for one session may have it.
            self.marks.tell();
        }
        self.marks.are_done(marked);
        Ok(())
    }

    /// Takes so many logs out, or as many as a transaction takes, to be written. From here on they can
    /// be marked again.
    fn take(&self, left: usize) -> Vec<Waiting> {
        let mut state = self.state();
        let count = left.min(state.dirty.len()).min(MAX_BATCH);
        let numbers: Vec<_> = state.dirty.drain(..count).collect();
        let take = |number: &LogNo| {
            let mut log = state.waiting.remove(number)?;
            log.from = state.done.get(number).map_or(log.from, |done| done.at);
            Some(log)
        };
        let logs: Vec<_> = numbers.iter().filter_map(take).collect();
        state.taken = logs.iter().map(|log| (log.number, log.clone())).collect();
        logs
    }

    /// Writes what logs have new, of each so much as a transaction takes; those with more.
    async fn project(&self, logs: &[Waiting]) -> Result<Vec<Waiting>, Broken> {
        let mut projections = Vec::with_capacity(logs.len());
        let mut positions = Vec::with_capacity(logs.len());
        for log in logs {
            let events = match self.read(log, log.from, MAX_EVENTS).await {
                Ok(events) => events,
                Err(broken @ Broken::Damaged(_)) => {
                    let Some(deletion) = self.deletion(log).await else {
                        // One bad log must not keep the others back; its rows stay in the journal.
                        tracing::error!(session = %log.session, %broken, "a log cannot be read");
                        self.damages.session(&log.session, &broken.to_string());
                        continue;
                    };
                    vec![deletion]
                }
                Err(broken) => return Err(broken),
            };
            let mut state = self.state();
            state.last.note(&log.session, &events);
            state.recording.take(&log.session, log.number, &events);
            drop(state);
            let Some(projection) = projection::project(&log.session, &events) else {
                continue;
            };
            let is_closed = matches!(projection.changes.last(), Some((_, Change::Close)));
            let is_cut = events.len() >= MAX_EVENTS;
            positions.push((log, projection.up_to, (is_closed, is_cut)));
            projections.push(projection);
        }
        // First: a position of the history says that the audit is as far.
        self.record().await?;
        if projections.is_empty() {
            return Ok(Vec::new());
        }
        let said: Vec<ProjectedIds> = projections.iter().map(ProjectedIds::of).collect();
        let left_out = self.write(projections).await?;
        for (place, said) in said.into_iter().enumerate() {
            if !left_out.contains(&place) {
                self.claims.projected(said);
            }
        }
        let mut cut = Vec::new();
        for (place, (log, up_to, (is_closed, is_cut))) in positions.into_iter().enumerate() {
            let is_written = !left_out.contains(&place);
            let mut state = self.state();
            state.note(&log.session, log.number, up_to, is_written);
            if is_closed {
                state.done.remove(&log.number);
            }
            drop(state);
            if let Some(log) = log.log.upgrade().filter(|_| is_written) {
                log.is_projected(up_to);
            }
            if is_cut && is_written {
                let from = up_to;
                cut.push(Waiting {
                    from,
                    ..log.clone()
                });
            }
        }
        Ok(cut)
    }

    /// Writes all of them, or, when one session's rows are damaged, all of the others. Answers with
    /// the places of those that were left out: the journal keeps what they lack.
    async fn write(&self, projections: Vec<Projection>) -> Result<Vec<usize>, Broken> {
        match self.history.project(projections.clone()).await {
            Err(Broken::Damaged(_)) => {}
            written => return written.map(|()| Vec::new()),
        }
        let mut left_out = Vec::new();
        for (place, one) in projections.into_iter().enumerate() {
            let session = one.session.clone();
            match self.history.project(vec![one]).await {
                Err(Broken::Damaged(why)) => {
                    tracing::error!(why, "a session's rows are damaged and stay as they are");
                    self.damages.session(&session, &why);
                    left_out.push(place);
                }
                written => written?,
            }
        }
        Ok(left_out)
    }
}
