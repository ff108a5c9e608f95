//! A room with its log and its members' queues: what the pure room decides is kept, then done.
//!
//! One lock a room. A step takes it once: the room decides, its rows are written, then the queues are
//! filled; a message to a host in this process is answered by it under the same lock.

mod sync_queue;

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use samovar_core::relay::{
    Envelope, Host, HostContext, HostKind, MessageKind, PersonDeed, RelayCode, RelayRole, RoomInfo,
};
use samovar_core::{Clock, planted};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::log::SyncedFile;
use crate::logs::{RoomLog, StudyLogs};
use crate::queue::{Disconnected, Item, Queue, RowAddress};
use crate::room::{Change, Delivery, Key, Refusal, Room, RoomTime, Rules, Step, Study};
use sync_queue::{Admission, SyncQueue};

/// What all rooms share.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) logs: StudyLogs,
    pub(crate) rules: Rules,
    pub(crate) began: Instant,
}

impl Shared {
    fn now(&self) -> RoomTime {
        RoomTime {
            wall: self.clock.now(),
            since: self.began.elapsed(),
        }
    }
}

/// A room.
pub(crate) struct Cell {
    name: String,
    shared: Arc<Shared>,
    state: Mutex<State>,
}

struct State {
    room: Room,
    log: RoomLog,
    queues: HashMap<Key, Arc<Queue>>,
    built_in: Option<Box<dyn Host>>,
    /// What waits for a log to be on the disk.
    sync_queue: SyncQueue,
    /// Whether somebody was here before, so that the log is open.
    is_begun: bool,
    /// Whether the room was given up; who comes creates it again.
    is_dead: bool,
}

/// The room was given up in this very moment.
pub(crate) struct RoomClosed;

/// What the step of a member leaves to be waited for.
pub(crate) type FlushTask = Option<JoinHandle<()>>;

/// One visit under the room's lock.
struct RoomGuard<'a> {
    cell: &'a Arc<Cell>,
    state: MutexGuard<'a, State>,
    now: RoomTime,
    /// What the host in this process has to hear.
    to_host: VecDeque<Arc<Envelope>>,
    /// Who is gone, because its queue is full.
    overrun: Vec<Key>,
    flushed: FlushTask,
    /// Why something could not be kept.
    broken: Option<String>,
}

impl Cell {
    pub(crate) fn new(name: &str, shared: Arc<Shared>) -> Self {
        let state = State {
            room: Room::new(name.to_owned(), shared.rules),
            log: RoomLog::new(shared.logs.clone(), name),
            queues: HashMap::new(),
            built_in: None,
            sync_queue: SyncQueue::default(),
            is_begun: false,
            is_dead: false,
        };
        Self {
            name: name.to_owned(),
            shared,
            state: Mutex::new(state),
        }
    }

    /// A member comes in with its `relay.join`; when it cannot, it is told so.
    pub(crate) fn join(
        self: &Arc<Self>,
        (key, queue): (Key, &Arc<Queue>),
        role: RelayRole,
        asked: &Envelope,
    ) -> Result<bool, RoomClosed> {
        let mut visit = self.visit()?;
        if let Err(refusal) = visit.state.room.has_place(key, role) {
            refuse(queue, &refusal, asked.id.clone());
            return Ok(false);
        }
        visit.state.queues.insert(key, queue.clone());
        let step = visit.state.room.joined(key, role, asked, visit.now);
        visit.run(step);
        let is_in = visit.state.room.role(key).is_some();
        if !is_in {
            visit.state.queues.remove(&key);
        }
        drop(visit.end());
        Ok(is_in)
    }

    /// A host in this process takes the host's place.
    ///
    /// # Errors
    /// [`RoomClosed`]; or why its coming could not be kept.
    pub(crate) fn attach(
        self: &Arc<Self>,
        key: Key,
        host: &mut Option<Box<dyn Host>>,
    ) -> Result<Result<(), String>, RoomClosed> {
        let mut visit = self.visit()?;
        let step = visit.state.room.attached(key, visit.now);
        visit.run(step);
        if visit.state.room.role(key).is_some()
            && let Some(mut host) = host.take()
        {
            if let Study::Open(study) = visit.state.room.study() {
                host.resume(study, visit.state.log.begun_or(visit.now.wall));
            }
            visit.state.built_in = Some(host);
        }
        let broken = visit.broken.take();
        visit.end();
        Ok(broken.map_or(Ok(()), Err))
    }

    /// A member says something.
    pub(crate) fn said(self: &Arc<Self>, key: Key, envelope: Envelope) -> FlushTask {
        let mut visit = self.visit().ok()?;
        let step = visit.state.room.said(key, envelope, visit.now);
        visit.run(step);
        visit.end()
    }

    /// Whether somebody new has room in this role.
    pub(crate) fn has_place(&self, key: Key, role: RelayRole) -> Result<(), Refusal> {
        self.state().room.has_place(key, role)
    }

    /// A member is refused something that did not come to the room.
    pub(crate) fn refused(self: &Arc<Self>, key: Key, refusal: &Refusal, reply_to: Option<String>) {
        if let Ok(mut visit) = self.visit() {
            let step = visit.state.room.refused(key, refusal, reply_to, visit.now);
            visit.run(step);
            visit.end();
        }
    }

    /// A person does something at the host in this process.
    ///
    /// # Errors
    /// Why it did not happen.
    pub(crate) fn person(self: &Arc<Self>, deed: &PersonDeed) -> Result<(), PersonError> {
        let mut visit = self.visit().map_err(|RoomClosed| PersonError::NoHost)?;
        let done = visit.person(deed);
        let broken = visit.broken.take();
        visit.end();
        done.and(broken.map_or(Ok(()), |why| Err(PersonError::Broken(why))))
    }

    /// A member is gone.
    pub(crate) fn left(self: &Arc<Self>, key: Key) {
        if let Ok(mut visit) = self.visit() {
            visit.leave(key);
            visit.end();
        }
    }

    /// Gives up what was not answered in time.
    pub(crate) fn tick(self: &Arc<Self>) {
        if let Ok(visit) = self.visit() {
            visit.end();
        }
    }

    /// A log is on the disk, or is not: what waited for that continues.
    fn flushed(self: &Arc<Self>, number: u64, synced: &io::Result<()>) {
        let Ok(mut visit) = self.visit() else {
            return;
        };
        // Not behind what waits for the next log.
        for (to, item) in visit.state.sync_queue.done(number, synced) {
            visit.push(to, item);
        }
        visit.end();
    }

    /// When something happens by itself.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let since: Duration = self.state().room.deadline()?;
        Some(self.shared.began + since)
    }

    /// The end of the relay: everybody has left, and the files are left as they are.
    pub(crate) fn close(self: &Arc<Self>) {
        let Ok(mut visit) = self.visit() else {
            return;
        };
        for key in visit.state.room.members() {
            let queue = visit.state.queues.get(&key).cloned();
            visit.leave(key);
            if let Some(queue) = queue {
                queue.close(Disconnected::Closed);
            }
        }
        visit.state.log.close();
        visit.state.is_dead = true;
    }

    /// Who is there; none when it was given up.
    pub(crate) fn info(&self) -> Option<RoomInfo> {
        let state = self.state();
        let study = match state.room.study() {
            Study::Open(id) => Some(id.clone()),
            Study::None | Study::Stopped(_) => None,
        };
        (!state.is_dead).then(|| RoomInfo {
            room: self.name.clone(),
            host: state.room.host().map(|(_, kind)| kind),
            agents: state.room.agents() as u64,
            study,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether it was given up.
    pub(crate) fn is_dead(&self) -> bool {
        self.state().is_dead
    }

    fn visit(self: &Arc<Self>) -> Result<RoomGuard<'_>, RoomClosed> {
        let state = self.state();
        if state.is_dead {
            return Err(RoomClosed);
        }
        let mut visit = RoomGuard {
            cell: self,
            now: self.shared.now(),
            state,
            to_host: VecDeque::new(),
            overrun: Vec::new(),
            flushed: None,
            broken: None,
        };
        visit.begin();
        Ok(visit)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a person could not do something at a host.
#[derive(Debug)]
pub(crate) enum PersonError {
    /// There is no host in this process.
    NoHost,
    /// It is not to be done now.
    Refused(RelayCode, String),
    /// It was done, and could not be kept.
    Broken(String),
}

impl RoomGuard<'_> {
    /// Takes up the study session that is open here, and gives up what was not answered in time.
    fn begin(&mut self) {
        if !self.state.is_begun {
            self.state.is_begun = true;
            match self.state.log.resume(self.now.wall) {
                Ok(Some(study)) => self.state.room.begun(study),
                Ok(None) => {}
                Err(error) => {
                    let room = &self.cell.name;
                    tracing::error!(%error, room, "a study session cannot go on");
                    self.state.room.apply(vec![Change::Stop(error.to_string())]);
                }
            }
        }
        let deadline = self.state.room.deadline();
        if deadline.is_some_and(|deadline| deadline <= self.now.since) {
            let step = self.state.room.tick(self.now);
            self.run(step);
        }
    }

    /// Does a step, and all that follows from it.
    fn run(&mut self, step: Step) {
        self.keep(step);
        while let Some(heard) = self.to_host.pop_front() {
            let context = self.context(heard.kind);
            let Some((key, HostKind::BuiltIn)) = self.state.room.host() else {
                break;
            };
            let Some(host) = self.state.built_in.as_mut() else {
                break;
            };
            let said = host.hear(&heard, &context);
            self.host_says(key, said);
        }
    }

    /// The host in this process says something. What the relay answers is for others: what it refuses
    /// of that is in the log, and an answer of the host to it could be wrong again, for ever.
    fn host_says(&mut self, key: Key, said: Vec<Envelope>) {
        for envelope in said {
            let step = self.state.room.said(key, envelope, self.now);
            self.keep(step);
        }
    }

    /// A person does something at the host in this process.
    fn person(&mut self, deed: &PersonDeed) -> Result<(), PersonError> {
        let context = self.context(MessageKind::UserMessage);
        let Some((key, HostKind::BuiltIn)) = self.state.room.host() else {
            return Err(PersonError::NoHost);
        };
        let host = self.state.built_in.as_mut().ok_or(PersonError::NoHost)?;
        let said = host.person(deed, &context);
        let said = said.map_err(|(code, why)| PersonError::Refused(code, why))?;
        self.host_says(key, said);
        Ok(())
    }

    fn context(&self, kind: MessageKind) -> HostContext {
        let is_start = kind == MessageKind::SessionStart;
        let study = is_start.then(|| self.cell.shared.logs.propose(self.now.wall));
        HostContext {
            now: self.now.wall,
            room: self.cell.name.clone(),
            study: study.unwrap_or_default(),
        }
    }

    /// Keeps a step, then does it; or what happens when it cannot be kept.
    fn keep(&mut self, mut step: Step) {
        if step.is_empty() {
            return;
        }
        planted!("relay-row-left-out", {
            if step.rows.len() > 1 {
                step.rows.pop();
            }
        });
        planted!("relay-row-twice", {
            step.rows.extend(step.rows.clone());
        });
        let stale = self.coalesce(&mut step);
        let kept = if step.rows.is_empty() {
            None
        } else {
            match self.state.log.keep(&step) {
                Ok(kept) => Some(kept),
                Err(error) => {
                    for (queue, items) in stale {
                        queue.put_back(items);
                    }
                    return self.fail(&step, &error);
                }
            }
        };
        self.state.room.apply(std::mem::take(&mut step.changes));
        if !matches!(self.state.room.host(), Some((_, HostKind::BuiltIn))) {
            self.state.built_in = None;
        }
        let (mut first, mut ended) = (None, None);
        if let Some(kept) = kept {
            first = Some(kept.first);
            ended = kept.ended;
            if let Some(study) = kept.begun {
                self.state.room.begun(study);
            }
        }
        if let Some(file) = ended {
            self.state.room.ended();
            self.flush(file);
        }
        self.deliver(step.deliveries, first.as_ref());
        for (key, gone) in step.closes {
            self.close(key, gone);
        }
    }

    /// Nothing of a step could be kept.
    fn fail(&mut self, step: &Step, error: &io::Error) {
        let room = &self.cell.name;
        tracing::error!(%error, room, "the study log cannot be written");
        let instead = self.state.room.failed(step, &error.to_string());
        let stops = |change: &Change| matches!(change, Change::Stop(_));
        if instead.changes.iter().any(stops) {
            self.state.log.close_study();
        }
        self.broken = Some(error.to_string());
        self.state.room.apply(instead.changes);
        self.deliver(instead.deliveries, None);
    }

    /// Takes older states out of the queues that have not much room, for the one that comes.
    fn coalesce(&mut self, step: &mut Step) -> Vec<(Arc<Queue>, Vec<Item>)> {
        let mut taken = Vec::new();
        for at in 0..step.deliveries.len() {
            let Delivery { to, envelope, .. } = &step.deliveries[at];
            if envelope.kind != MessageKind::StateUpdated {
                continue;
            }
            let Some(queue) = self.state.queues.get(to) else {
                continue;
            };
            let stale = queue.take_stale();
            let logged: Vec<RowAddress> = stale
                .iter()
                .filter_map(|item| item.logged.clone())
                .collect();
            if !stale.is_empty() {
                self.state.room.note_coalesced(step, *to, &logged);
                taken.push((queue.clone(), stale));
            }
        }
        taken
    }

    fn deliver(&mut self, deliveries: Vec<Delivery>, first: Option<&RowAddress>) {
        for delivery in deliveries {
            let logged = first.zip(delivery.row).map(|(first, row)| RowAddress {
                session: first.session.clone(),
                index: first.index + row as u64,
            });
            let item = Item {
                envelope: delivery.envelope,
                bytes: delivery.bytes,
                logged,
            };
            self.hand(delivery.to, item);
        }
    }

    fn hand(&mut self, to: Key, item: Item) {
        if self.state.room.host() == Some((to, HostKind::BuiltIn)) {
            if item.envelope.kind != MessageKind::Error {
                self.to_host.push_back(item.envelope);
            }
            return;
        }
        let Some(queue) = self.state.queues.get(&to).cloned() else {
            return;
        };
        let max_bytes = queue.max_bytes();
        match self.state.sync_queue.keep_back(to, item, max_bytes) {
            Admission::Goes(item) => self.push(to, item),
            Admission::Waits => {}
            Admission::Overruns => {
                queue.close(Disconnected::Overrun);
                self.overrun.push(to);
            }
        }
    }

    /// Puts a message into its member's queue.
    fn push(&mut self, to: Key, item: Item) {
        let Some(queue) = self.state.queues.get(&to) else {
            return;
        };
        if queue.push(item) == Err(Disconnected::Overrun) {
            self.overrun.push(to);
        }
    }

    /// What comes to the members from now on waits until this file is on the disk.
    fn flush(&mut self, file: Arc<SyncedFile>) {
        let syncer = self.cell.shared.logs.syncer();
        let number = self.state.sync_queue.wait();
        let cell = self.cell.clone();
        let flushed = syncer.blocking(file, move |synced| cell.flushed(number, &synced));
        match flushed {
            Ok(flushed) => self.flushed = Some(flushed),
            Err(outcome) => drop(self.state.sync_queue.done(number, &outcome)),
        }
    }

    fn close(&mut self, key: Key, gone: Disconnected) {
        if let Some(queue) = self.state.queues.remove(&key) {
            queue.close(gone);
        }
    }

    fn leave(&mut self, key: Key) {
        let queue = self.state.queues.get(&key);
        let undelivered = queue.map_or(0, |queue| queue.len());
        let step = self.state.room.left(key, undelivered, self.now);
        self.run(step);
        self.state.queues.remove(&key);
    }

    /// Lets go of who is gone, and of the room when nobody is left.
    fn end(mut self) -> FlushTask {
        while let Some(key) = self.overrun.pop() {
            self.leave(key);
        }
        if self.state.room.is_empty() {
            self.state.log.close();
            self.state.is_dead = true;
        }
        self.flushed
    }
}

/// Tells somebody who is in no room why something was refused.
pub(crate) fn refuse(queue: &Queue, refusal: &Refusal, reply_to: Option<String>) {
    let envelope = refusal.envelope(reply_to);
    let bytes = crate::room::cost(&envelope, refusal.why.len());
    let item = Item {
        envelope: Arc::new(envelope),
        bytes,
        logged: None,
    };
    // Who is gone is told by its own queue.
    queue.push(item).unwrap_or_default();
}

#[cfg(test)]
mod tests;
