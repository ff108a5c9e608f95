//! The open calls that are settled from outside, over all sessions: a caller settles one without
//! knowing its session. One watcher can learn which sessions' open calls have changed.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::{AgentPath, Broken, CallId, Journal, Seq, SessionId, ToolCall, TurnId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::log::master;
use crate::projector::read_kept;
use crate::turn::Turn;

/// A call that waits to be settled from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: TurnId,
    /// The agent that asks.
    pub agent: AgentPath,
    /// What is asked.
    pub call: ToolCall,
}

/// All of them. A view of the logs, made anew at each start: a session is in it once it was in
/// memory.
#[derive(Default)]
pub(crate) struct OpenCalls {
    known: Mutex<HashMap<SessionId, SessionCalls>>,
    /// The sessions whose calls are others than when they were looked at last; nothing where nobody
    /// looks. Locked behind `known`.
    changed: Mutex<BTreeSet<SessionId>>,
    is_watched: AtomicBool,
    bell: Notify,
    /// Sessions that a former run left and that were not in memory since, as far as anybody looked.
    pub(crate) unread: tokio::sync::Mutex<Vec<SessionId>>,
}

/// What waits in one session, which has one turn at a time.
#[derive(PartialEq)]
struct SessionCalls {
    turn: TurnId,
    calls: Vec<ToolCall>,
}

impl OpenCalls {
    /// Takes in how a turn stands, once that is kept.
    pub(crate) fn note(&self, session: &SessionId, turn_id: &TurnId, turn: &Turn) {
        let calls: Vec<_> = turn.outside_calls().cloned().collect();
        if calls.is_empty() {
            return self.forget(session, turn_id);
        }
        let turn = turn_id.clone();
        let waiting = SessionCalls { turn, calls };
        let mut known = self.lock();
        if known.get(session) != Some(&waiting) {
            known.insert(session.clone(), waiting);
            self.has_changed(session);
        }
    }

    /// Takes in that a turn waits no more.
    pub(crate) fn forget(&self, session: &SessionId, turn_id: &TurnId) {
        let mut known = self.lock();
        if known
            .get(session)
            .is_some_and(|waiting| waiting.turn == *turn_id)
        {
            known.remove(session);
            self.has_changed(session);
        }
    }

    fn has_changed(&self, session: &SessionId) {
        if self.is_watched.load(Ordering::Relaxed) {
            lock(&self.changed).insert(session.clone());
            self.bell.notify_one();
        }
    }

    /// The session of a call, if that is known.
    pub(crate) fn session_of(&self, call: &CallId) -> Option<SessionId> {
        let known = self.lock();
        let has = |waiting: &SessionCalls| waiting.calls.iter().any(|open| open.id == *call);
        let found = known.iter().find(|(_, waiting)| has(waiting));
        found.map(|(session, _)| session.clone())
    }

    /// All that are known, those of the oldest turn first.
    pub(crate) fn list(&self) -> Vec<OpenCall> {
        let known = self.lock();
        let all = known
            .iter()
            .flat_map(|(session, waiting)| waiting.list(session));
        let mut calls: Vec<_> = all.collect();
        drop(known);
        // Ids of turns are made in the order of time, and the calls of one stand as they were asked.
        calls.sort_by(|a, b| a.turn.cmp(&b.turn));
        calls
    }

    fn of(&self, session: &SessionId) -> Vec<OpenCall> {
        let known = self.lock();
        let waiting = known.get(session);
        waiting.map_or_else(Vec::new, |waiting| waiting.list(session).collect())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, SessionCalls>> {
        lock(&self.known)
    }
}

impl SessionCalls {
    fn list(&self, session: &SessionId) -> impl Iterator<Item = OpenCall> {
        self.calls.iter().map(|call| OpenCall {
            session: session.clone(),
            turn: self.turn.clone(),
            agent: master(),
            call: call.clone(),
        })
    }
}

/// The calls of a session that wait for somebody outside, as its log has them: nothing of it comes into
/// memory, so none of its turns goes on.
///
/// # Errors
/// [`Broken`].
pub(crate) fn kept(journal: &dyn Journal, session: &SessionId) -> Result<Vec<OpenCall>, Broken> {
    let entry = journal.entry(session)?.filter(|entry| !entry.deleted);
    let Some((first, entry)) = entry.and_then(|entry| Some((entry.open_from?, entry))) else {
        return Ok(Vec::new());
    };
    let events = read_kept(
        journal,
        entry.log,
        Seq(first.0.saturating_sub(1)),
        entry.head,
    )?;
    let mut turns: Vec<(TurnId, Turn)> = Vec::new();
    for event in events {
        let Some(id) = &event.turn else { continue };
        let at = turns.iter().position(|(other, _)| other == id);
        let at = at.unwrap_or_else(|| {
            turns.push((id.clone(), Turn::new()));
            turns.len() - 1
        });
        turns[at].1.apply(&event.kind);
    }
    let waiting = turns.into_iter().flat_map(|(turn, state)| {
        let calls = state.outside_calls().cloned().collect();
        SessionCalls { turn, calls }
            .list(session)
            .collect::<Vec<_>>()
    });
    Ok(waiting.collect())
}

/// A watcher of the calls that wait to be settled from outside; an engine has one.
pub struct CallWatch {
    calls: Arc<OpenCalls>,
    stop: CancellationToken,
}

impl CallWatch {
    /// Those that are known now are all new to it.
    pub(crate) fn new(calls: Arc<OpenCalls>, stop: CancellationToken) -> Self {
        calls.is_watched.store(true, Ordering::Relaxed);
        let known = calls.lock();
        lock(&calls.changed).extend(known.keys().cloned());
        drop(known);
        calls.bell.notify_one();
        Self { calls, stop }
    }

    /// The sessions whose open calls have changed, each with its current ones in the order in which
    /// they were asked, or none. Waits until there is one; `None` when the engine ends. If the
    /// future is dropped halfway, the changes are reported again.
    pub async fn next(&mut self) -> Option<Vec<(SessionId, Vec<OpenCall>)>> {
        let calls = &self.calls;
        loop {
            let changed = std::mem::take(&mut *lock(&calls.changed));
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
                () = calls.bell.notified() => {}
                () = self.stop.cancelled() => return None,
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
