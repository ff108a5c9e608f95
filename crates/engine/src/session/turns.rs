//! The turns of a session that have begun and are not over: one of the session's own agent, and those
//! below it.

use std::collections::BTreeMap;

use samovar_core::error::FaultCode;
use samovar_core::{AgentPath, CallId, Outcome, TurnId};
use tokio::sync::mpsc;

use crate::budget::Purse;
use crate::context::Transcript;
use crate::recovered::OpenDecision;
use crate::runner::{Cancel, Input};
use crate::slots::Slot;
use crate::told::Told;
use crate::turn::Turn;

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
    /// What a child's model is shown, while it does not run; the session has the conversation of its
    /// own agent.
    pub(super) transcript: Transcript,
    /// Whether it is to be stopped once its children are over, and who waits for that.
    pub(super) is_stopping: bool,
    pub(super) stopping: Vec<Cancel>,
    /// A child's place among those that live.
    pub(super) slot: Option<Slot>,
    /// The account of its tree, if that has a budget.
    pub(super) purse: Option<Purse>,
    /// What it is to be told again, since there was no room to keep it.
    pub(super) due: Vec<Due>,
    /// What its agent is told, of one that is about to run for the first time.
    pub(super) told: Told,
}

/// What no client waits for and no turn may miss.
pub(super) enum Due {
    /// A child has answered a call.
    End(CallId, Outcome),
    /// It is to be stopped.
    Stop,
}

impl Due {
    /// What is due with an input, if no client waits for it.
    pub(super) fn of(input: &Input) -> Option<Self> {
        match input {
            Input::Settle(call, outcome, None) => Some(Self::End(call.clone(), outcome.clone())),
            Input::Cancel(cancel) if cancel.reply.is_closed() => Some(Self::Stop),
            Input::Settle(..) | Input::Decide(..) | Input::Cancel(_) => None,
        }
    }
}

impl From<Due> for Input {
    fn from(due: Due) -> Self {
        match due {
            Due::End(call, outcome) => Self::Settle(call, outcome, None),
            Due::Stop => Self::Cancel(Cancel::unasked()),
        }
    }
}

pub(super) enum LiveState {
    /// It runs; this reaches it.
    Running(mpsc::Sender<Input>),
    /// It waits for a client, or for a child.
    Parked(Box<Turn>),
    /// A stop of the server cut it. The decision about it is open until it continues.
    Cut(Box<Turn>, ContinueWhen, Option<OpenDecision>),
    /// Its task is gone and its end could not be kept yet, for this reason.
    Stuck(FaultCode),
    /// It is left to another run: a former one left it and here no turn ends or continues, or this
    /// one stops.
    Left,
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
            transcript: Transcript::default(),
            is_stopping: false,
            stopping: Vec::new(),
            slot: None,
            purse: None,
            due: Vec::new(),
            told: Told::default(),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.agent.depth() == 0
    }

    /// Whether nothing of it needs memory.
    fn is_idle(&self) -> bool {
        let is_still = matches!(
            self.state,
            LiveState::Parked(_) | LiveState::Cut(_, ContinueWhen::Asked, _)
        );
        is_still && self.due.is_empty()
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

    /// Takes a turn out if it is parked.
    pub(super) fn take_parked(&mut self, turn: &TurnId) -> Option<(Live, Turn)> {
        let live = self.take(turn)?;
        if let LiveState::Parked(parked) = live.state {
            let state = LiveState::Left;
            Some((Live { state, ..live }, *parked))
        } else {
            self.put(turn.clone(), live);
            None
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn ids(&self) -> Vec<TurnId> {
        self.0.keys().cloned().collect()
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

    /// Takes out what turns are to be told again.
    pub(super) fn take_due(&mut self) -> Vec<(TurnId, Due)> {
        let all = self.0.iter_mut();
        all.flat_map(|(id, live)| live.due.drain(..).map(|due| (id.clone(), due)))
            .collect()
    }

    /// Whether a turn is to be told something again.
    pub(super) fn has_due(&self) -> bool {
        self.0.values().any(|live| !live.due.is_empty())
    }

    /// How much memory the conversations of children take that do not run, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let all = self.0.values();
        all.map(|live| live.transcript.bytes()).sum()
    }

    /// Whether nothing of them needs memory.
    pub(super) fn are_idle(&self) -> bool {
        self.0.values().all(|live| live.is_idle())
    }

    /// Whether the session has the conversation of its own agent now.
    pub(super) fn root_runs(&self) -> bool {
        let mut all = self.0.values();
        all.any(|live| live.is_root() && matches!(live.state, LiveState::Running(_)))
    }
}
