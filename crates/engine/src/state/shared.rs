//! The state of a session, shared by its mailbox and the turns that run.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use samovar_core::{Budget, BudgetLimit, CallId, Entry, Event, Millis, TurnId};

use super::reserved::Reserved;
use super::{Queued, State};
use crate::budget::{Account, Ask};
use crate::counts::Gauge;

/// A handle to the state.
#[derive(Clone, Debug)]
pub(crate) struct SharedState(Arc<Mutex<Shared>>);

#[derive(Debug)]
pub(crate) struct Shared {
    state: State,
    /// The turns of messages that the turn which runs has taken, and that are not kept as a part of it
    /// yet.
    joining: Vec<TurnId>,
    /// The turn of a message that is about to end before it begins, so that no other takes it.
    leaving: Option<TurnId>,
    /// The calls that are about to be closed: by their turn, or for a client.
    closing: Vec<(TurnId, CallId)>,
    reserved: Reserved,
    /// Where those are counted that wait.
    gauge: Gauge,
}

/// What became of a wish to take a waiting message out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Removal {
    /// It waits, and joins nothing until it is put back.
    Out,
    /// The running turn has taken it; it is not yet known whether it can be kept there.
    Joining,
    /// It does not wait.
    Nothing,
}

/// What became of a wish to close a call.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    Granted,
    /// Another is about to close it.
    Taken,
    Closed,
}

/// Whether a call waits for a client or a person.
fn is_waiting(state: &State, (turn, call): &(TurnId, CallId)) -> bool {
    let open = state.turn(turn);
    open.is_some_and(|open| open.turn.waiting_tool(call).is_some())
}

impl SharedState {
    /// A state whose waiting messages are counted here.
    pub(crate) fn new(state: State, gauge: Gauge) -> Self {
        let shared = Shared {
            state,
            joining: Vec::new(),
            leaving: None,
            closing: Vec::new(),
            reserved: Reserved::default(),
            gauge,
        };
        let shared = Self(Arc::new(Mutex::new(shared)));
        shared.apply(&[]);
        shared
    }

    /// Locks it, for a moment.
    pub(crate) fn lock(&self) -> StateGuard<'_> {
        // Every change is whole before it can fail.
        StateGuard(self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in what was kept.
    pub(crate) fn apply(&self, events: &[Arc<Event>]) {
        let shared = &mut *self.lock().0;
        for event in events {
            shared.state.apply(event);
            shared.reserved.is_kept(event);
        }
        let waiting = shared.state.waiting();
        shared.gauge.set(waiting.len());
        let waits = |turn: &TurnId| waiting.iter().any(|said| said.turn == *turn);
        shared.joining.retain(&waits);
        shared.leaving.take_if(|turn| !waits(turn));
        let state = &shared.state;
        shared.closing.retain(|claim| is_waiting(state, claim));
    }

    /// Takes what is to join the turn that runs, oldest first.
    pub(crate) fn take_steering(&self) -> Vec<Queued> {
        let shared = &mut *self.lock().0;
        let waiting = shared.state.waiting().into_iter();
        let is_free = |said: &&Queued| shared.leaving.as_ref() != Some(&said.turn);
        let steering = waiting.filter(is_free);
        let steering = steering.filter(|said| said.entry == Entry::Steers);
        let steering: Vec<_> = steering.cloned().collect();
        let turns = steering.iter().map(|said| said.turn.clone());
        shared.joining = turns.collect();
        steering
    }

    /// What was to join a turn and could not be kept waits again.
    pub(crate) fn give_back(&self) {
        self.lock().0.joining.clear();
    }

    /// Takes the message of a turn out of those that wait, until it has ended or is put back.
    pub(crate) fn take_out(&self, turn: &TurnId) -> Removal {
        let shared = &mut *self.lock().0;
        if shared.joining.contains(turn) {
            return Removal::Joining;
        }
        let mut waiting = shared.state.waiting().into_iter();
        if waiting.any(|said| said.turn == *turn) {
            shared.leaving = Some(turn.clone());
            Removal::Out
        } else {
            Removal::Nothing
        }
    }

    /// Claims a call that waits for a client or a person, for the one who closes it.
    pub(crate) fn claim(&self, turn: &TurnId, call: &CallId) -> Claim {
        let shared = &mut *self.lock().0;
        let claim = (turn.clone(), call.clone());
        if !is_waiting(&shared.state, &claim) {
            return Claim::Closed;
        }
        if shared.closing.contains(&claim) {
            return Claim::Taken;
        }
        shared.closing.push(claim);
        Claim::Granted
    }

    /// Gives it up, since the call could not be closed.
    pub(crate) fn give_up_claim(&self, turn: &TurnId, call: &CallId) {
        let closing = &mut self.lock().0.closing;
        closing.retain(|(of, claimed)| of != turn || claimed != call);
    }

    /// Lets a message wait again that was taken out.
    pub(crate) fn put_back(&self) {
        self.lock().0.leaving = None;
    }
}

/// The accounts of its trees, with what turns have set aside.
impl SharedState {
    /// The account from which a turn draws.
    pub(crate) fn account(&self, turn: &TurnId) -> Option<Account> {
        let shared = &self.lock().0;
        shared.reserved.account(&shared.state.accounts, turn)
    }

    /// Sets aside what a model call may use; the longest answer that there is room for, in tokens, or
    /// `None` where no account limits it.
    ///
    /// # Errors
    /// The limit that leaves no room.
    pub(crate) fn reserve(
        &self,
        turn: &TurnId,
        ask: &Ask,
        now: Millis,
    ) -> Result<Option<u64>, BudgetLimit> {
        let shared = &mut *self.lock().0;
        shared.reserved.reserve(&shared.state, (turn, ask), now)
    }

    /// Sets a quarter of what is left for a turn aside for its child in the background.
    ///
    /// # Errors
    /// The limit of which there is not enough left.
    pub(crate) fn quarter(
        &self,
        turn: &TurnId,
        child: &TurnId,
        now: Millis,
    ) -> Result<Budget, BudgetLimit> {
        let shared = &mut *self.lock().0;
        shared.reserved.quarter(&shared.state, (turn, child), now)
    }
}

/// The state, while it is locked.
pub(crate) struct StateGuard<'a>(MutexGuard<'a, Shared>);

impl Deref for StateGuard<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0.state
    }
}

impl DerefMut for StateGuard<'_> {
    fn deref_mut(&mut self) -> &mut State {
        &mut self.0.state
    }
}
