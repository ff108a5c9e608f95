//! A journal in memory: the same port as the real one, with the same answers, as long as a test lives.
//!
//! It is bounded by what is in use: a log holds its unfinished turns, what the history lacks, and
//! what has finished since the last sweep. A deleted session leaves nothing once the history knows
//! of it, so its positions are given out again if its id is ever reused.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::journal::{Batch, LogEntry, LogNo};
use samovar_core::{
    AgentPath, Author, Broken, Epoch, Event, Future, Journal, Kind, Millis, Seq, SessionId,
};

/// The only run that such a journal has.
const EPOCH: Epoch = Epoch(1);

/// The journal in memory.
#[derive(Default)]
pub struct MemoryJournal {
    state: Mutex<State>,
    last_log: AtomicU64,
}

/// The size of a journal in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Logs of which something is known.
    pub logs: usize,
    /// Events, live ones too.
    pub events: usize,
    /// About how many bytes of memory they take.
    pub bytes: usize,
    /// Ends of turns that a sweep has not come to.
    pub due: usize,
}

#[derive(Default)]
struct State {
    logs: HashMap<LogNo, HeldLog>,
    /// The newest log of each session.
    sessions: HashMap<SessionId, LogNo>,
    is_closed: bool,
}

struct HeldLog {
    session: SessionId,
    events: BTreeMap<Seq, Row>,
    head: Seq,
    open_from: Option<Seq>,
    /// Up to where no turn is unfinished any more.
    finished: Seq,
    /// Since when that was up to which position: what a sweep may remove.
    due: VecDeque<(Millis, Seq)>,
    is_unprojected: bool,
    is_deleted: bool,
}

struct Row {
    event: Arc<Event>,
    bytes: usize,
}

impl MemoryJournal {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// How much it holds now.
    pub fn held(&self) -> MemoryUse {
        let state = self.state();
        let rows = || state.logs.values().flat_map(|log| log.events.values());
        MemoryUse {
            logs: state.logs.len(),
            events: rows().count(),
            bytes: rows().map(|row| row.bytes).sum(),
            due: state.logs.values().map(|log| log.due.len()).sum(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // What can fail is looked at before anything is changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, unless the journal is closed.
    fn opened(&self) -> Result<MutexGuard<'_, State>, Broken> {
        let state = self.state();
        if state.is_closed {
            return Err(Broken::Io("the journal is closed".to_owned()));
        }
        Ok(state)
    }

    fn change(&self, change: impl FnOnce(&mut State)) -> Future<'static, Result<(), Broken>> {
        done(self.opened().map(|mut state| change(&mut state)))
    }
}

/// Memory waits for nobody: whatever is asked is done before the future is polled.
fn done(outcome: Result<(), Broken>) -> Future<'static, Result<(), Broken>> {
    Box::pin(std::future::ready(outcome))
}

impl Journal for MemoryJournal {
    fn epoch(&self) -> Epoch {
        EPOCH
    }

    fn was_closed(&self) -> bool {
        true
    }

    fn new_log(&self) -> LogNo {
        LogNo(self.last_log.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        let rows = pack(&batch);
        let kept = rows.and_then(|rows| self.opened()?.keep(&batch, rows));
        done(kept)
    }

    /// Live events are the log's own until a commit brings them: nothing outlives the process, so
    /// there is nothing that they could be saved from.
    fn spool(&self, _log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        drop(self.opened()?);
        events.iter().try_for_each(|event| check_epoch(event))
    }

    fn entry(&self, session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        let state = self.opened()?;
        let log = state.sessions.get(session).copied();
        Ok(log.and_then(|log| Some(state.logs.get(&log)?.entry(log))))
    }

    fn read(&self, log: LogNo, after: Seq, max_bytes: usize) -> Result<Vec<Event>, Broken> {
        let state = self.opened()?;
        let Some(log) = state.logs.get(&log) else {
            return Ok(Vec::new());
        };
        let mut bytes = 0;
        let behind = log.events.range((Excluded(after), Unbounded));
        let fitting = behind.take_while(|(_, row)| {
            let fits = bytes < max_bytes.max(1);
            bytes += row.bytes;
            fits
        });
        Ok(fitting.map(|(_, row)| Event::clone(&row.event)).collect())
    }

    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        let state = self.opened()?;
        let entries = state.logs.iter();
        let needy = entries.filter(|(_, log)| log.is_unprojected || log.open_from.is_some());
        let mut needy: Vec<_> = needy
            .map(|(no, log)| (log.session.clone(), log.entry(*no)))
            .collect();
        needy.sort_by_key(|(_, entry)| entry.log);
        Ok(needy)
    }

    fn projected(&self, marks: Vec<(LogNo, Seq)>) {
        let mut state = self.state();
        for (no, mark) in marks {
            let Some(log) = state.logs.get_mut(&no).filter(|log| log.head <= mark) else {
                continue;
            };
            log.is_unprojected = false;
            if log.is_deleted {
                state.forget(no);
            }
        }
    }

    fn give_up(&self, log: LogNo, up_to: Seq, at: Millis) -> Future<'static, Result<(), Broken>> {
        self.change(|state| {
            if let Some(held) = state.logs.get_mut(&log) {
                held.give_up(up_to, at);
            }
        })
    }

    fn discard(&self, session: &SessionId) -> Future<'static, Result<(), Broken>> {
        self.change(|state| {
            if let Some(log) = state.sessions.get(session).copied() {
                state.forget(log);
            }
        })
    }

    fn sweep(&self, before: Millis) -> Future<'static, Result<(), Broken>> {
        self.change(|state| state.sweep(before))
    }

    fn close(&self) -> Future<'static, Result<(), Broken>> {
        *self.state() = State {
            is_closed: true,
            ..State::default()
        };
        done(Ok(()))
    }
}

impl State {
    /// Keeps all of a batch, or nothing when one of its positions is taken.
    fn keep(&mut self, batch: &Batch, rows: Vec<Row>) -> Result<(), Broken> {
        if let Some(log) = self.logs.get(&batch.log)
            && let Some(taken) = rows
                .iter()
                .find(|row| log.events.contains_key(&row.event.seq))
        {
            return Err(Broken::Io(format!(
                "log {}, seq {} is kept already",
                batch.log.0, taken.event.seq.0
            )));
        }
        let at = rows.iter().map(|row| row.event.at).max();
        let log = self.log_of(batch);
        log.is_unprojected |= !rows.is_empty();
        for row in rows {
            log.take(row);
        }
        log.finish(batch.open_from, at.unwrap_or_default());
        Ok(())
    }

    fn log_of(&mut self, batch: &Batch) -> &mut HeldLog {
        let (session, number) = (&batch.session, batch.log);
        self.logs.entry(number).or_insert_with(|| {
            // The newest log of a session stands for it, should an older one get a late event.
            let newest = self.sessions.entry(session.clone()).or_insert(number);
            *newest = number.max(*newest);
            HeldLog::new(session.clone())
        })
    }

    fn sweep(&mut self, before: Millis) {
        let logs = self.logs.iter_mut();
        let swept = logs.filter_map(|(number, log)| log.sweep(before).then_some(*number));
        let empty: Vec<_> = swept.collect();
        for log in empty {
            self.forget(log);
        }
    }

    fn forget(&mut self, number: LogNo) {
        let Some(log) = self.logs.remove(&number) else {
            return;
        };
        if self.sessions.get(&log.session) == Some(&number) {
            self.sessions.remove(&log.session);
        }
    }
}

impl HeldLog {
    fn new(session: SessionId) -> Self {
        Self {
            session,
            events: BTreeMap::new(),
            head: Seq::default(),
            open_from: None,
            finished: Seq::default(),
            due: VecDeque::new(),
            is_unprojected: false,
            is_deleted: false,
        }
    }

    fn entry(&self, log: LogNo) -> LogEntry {
        LogEntry {
            log,
            head: self.head,
            open_from: self.open_from,
            unprojected: self.is_unprojected,
            deleted: self.is_deleted,
        }
    }

    fn take(&mut self, row: Row) {
        self.head = self.head.max(row.event.seq);
        if matches!(row.event.kind, Kind::SessionClosed) {
            // Nobody needs what stands before it.
            self.is_deleted = true;
            self.events.clear();
        }
        self.events.insert(row.event.seq, row);
    }

    /// Notes from where turns are unfinished now.
    fn finish(&mut self, open_from: Option<Seq>, at: Millis) {
        self.open_from = open_from;
        let finished = match open_from {
            Some(from) => Seq(from.0.saturating_sub(1)),
            None => self.head,
        };
        if finished > self.finished {
            self.finished = finished;
            self.due.push_back((at, finished));
        }
    }

    /// Removes what has finished before a time, unless the history lacks some of the log. Whether
    /// nothing is left of it then.
    fn sweep(&mut self, before: Millis) -> bool {
        if self.is_unprojected {
            return false;
        }
        while let Some((at, up_to)) = self.due.front().copied()
            && at < before
        {
            let behind = up_to.next();
            let kept = self.open_from.map_or(behind, |from| from.min(behind));
            self.events = self.events.split_off(&kept);
            if kept < behind {
                return false;
            }
            self.due.pop_front();
        }
        self.events.is_empty() && self.open_from.is_none()
    }

    /// Steps over what lies between the head and a position.
    fn give_up(&mut self, up_to: Seq, at: Millis) {
        let first = self.head.next();
        if up_to < first {
            return;
        }
        let lost = Arc::new(Event {
            seq: up_to,
            epoch: EPOCH,
            at,
            turn: None,
            agent: AgentPath::root("master"),
            author: Author::System,
            kind: Kind::EventsLost { first },
        });
        if self.finished == self.head {
            self.finished = up_to;
        }
        self.take(Row {
            bytes: size_of::<Event>(),
            event: lost,
        });
    }
}

/// The rows of a batch, in the order of their positions.
fn pack(batch: &Batch) -> Result<Vec<Row>, Broken> {
    let all = batch.folded.iter().chain(&batch.events);
    let rows = all.map(|event| {
        check_epoch(event)?;
        Ok(Row {
            bytes: weigh(event)?,
            event: event.clone(),
        })
    });
    let mut rows: Vec<_> = rows.collect::<Result<_, Broken>>()?;
    rows.sort_by_key(|row| row.event.seq);
    Ok(rows)
}

fn check_epoch(event: &Event) -> Result<(), Broken> {
    if event.epoch == EPOCH {
        return Ok(());
    }
    let (made, now) = (event.epoch.0, EPOCH.0);
    Err(Broken::Io(format!(
        "an event of epoch {made} was to be kept in epoch {now}"
    )))
}

/// About how many bytes of memory an event takes: itself, and as much again as its JSON is long.
fn weigh(event: &Event) -> Result<usize, Broken> {
    let mut json = Length(0);
    serde_json::to_writer(&mut json, event).map_err(|error| Broken::Io(error.to_string()))?;
    Ok(size_of::<Event>() + json.0)
}

/// Counts bytes instead of holding them: this runs for every delta.
struct Length(usize);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
