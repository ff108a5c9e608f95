//! For a reader that has lost its position in a stream: the current state of the turn (DU-7).

use std::collections::{BTreeMap, VecDeque};

use samovar_core::agent::MASTER;
use samovar_core::event::{Fragment, Group};
use samovar_core::{
    AgentPath, Closer, Event, Kind, Message, Part, Role, SessionId, ToolCall, TurnId, Usage,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::AgentStreamEvent;
use super::family::Family;
use super::message::{AgentMessage, ToolCallRequest};

/// Approximate limit for the bytes of messages in a snapshot; the oldest are left out.
const MAX_MESSAGES_BYTES: usize = 256 * 1024;

/// The state of a turn after one of its events.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Snapshot {
    /// The session.
    pub session_id: SessionId,
    /// The turn; null if none is kept any longer.
    pub turn_id: Option<TurnId>,
    /// The progress of the turn.
    pub state: TurnState,
    /// The number of the current iteration; the first is 1, 0 before it.
    pub iteration: u32,
    /// The most iterations of the turn.
    pub max_iterations: u32,
    /// The token usage of the turn so far.
    pub tokens: u64,
    /// The turn's finished messages, oldest first, including the user's.
    pub messages: Vec<AgentMessage>,
    /// How many older messages were left out because of their size; `getMessages` has them.
    pub left_out: u64,
    /// The text so far of the unfinished message.
    pub text: String,
    /// The calls without a result, in order.
    pub calls: Vec<ToolCallRequest>,
    /// The agents that work for this turn and have calls without a result; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<SnapshotChild>,
    /// The id after which the stream continues. Null if no frames follow.
    pub after: Option<String>,
}

/// An agent that works for a turn, with what it waits for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotChild {
    /// Its turn.
    pub turn_id: TurnId,
    /// The agents from the session's own down to this one.
    pub path: Vec<String>,
    /// Its calls without a result, in order.
    pub calls: Vec<ToolCallRequest>,
}

/// The progress of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TurnState {
    /// No turn is kept.
    Idle,
    /// It waits for earlier turns to end.
    Queued,
    /// It runs.
    Running,
    /// It waits for an outside answer to its calls.
    Parked,
    /// It is over; its end follows in the stream.
    Finished,
}

/// The stream's answer to an id that is not, or no longer, that of a frame.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[schemars(rename = "AgentResetEvent")]
pub enum ResetEvent<'a> {
    /// Discard what you have of the turn: this is its state, and the stream continues after it.
    Reset {
        /// The turn.
        snapshot: &'a Snapshot,
    },
}

/// One event of a stream that is read again.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "AgentResumedEvent")]
pub enum ResumedEvent<'a> {
    /// An event of the turn.
    Event(AgentStreamEvent<'a>),
    /// The current state of the turn.
    Reset(ResetEvent<'a>),
}

/// Builds a snapshot by folding a turn's events from its start.
#[derive(Clone, Debug)]
pub struct SnapshotFold {
    turn: TurnId,
    agent: AgentPath,
    snapshot: Snapshot,
    messages: VecDeque<(usize, AgentMessage)>,
    bytes: usize,
    text: BTreeMap<u16, String>,
    open: OpenCalls,
    family: Family,
    /// The calls of the turns below; ids of turns are made in the order of time.
    children: BTreeMap<TurnId, (AgentPath, OpenCalls)>,
    usage: Usage,
}

/// The calls of a turn without a result, in order.
#[derive(Clone, Debug, Default)]
struct OpenCalls(Vec<Open>);

/// A call without a result.
#[derive(Clone, Debug)]
struct Open {
    call: ToolCall,
    /// Who closes it; `None` before it has begun.
    closer: Option<Closer>,
}

impl Snapshot {
    /// The snapshot when no turn of a session is kept.
    pub fn idle(session: SessionId) -> Self {
        Self {
            session_id: session,
            turn_id: None,
            state: TurnState::Idle,
            iteration: 0,
            max_iterations: 0,
            tokens: 0,
            messages: Vec::new(),
            left_out: 0,
            text: String::new(),
            calls: Vec::new(),
            children: Vec::new(),
            after: None,
        }
    }

    /// The snapshot as an event of the stream.
    pub fn as_event(&self) -> ResetEvent<'_> {
        ResetEvent::Reset { snapshot: self }
    }
}

impl SnapshotFold {
    /// A turn without events.
    pub fn new(session: SessionId, turn: TurnId) -> Self {
        let idle = Snapshot::idle(session);
        Self {
            snapshot: Snapshot {
                turn_id: Some(turn.clone()),
                state: TurnState::Queued,
                ..idle
            },
            family: Family::new(turn.clone()),
            turn,
            agent: AgentPath::root(MASTER),
            messages: VecDeque::new(),
            bytes: 0,
            text: BTreeMap::new(),
            open: OpenCalls::default(),
            children: BTreeMap::new(),
            usage: Usage::default(),
        }
    }

    /// Takes the next event of the log.
    pub fn take(&mut self, event: &Event) {
        self.snapshot.after = Some(event.id().to_string());
        let is_ours = self.family.admit(event);
        match &event.turn {
            Some(turn) if *turn == self.turn => {
                self.agent.clone_from(&event.agent);
                self.apply(event);
            }
            Some(turn) if is_ours => self.apply_below(turn, event),
            Some(_) | None => {}
        }
    }

    /// The state after the last event that was taken.
    pub fn snapshot(self) -> Snapshot {
        let state = match self.snapshot.state {
            TurnState::Running if self.open.are_parked() => TurnState::Parked,
            state => state,
        };
        let children = self.children.into_iter();
        let children = children.map(|(turn_id, (agent, open))| SnapshotChild {
            turn_id,
            path: agent.names().map(str::to_owned).collect(),
            calls: open.shown(),
        });
        Snapshot {
            state,
            tokens: self.usage.total(),
            messages: self.messages.into_iter().map(|(_, one)| one).collect(),
            text: self.text.into_values().collect(),
            calls: self.open.shown(),
            children: children.filter(|child| !child.calls.is_empty()).collect(),
            ..self.snapshot
        }
    }

    /// Takes an event of a turn below.
    fn apply_below(&mut self, turn: &TurnId, event: &Event) {
        if matches!(event.kind, Kind::TurnFinished { .. }) {
            self.children.remove(turn);
            return;
        }
        let fresh = || (event.agent.clone(), OpenCalls::default());
        let (_, open) = self.children.entry(turn.clone()).or_insert_with(fresh);
        open.apply(&event.kind);
    }

    fn apply(&mut self, event: &Event) {
        let was_open = self.open.0.len();
        self.open.apply(&event.kind);
        match &event.kind {
            Kind::TurnStarted { limits, .. } => {
                self.snapshot.state = TurnState::Running;
                self.snapshot.max_iterations = limits.max_iterations;
            }
            Kind::StepStarted { iteration, .. } => {
                self.text.clear();
                self.snapshot.iteration = *iteration;
            }
            Kind::StepReset { usage, .. } => {
                self.text.clear();
                self.usage = self.usage.plus(*usage);
            }
            Kind::Delta {
                part,
                fragment: Fragment::Text(text),
                ..
            } => self.text.entry(*part).or_default().push_str(text),
            Kind::PartAdded {
                index,
                part: Part::Text { text },
                ..
            } => {
                self.text.insert(*index, text.clone());
            }
            Kind::MessageFinished { message, .. } => self.finish(message),
            Kind::CallClosed {
                call,
                name,
                outcome,
                ..
            } if self.open.0.len() < was_open => {
                self.push(&Message::of_outcome(call, name, outcome, event.at));
            }
            Kind::TurnFinished { .. } => self.snapshot.state = TurnState::Finished,
            other => match other.group() {
                Group::Session | Group::Turn | Group::Live(_) | Group::Message | Group::Call => {}
            },
        }
    }

    fn finish(&mut self, message: &Message) {
        if message.role == Role::Assistant {
            self.text.clear();
            self.usage = self.usage.plus(message.usage.unwrap_or_default());
        }
        self.push(message);
    }

    /// Adds a message, and drops the oldest while they are too long together.
    fn push(&mut self, message: &Message) {
        let (session, turn) = (&self.snapshot.session_id, self.snapshot.turn_id.as_ref());
        let message = AgentMessage::of(session, message, &self.agent, turn);
        let bytes = serde_json::to_vec(&message).map_or(0, |json| json.len());
        self.bytes += bytes;
        self.messages.push_back((bytes, message));
        while self.bytes > MAX_MESSAGES_BYTES && self.messages.len() > 1 {
            let oldest = self.messages.pop_front();
            self.bytes -= oldest.map_or(0, |(bytes, _)| bytes);
            self.snapshot.left_out += 1;
        }
    }
}

impl OpenCalls {
    /// Takes the next event of the turn.
    fn apply(&mut self, kind: &Kind) {
        match kind {
            // What an attempt asked that did not finish its message is void.
            Kind::StepStarted { .. } | Kind::StepReset { .. } | Kind::TurnFinished { .. } => {
                self.0.clear();
            }
            Kind::PartAdded {
                part: Part::Call(call),
                ..
            } => self.add(call),
            Kind::MessageFinished { message, .. } if message.role == Role::Assistant => {
                self.0.clear();
                message.calls().for_each(|call| self.add(call));
            }
            Kind::CallStarted { call, closer, .. } => {
                let open = self.0.iter_mut().find(|open| open.call.id == *call);
                if let Some(open) = open {
                    open.closer = Some(*closer);
                }
            }
            Kind::CallClosed { call, .. } => self.0.retain(|open| open.call.id != *call),
            _ => {}
        }
    }

    fn add(&mut self, call: &ToolCall) {
        if self.0.iter().all(|open| open.call.id != call.id) {
            let call = call.clone();
            self.0.push(Open { call, closer: None });
        }
    }

    /// Whether the turn waits for an outside answer.
    fn are_parked(&self) -> bool {
        let is_outside = |open: &Open| open.closer.is_some_and(Closer::is_outside);
        let asks = |open: &Open| open.closer == Some(Closer::Person);
        !self.0.is_empty() && self.0.iter().all(is_outside) || self.0.iter().any(asks)
    }

    fn shown(&self) -> Vec<ToolCallRequest> {
        self.0.iter().map(|open| (&open.call).into()).collect()
    }
}
