//! Facts. A session is the ordered log of these; nothing else is the truth about it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::FaultCode;
use crate::id::{AgentPath, CallId, Epoch, EventId, MessageId, Seq, TurnId};
use crate::message::{Message, Outcome, Part, Role, Usage};
use crate::ports::Millis;
use crate::title::Title;
use crate::tool::{Approval, Closer, Effect};

/// A fact in a session's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its position in the log.
    pub seq: Seq,
    /// The run of the server that made it.
    pub epoch: Epoch,
    /// When it was made.
    pub at: Millis,
    /// The turn that it belongs to; none for what concerns the session alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The agent whose turn it is; the session's own agent when there is no turn.
    pub agent: AgentPath,
    /// Who caused it.
    pub author: Author,
    /// What happened.
    pub kind: Kind,
}

impl Event {
    /// The cursor that stands for this event (DU-7).
    pub fn id(&self) -> EventId {
        EventId {
            epoch: self.epoch,
            seq: self.seq,
        }
    }
}

/// Who caused an event. An agent is the one that the event's path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Author {
    /// A person, through any client.
    User,
    /// The server itself.
    System,
    /// A program outside that closes calls or shows state.
    Host,
    /// The agent of the event's path.
    Agent,
}

/// What happened. Closed: a new kind needs an ADR, a spelling in every protocol, and a line in
/// `docs/protocols.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// The session exists from here on.
    SessionOpened {
        /// The model, as it was asked for.
        model: String,
        /// What the client gave.
        #[serde(default)]
        metadata: Map<String, Value>,
    },
    /// The session is something else from here on.
    SessionChanged {
        /// The model, as it was asked for; none when it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The title, empty when there is none from here on; none when it stays.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<Title>,
    },
    /// The session was deleted; nothing of it may come back (AS-19).
    SessionClosed,
    /// A turn runs. Its input is the message that was finished with this turn's id before.
    TurnStarted {
        /// The model, by its canonical name.
        model: String,
        /// How far it may go.
        limits: Limits,
        /// How much is asked before a call runs.
        approval: Approval,
        /// What its message set for it; `limits` and `approval` follow that already.
        #[serde(default, skip_serializing_if = "Bounds::is_empty")]
        bounds: Bounds,
        /// The call that this turn answers, when it is a child's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_call: Option<CallId>,
    },
    /// The model is asked.
    StepStarted {
        /// Which pass of the loop: 1 for the first.
        iteration: u32,
        /// Which try of this pass: 1 for the first.
        attempt: u32,
        /// Tokens set aside for the answer, before the model is asked.
        reserved_tokens: u64,
        /// Who is asked, by its canonical name; none when it is the turn's own model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// What the running attempt of this pass has said is void; another attempt follows.
    StepReset {
        /// The pass that begins anew.
        iteration: u32,
        /// What the void attempt cost.
        usage: Usage,
        /// Why, for a person.
        reason: String,
        /// Why, for a program; none in logs that are older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FaultCode>,
    },
    /// The turn goes on after a stop of the server had cut it (DU-6).
    TurnContinued {
        /// How many times it went on in a row, this one included, without a fact of its own in
        /// between; a stop that was asked for is not counted.
        in_a_row: u32,
    },
    /// Stands for live events that are lost: those from `first` to this event's own position. A power
    /// cut takes them, a killed process does not (DU-18).
    EventsLost {
        /// The first position that is lost.
        first: Seq,
    },
    /// A model begins to speak under this id.
    MessageStarted {
        /// The message's id.
        message: MessageId,
        /// Who speaks.
        role: Role,
    },
    /// A live fragment of a part.
    Delta {
        /// The message that grows.
        message: MessageId,
        /// The part's place in the message: 0 for the first.
        part: u16,
        /// What is added.
        fragment: Fragment,
    },
    /// A part came whole: a call with its arguments opens here.
    PartAdded {
        /// The message that grows.
        message: MessageId,
        /// The part's place in the message.
        index: u16,
        /// The part.
        part: Part,
    },
    /// The whole message, kept.
    MessageFinished {
        /// The message.
        message: Message,
        /// What it sets for the turn that it starts.
        #[serde(default, skip_serializing_if = "Bounds::is_empty")]
        bounds: Bounds,
        /// How what a user says comes into the conversation.
        #[serde(default, skip_serializing_if = "Entry::is_own")]
        entry: Entry,
    },
    /// Somebody decided whether a call may run.
    CallApproved {
        /// The call.
        call: CallId,
        /// SHA-256 of the canonical arguments that were shown, in hex.
        args_hash: String,
        /// Whether it may run.
        allowed: bool,
        /// Who decided.
        by: String,
    },
    /// A call is about to touch the world, or to wait for somebody outside: kept before it does.
    /// None for calls that only read.
    CallStarted {
        /// The call, and its idempotency key.
        call: CallId,
        /// The tool.
        name: String,
        /// What it does to the world.
        effect: Effect,
        /// SHA-256 of the canonical arguments, in hex.
        args_hash: String,
        /// Who brings its outcome.
        closer: Closer,
        /// When it is given up, if its tool closes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Millis>,
        /// What the tool will need to look up whether it was done; none when it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<Value>,
    },
    /// A call has its outcome, whoever brought it.
    CallClosed {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The answer.
        outcome: Outcome,
    },
    /// A host shows another state (08).
    StateChanged {
        /// The state, whole.
        state: Value,
    },
    /// The turn is over; exactly one for each turn.
    TurnFinished {
        /// Why.
        reason: FinishReason,
        /// How many passes it took.
        iterations: u32,
        /// What all of its model calls cost, failed ones included.
        usage: Usage,
        /// What went wrong, when `reason` is [`FinishReason::Error`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
    },
    /// The turn was taken back, after its end: its messages are no part of the conversation any more,
    /// and their ids are free. What it cost stays spent, and what its tools did stays done.
    TurnUndone {
        /// The turns below it, which go with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        below: Vec<TurnId>,
        /// How many messages left the conversation, those of the turns below it included.
        messages: u64,
    },
}

impl Kind {
    /// A whole message that sets nothing for its turn.
    pub fn finished(message: Message) -> Self {
        let (bounds, entry) = (Bounds::default(), Entry::Own);
        Self::MessageFinished {
            message,
            bounds,
            entry,
        }
    }

    /// The group that it belongs to.
    pub fn group(&self) -> Group<'_> {
        match self {
            Self::SessionOpened { .. }
            | Self::SessionChanged { .. }
            | Self::SessionClosed
            | Self::EventsLost { .. }
            | Self::StateChanged { .. } => Group::Session,
            Self::TurnStarted { .. }
            | Self::StepStarted { .. }
            | Self::StepReset { .. }
            | Self::TurnContinued { .. }
            | Self::TurnFinished { .. }
            | Self::TurnUndone { .. } => Group::Turn,
            Self::MessageStarted { message, .. }
            | Self::Delta { message, .. }
            | Self::PartAdded { message, .. } => Group::Live(message),
            Self::MessageFinished { .. } => Group::Message,
            Self::CallApproved { .. } | Self::CallStarted { .. } | Self::CallClosed { .. } => {
                Group::Call
            }
        }
    }

    /// Whether it is committed before a reader sees it. A live event is kept in the spool, and later
    /// only as a part of its message (DU-3).
    pub fn is_durable(&self) -> bool {
        match self.group() {
            Group::Session | Group::Turn | Group::Message | Group::Call => true,
            Group::Live(_) => false,
        }
    }

    /// Whether it can wait until a full disk has room again: it asks for something to be done. What
    /// cannot wait says what was done, and is lost with the process (DU-12).
    pub fn can_wait(&self) -> bool {
        match self {
            Self::MessageFinished { message, .. } => message.role == Role::User,
            Self::SessionOpened { .. }
            | Self::SessionChanged { .. }
            | Self::TurnStarted { .. }
            | Self::TurnContinued { .. }
            | Self::TurnUndone { .. }
            | Self::StepStarted { .. }
            | Self::CallStarted { .. }
            | Self::StateChanged { .. }
            | Self::MessageStarted { .. }
            | Self::Delta { .. }
            | Self::PartAdded { .. } => true,
            Self::SessionClosed
            | Self::StepReset { .. }
            | Self::EventsLost { .. }
            | Self::CallApproved { .. }
            | Self::CallClosed { .. }
            | Self::TurnFinished { .. } => false,
        }
    }
}

/// The kinds that belong together. A reader that needs only a few kinds matches these by name and
/// the others by their group, so that a new kind changes `core` and the readers that need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group<'kind> {
    /// The session, or its log as a whole.
    Session,
    /// A turn, or a step of it.
    Turn,
    /// A message while the model writes it. The only group that is not durable.
    Live(&'kind MessageId),
    /// A whole message.
    Message,
    /// A tool call.
    Call,
}

/// How what a user says comes into the conversation (AS-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It begins a turn of its own.
    #[default]
    Own,
    /// It is to join the turn that runs; when that ends before, it begins its own.
    Steers,
    /// It begins a turn of its own, and the one that runs ends for it.
    Interrupts,
    /// It was kept before, in a turn of its own that has ended for it, and is said here.
    Joined,
}

impl Entry {
    /// Whether it begins a turn of its own.
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// What a delta adds to its part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fragment {
    /// Text.
    Text(String),
    /// Reasoning.
    Reasoning(String),
    /// A call begins; its arguments follow.
    Call {
        /// The call.
        id: CallId,
        /// The tool.
        name: String,
    },
    /// A piece of the arguments' JSON text.
    Args(String),
}

/// How far a turn may go. Counted durably, so that limits hold over any number of crashes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Passes of the loop; at least 1.
    pub max_iterations: u32,
    /// Tokens that one answer may have.
    pub max_output_tokens: u32,
    /// Tokens that all model calls together may cost; none for no limit.
    pub budget_tokens: Option<u64>,
    /// The sampling temperature that is asked for.
    pub temperature: f32,
}

impl Default for Limits {
    /// The defaults of AS-16.
    fn default() -> Self {
        let (max_iterations, max_output_tokens, temperature) = (20, 4096, 0.7);
        Self {
            max_iterations,
            max_output_tokens,
            budget_tokens: None,
            temperature,
        }
    }
}

/// What a message sets for the turn that it starts, and for no other. Kept with the message, so that
/// it holds while the turn waits and over any number of crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// Passes of the loop, at least 1; none for the server's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// Tokens that all model calls together may cost, at least 1; none for the server's own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget_tokens: Option<u64>,
    /// How much is asked before a call runs; none for the server's own level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

impl Bounds {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// How far the turn may go where `limits` are the server's own.
    #[must_use]
    pub fn limit(&self, limits: Limits) -> Limits {
        Limits {
            max_iterations: self.max_iterations.unwrap_or(limits.max_iterations),
            budget_tokens: self.budget_tokens.or(limits.budget_tokens),
            ..limits
        }
    }
}

/// Why a turn is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model was done, in the provider's own word (AS-6).
    Model(String),
    /// The model still wanted tools when the passes were used up.
    MaxIterations,
    /// A budget was used up.
    Budget,
    /// Somebody stopped it.
    Cancelled,
    /// What was said in it joined the turn that ran; its answer is there (AS-11).
    Steered,
    /// Something went wrong; the fault says what.
    Error,
}

impl FinishReason {
    /// The word for clients.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Model(word) => word,
            Self::MaxIterations => "max_iterations",
            Self::Budget => "budget",
            Self::Cancelled => "cancelled",
            Self::Steered => "steered",
            Self::Error => "error",
        }
    }
}

/// What ended a turn that did not finish by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The stable code.
    pub code: FaultCode,
    /// What happened, what was kept, one thing to do (FC-6).
    pub message: String,
}
