//! The open calls that are settled from outside, and those that wait for a person's decision, over
//! all sessions: a caller closes or decides one without knowing its session. Watchers learn which
//! sessions' open calls have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use samovar_core::approval::Asked;
use samovar_core::{AgentPath, ApprovalId, Broken, CallId, Journal, SessionId, ToolCall, TurnId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::projector::read_open;
use crate::state::State;
use crate::turn::Turn;

/// A call that waits to be settled from outside, or for a person's decision.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: TurnId,
    /// The agent that asks.
    pub agent: AgentPath,
    /// The call.
    pub call: ToolCall,
    /// What a person is to decide about it; `None` if the call waits for its outcome.
    pub asked: Option<Arc<Asked>>,
}

impl OpenCall {
    /// Whether it waits for this.
    pub(crate) fn is(&self, awaited: &Awaited) -> bool {
        awaits(&self.call, self.asked.as_deref(), awaited)
    }
}

fn awaits(call: &ToolCall, asked: Option<&Asked>, awaited: &Awaited) -> bool {
    match (awaited, asked) {
        (Awaited::Outcome(id), None) => call.id == *id,
        (Awaited::Decision(id), Some(asked)) => asked.id == *id,
        (Awaited::Outcome(_), Some(_)) | (Awaited::Decision(_), None) => false,
    }
}

/// All of them. A view of the logs, made again at each start: a session is in it once it was in
/// memory.
#[derive(Default)]
pub(crate) struct OpenCalls {
    known: Mutex<HashMap<SessionId, SessionCalls>>,
    /// Locked after `known`.
    watchers: Mutex<Vec<Weak<Watched>>>,
    /// Sessions that a former run left and that were not in memory since, as far as was looked.
    pub(crate) unread: tokio::sync::Mutex<Vec<SessionId>>,
}

/// What a client or a person closes or decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Awaited {
    /// The outcome of a call.
    Outcome(CallId),
    /// The decision about one.
    Decision(ApprovalId),
}

/// What waits in one session, by turn; ids of turns are made in the order of time.
type SessionCalls = BTreeMap<TurnId, TurnCalls>;

#[derive(Clone, PartialEq)]
struct TurnCalls {
    agent: AgentPath,
    calls: Vec<(ToolCall, Option<Arc<Asked>>)>,
}

impl TurnCalls {
    fn of(agent: AgentPath, turn: &Turn) -> Self {
        let outside = turn.outside_calls().map(|call| (call.clone(), None));
        let undecided = turn.undecided();
        let undecided =
            undecided.map(|(call, asked)| (call.clone(), Some(Arc::new(asked.clone()))));
        let calls = outside.chain(undecided).collect();
        Self { agent, calls }
    }

    fn awaits(&self, awaited: &Awaited) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|(call, asked)| awaits(call, asked.as_deref(), awaited))
    }
}

/// What a watcher has not seen yet.
#[derive(Default)]
struct Watched {
    /// The sessions whose calls are others than when it looked last.
    changed: Mutex<BTreeSet<SessionId>>,
    bell: Notify,
}

impl OpenCalls {
    /// Takes in how a turn stands: once that is kept, and before a reader can see it, so that each call
    /// can be closed at once.
    pub(crate) fn note(
        &self,
        session: &SessionId,
        turn_id: &TurnId,
        agent: &AgentPath,
        turn: &Turn,
    ) {
        let waiting = TurnCalls::of(agent.clone(), turn);
        if waiting.calls.is_empty() {
            return self.forget(session, turn_id);
        }
        let mut known = self.lock();
        let of_session = known.entry(session.clone()).or_default();
        if of_session.get(turn_id) != Some(&waiting) {
            of_session.insert(turn_id.clone(), waiting);
            self.has_changed(session);
        }
    }

    /// Takes in that a turn waits no more.
    pub(crate) fn forget(&self, session: &SessionId, turn_id: &TurnId) {
        let mut known = self.lock();
        let Some(of_session) = known.get_mut(session) else {
            return;
        };
        if of_session.remove(turn_id).is_some() {
            if of_session.is_empty() {
                known.remove(session);
            }
            self.has_changed(session);
        }
    }

    fn has_changed(&self, session: &SessionId) {
        lock(&self.watchers).retain(|watcher| {
            let Some(watcher) = watcher.upgrade() else {
                return false;
            };
            lock(&watcher.changed).insert(session.clone());
            watcher.bell.notify_one();
            true
        });
    }

    /// The session of what is awaited, if that is known.
    pub(crate) fn session_of(&self, awaited: &Awaited) -> Option<SessionId> {
        let known = self.lock();
        let has = |waiting: &SessionCalls| turn_with(waiting, awaited).is_some();
        let found = known.iter().find(|(_, waiting)| has(waiting));
        found.map(|(session, _)| session.clone())
    }

    /// The turn of a session that waits for this.
    pub(crate) fn turn_of(&self, session: &SessionId, awaited: &Awaited) -> Option<TurnId> {
        let known = self.lock();
        turn_with(known.get(session)?, awaited)
    }

    /// All that are known, those of the oldest turn first.
    pub(crate) fn list(&self) -> Vec<OpenCall> {
        let known = self.lock();
        let all = known.iter();
        let all = all.flat_map(|(session, waiting)| list(session, waiting));
        let mut calls: Vec<_> = all.collect();
        drop(known);
        // The calls of one turn stay in the order in which they were asked.
        calls.sort_by(|a, b| a.turn.cmp(&b.turn));
        calls
    }

    fn of(&self, session: &SessionId) -> Vec<OpenCall> {
        let known = self.lock();
        let waiting = known.get(session);
        waiting.map_or_else(Vec::new, |waiting| list(session, waiting).collect())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionCalls>> {
        lock(&self.known)
    }
}

fn turn_with(waiting: &SessionCalls, awaited: &Awaited) -> Option<TurnId> {
    let found = waiting.iter().find(|(_, turn)| turn.awaits(awaited));
    found.map(|(turn, _)| turn.clone())
}

fn list(session: &SessionId, waiting: &SessionCalls) -> impl Iterator<Item = OpenCall> {
    waiting.iter().flat_map(move |(turn, waiting)| {
        waiting.calls.iter().map(move |(call, asked)| OpenCall {
            session: session.clone(),
            turn: turn.clone(),
            agent: waiting.agent.clone(),
            call: call.clone(),
            asked: asked.clone(),
        })
    })
}

/// The calls of a session that wait for somebody outside, as its log has them: nothing of it comes
/// into memory, so none of its turns continues.
///
/// # Errors
/// [`Broken`].
pub(crate) fn kept(journal: &dyn Journal, session: &SessionId) -> Result<Vec<OpenCall>, Broken> {
    let state = State::of(&read_open(journal, session)?);
    let waiting = state.begun();
    let waiting =
        waiting.map(|(turn, open)| (turn.clone(), TurnCalls::of(open.agent.clone(), &open.turn)));
    let waiting: SessionCalls = waiting.collect();
    Ok(list(session, &waiting).collect())
}

/// A watcher of the calls that wait to be settled from outside.
pub struct CallWatch {
    calls: Arc<OpenCalls>,
    watched: Arc<Watched>,
    stop: CancellationToken,
}

impl CallWatch {
    /// Those that are known now are all new to it.
    pub(crate) fn new(calls: Arc<OpenCalls>, stop: CancellationToken) -> Self {
        let watched = Arc::new(Watched::default());
        let known = calls.lock();
        lock(&calls.watchers).push(Arc::downgrade(&watched));
        lock(&watched.changed).extend(known.keys().cloned());
        drop(known);
        watched.bell.notify_one();
        Self {
            calls,
            watched,
            stop,
        }
    }

    /// The sessions whose open calls have changed, each with its current ones in the order in which
    /// they were asked, or none. Waits until there is one; `None` when the engine ends. If the
    /// future is dropped halfway, the changes are reported again.
    pub async fn next(&mut self) -> Option<Vec<(SessionId, Vec<OpenCall>)>> {
        let calls = &self.calls;
        loop {
            let changed = std::mem::take(&mut *lock(&self.watched.changed));
            if !changed.is_empty() {
                let with_calls = changed.into_iter().map(|session| {
                    let open = calls.of(&session);
                    (session, open)
                });
                let mut changed: Vec<_> = with_calls.collect();
                let oldest = |calls: &[OpenCall]| calls.first().map(|open| open.turn.clone());
                changed.sort_by_key(|(_, calls)| oldest(calls));
                return Some(changed);
            }
            // Both are safe to drop halfway: a bell that rang unheard rings again.
            tokio::select! {
                () = self.watched.bell.notified() => {}
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
