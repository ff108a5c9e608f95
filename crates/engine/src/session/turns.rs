//! What is done about the turns of a session that have begun: one of the session's own agent, and
//! those below it. How they stand is in [`crate::state`].

use std::collections::BTreeMap;
use std::sync::Arc;

use samovar_core::error::FaultCode;
use samovar_core::{AgentPath, TurnId};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::log::Draft;
use crate::recovered::OpenDecision;
use crate::slots::Slot;
use crate::told::Told;

/// All of them, by id; ids are made in the order of time. In boxes, because the map has places for
/// many turns, and an idle session has none.
#[derive(Default)]
pub(super) struct LiveTurns(BTreeMap<TurnId, Box<Live>>);

/// A turn that has begun and is not over.
pub(super) struct Live {
    pub(super) agent: AgentPath,
    /// The turn that waits for it.
    pub(super) parent: Option<TurnId>,
    pub(super) state: LiveState,
    /// A child's place among those that live.
    pub(super) slot: Option<Slot>,
    /// What its last run had noted and not kept.
    pub(super) unkept: Vec<Draft>,
    /// What its agent is told, of one that is about to run for the first time.
    pub(super) told: Told,
}

pub(super) enum LiveState {
    /// It runs; this tells it to look at the state, and this takes its run away.
    Running(Arc<Notify>, CancellationToken),
    /// It waits for a client, or for a child.
    Parked,
    /// A stop of the server cut it. The decision about it is open until it continues.
    Cut(ContinueWhen, Option<OpenDecision>),
    /// Its run is gone, and it ends for this reason as soon as that can be kept.
    Ending(EndReason),
    /// It is left to another run: a former one left it and here no turn ends or continues, or this
    /// one stops.
    Left,
}

/// Why a turn ends that does not end by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EndReason {
    /// It was stopped, or a turn above it ends.
    Stopped,
    Fault(FaultCode),
}

/// When an interrupted turn continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContinueWhen {
    /// As soon as there is room.
    Possible,
    /// When a client asks for it.
    Asked,
}

impl Live {
    /// A turn of the session's own agent.
    pub(super) fn root(own: &AgentPath, state: LiveState) -> Self {
        Self::new(own.clone(), None, state)
    }

    pub(super) fn new(agent: AgentPath, parent: Option<TurnId>, state: LiveState) -> Self {
        Self {
            agent,
            parent,
            state,
            slot: None,
            unkept: Vec::new(),
            told: Told::default(),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.agent.depth() == 0
    }

    /// Whether nothing of it needs memory.
    fn is_idle(&self) -> bool {
        matches!(
            self.state,
            LiveState::Parked | LiveState::Cut(ContinueWhen::Asked, _)
        )
    }
}

impl LiveTurns {
    /// The turn of the session's own agent.
    pub(super) fn root(&self) -> Option<&TurnId> {
        let mut all = self.0.iter();
        all.find(|(_, live)| live.is_root()).map(|(id, _)| id)
    }

    pub(super) fn get(&self, turn: &TurnId) -> Option<&Live> {
        self.0.get(turn).map(Box::as_ref)
    }

    pub(super) fn get_mut(&mut self, turn: &TurnId) -> Option<&mut Live> {
        self.0.get_mut(turn).map(Box::as_mut)
    }

    pub(super) fn put(&mut self, turn: TurnId, live: Live) {
        self.0.insert(turn, Box::new(live));
    }

    pub(super) fn take(&mut self, turn: &TurnId) -> Option<Live> {
        let live = self.0.remove(turn)?;
        if self.0.is_empty() {
            // An emptied map keeps the room of its last turns.
            self.0 = BTreeMap::new();
        }
        Some(*live)
    }

    /// The turns that are to end.
    pub(super) fn ending(&self) -> Vec<TurnId> {
        let ending = |live: &Live| matches!(live.state, LiveState::Ending(_));
        let all = self.0.iter().filter(|(_, live)| ending(live));
        all.map(|(id, _)| id.clone()).collect()
    }

    /// Whether a turn is parked.
    pub(super) fn is_parked(&self, turn: &TurnId) -> bool {
        let live = self.get(turn);
        live.is_some_and(|live| matches!(live.state, LiveState::Parked))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that no turn waits for.
    pub(super) fn tops(&self) -> Vec<TurnId> {
        let all = self.0.iter().filter(|(_, live)| live.parent.is_none());
        all.map(|(id, _)| id.clone()).collect()
    }

    /// Those that run.
    pub(super) fn running(&self) -> impl Iterator<Item = &TurnId> {
        let runs = |live: &Live| matches!(live.state, LiveState::Running(..));
        let all = self.0.iter().filter(move |(_, live)| runs(live));
        all.map(|(id, _)| id)
    }

    /// The turns that a turn waits for.
    pub(super) fn children(&self, parent: &TurnId) -> Vec<TurnId> {
        let below = self.0.iter();
        let below = below.filter(|(_, live)| live.parent.as_ref() == Some(parent));
        below.map(|(id, _)| id.clone()).collect()
    }

    /// The first whose state is one of these.
    pub(super) fn find(&self, is_wanted: impl Fn(&LiveState) -> bool) -> Option<&TurnId> {
        let mut all = self.0.iter();
        all.find(|(_, live)| is_wanted(&live.state))
            .map(|(id, _)| id)
    }

    pub(super) fn states_mut(&mut self) -> impl Iterator<Item = &mut LiveState> {
        self.0.values_mut().map(|live| &mut live.state)
    }

    /// Whether nothing of them needs memory.
    pub(super) fn are_idle(&self) -> bool {
        self.0.values().all(|live| live.is_idle())
    }
}
