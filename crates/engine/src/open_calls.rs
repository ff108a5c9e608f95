//! The calls that wait for somebody outside, over all sessions: who settles one need not know where
//! it stands.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use samovar_core::{CallId, SessionId, ToolCall, TurnId};

use crate::turn::Turn;

/// A call that waits for somebody outside.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenCall {
    /// Its session.
    pub session: SessionId,
    /// Its turn.
    pub turn: TurnId,
    /// What is asked.
    pub call: ToolCall,
}

/// All of them. A view of the logs, made anew at each start: a session is in it once it was in
/// memory.
#[derive(Default)]
pub(crate) struct OpenCalls {
    known: Mutex<HashMap<SessionId, Waiting>>,
    /// Sessions that a former run left and that were not in memory since, as far as anybody looked.
    pub(crate) unread: tokio::sync::Mutex<Vec<SessionId>>,
}

/// What waits in one session, which has one turn at a time.
struct Waiting {
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
        self.lock().insert(session.clone(), Waiting { turn, calls });
    }

    /// Takes in that a turn waits no more.
    pub(crate) fn forget(&self, session: &SessionId, turn_id: &TurnId) {
        let mut known = self.lock();
        if known
            .get(session)
            .is_some_and(|waiting| waiting.turn == *turn_id)
        {
            known.remove(session);
        }
    }

    /// The session of a call, if that is known.
    pub(crate) fn session_of(&self, call: &CallId) -> Option<SessionId> {
        let known = self.lock();
        let has = |waiting: &Waiting| waiting.calls.iter().any(|open| open.id == *call);
        let found = known.iter().find(|(_, waiting)| has(waiting));
        found.map(|(session, _)| session.clone())
    }

    /// All that are known, those of the oldest turn first.
    pub(crate) fn list(&self) -> Vec<OpenCall> {
        let known = self.lock();
        let mut calls: Vec<_> = known
            .iter()
            .flat_map(|(session, waiting)| {
                waiting.calls.iter().map(|call| OpenCall {
                    session: session.clone(),
                    turn: waiting.turn.clone(),
                    call: call.clone(),
                })
            })
            .collect();
        drop(known);
        // Ids of turns are made in the order of time, and the calls of one stand as they were asked.
        calls.sort_by(|a, b| a.turn.cmp(&b.turn));
        calls
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Waiting>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
