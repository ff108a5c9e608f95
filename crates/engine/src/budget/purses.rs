//! The accounts of the trees that live, shared by the turns that draw from them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use samovar_core::{
    Broken, Budget, CallId, Closer, Event, Journal, Kind, Millis, SessionId, TurnId,
};

use super::Account;
use crate::log::Draft;
use crate::projector::read_open;

/// A handle to the account of a tree.
#[derive(Clone, Debug)]
pub(crate) struct Purse(Arc<Mutex<Account>>);

/// From which account each turn draws.
#[derive(Debug, Default)]
pub(crate) struct Purses(Mutex<HashMap<TurnId, Weak<Mutex<Account>>>>);

impl Purse {
    pub(super) fn new(limit: Budget, began: Millis) -> Self {
        Self(Arc::new(Mutex::new(Account::new(limit, began))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Account> {
        lock(&self.0)
    }
}

impl Purses {
    /// The account of a turn that begins with a budget of its own; `None` without a limit.
    pub(crate) fn open(&self, turn: &TurnId, limit: Budget, began: Millis) -> Option<Purse> {
        let purse = (!limit.is_empty()).then(|| Purse::new(limit, began))?;
        self.join(turn, &purse);
        Some(purse)
    }

    /// Notes that a turn draws from an account.
    pub(crate) fn join(&self, turn: &TurnId, purse: &Purse) {
        let mut purses = lock(&self.0);
        // Those of sessions that have left memory; they come back with them.
        purses.retain(|_, purse| purse.strong_count() > 0);
        purses.insert(turn.clone(), Arc::downgrade(&purse.0));
    }

    /// Takes in events that are kept.
    pub(crate) fn note(&self, events: &[Arc<Event>]) {
        let mut purses = lock(&self.0);
        if purses.is_empty() {
            return;
        }
        for event in events {
            let Some(turn) = &event.turn else { continue };
            if let Some(account) = purses.get(turn).and_then(Weak::upgrade) {
                lock(&account).take(turn, &event.kind);
            }
            if matches!(event.kind, Kind::TurnFinished { .. }) {
                purses.remove(turn);
            }
        }
    }

    /// What is left for a turn that lives; `None` if it draws from no account, or is not in memory.
    pub(crate) fn left(&self, turn: &TurnId, now: Millis) -> Option<Budget> {
        let account = lock(&self.0).get(turn)?.upgrade()?;
        let left = lock(&account).left(now);
        Some(left)
    }

    /// The same, once these facts are kept.
    pub(crate) fn left_after(&self, turn: &TurnId, now: Millis, facts: &[Draft]) -> Option<Budget> {
        let account = lock(&self.0).get(turn)?.upgrade()?;
        let mut account = lock(&account).clone();
        let of_turn = facts.iter().filter(|fact| fact.turn.as_ref() == Some(turn));
        of_turn.for_each(|fact| account.take(turn, &fact.kind));
        Some(account.left(now))
    }
}

/// The accounts of a session's turns, from its events.
pub(crate) fn replay(events: &[Arc<Event>]) -> HashMap<TurnId, Purse> {
    let (mut callers, mut purses) = (HashMap::<&CallId, &TurnId>::new(), HashMap::new());
    for event in events {
        let Some(turn) = &event.turn else { continue };
        match &event.kind {
            Kind::CallStarted {
                call,
                closer: Closer::Child,
                ..
            } => drop(callers.insert(call, turn)),
            Kind::TurnStarted {
                limits,
                parent_call,
                background,
                ..
            } => {
                let caller = parent_call.as_ref().and_then(|call| callers.get(call));
                let above: Option<Purse> = caller.and_then(|caller| purses.get(*caller)).cloned();
                let is_own = parent_call.is_none() || *background;
                if let Some(above) = above.as_ref().filter(|_| is_own) {
                    above.lock().give(&limits.budget);
                }
                let own = || Purse::new(limits.budget, event.at);
                let own = (is_own && !limits.budget.is_empty()).then(own);
                if let Some(purse) = own.or(above.filter(|_| !is_own)) {
                    purses.insert(turn.clone(), purse);
                }
            }
            _ => {}
        }
        if let Some(purse) = purses.get(turn) {
            purse.lock().take(turn, &event.kind);
        }
    }
    purses
}

/// What is left for a turn of a session that is not in memory, as its log has it; `None` if it draws
/// from no account, or is over.
///
/// # Errors
/// [`Broken`].
pub(crate) fn kept_left(
    journal: &dyn Journal,
    session: &SessionId,
    turn: &TurnId,
    now: Millis,
) -> Result<Option<Budget>, Broken> {
    let purses = replay(&read_open(journal, session)?);
    Ok(purses.get(turn).map(|purse| purse.lock().left(now)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change is whole before it can fail.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
