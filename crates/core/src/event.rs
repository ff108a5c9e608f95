//! Facts. A session is the ordered log of its events, and that log is the only truth about it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::agent::Agent;
use crate::approval::{Answer, Asked, Grounds};
use crate::budget::{Bill, Budget, Quote};
use crate::command::UndoneFiles;
use crate::error::FaultCode;
use crate::id::{AgentPath, ApprovalId, CallId, Epoch, EventId, MessageId, Seq, TurnId};
use crate::instructions::{PromptHashes, SystemPrompt};
use crate::message::{Message, Outcome, Part, Role, Usage};
use crate::ports::Millis;
use crate::situation::Situation;
use crate::title::Title;
use crate::tool::{Approval, Closer, Effect, Progress};

pub use crate::author::Author;
pub use crate::window::{ContextLimit, LimitSource};

/// A fact in a session's log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its position in the log.
    pub seq: Seq,
    /// The run of the server that made it.
    pub epoch: Epoch,
    /// When it was made.
    pub at: Millis,
    /// The turn; `None` for an event of the session itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The agent whose turn it is; the session's own agent if there is no turn.
    pub agent: AgentPath,
    /// Who caused it.
    pub author: Author,
    /// What happened.
    pub kind: Kind,
}

impl Event {
    /// The cursor for this event (DU-7).
    pub fn id(&self) -> EventId {
        EventId {
            epoch: self.epoch,
            seq: self.seq,
        }
    }
}

impl Author {
    /// Who causes a message that no turn made.
    pub fn of(role: Role) -> Self {
        match role {
            Role::User => Self::User,
            Role::Assistant => Self::Agent,
            Role::System => Self::System,
            Role::Tool => Self::Host,
        }
    }
}

/// What changed of a session itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionChange {
    /// The new model, by its requested name; `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// As in [`Kind::SessionOpened`], of the new model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub route: Option<String>,
    /// The new title, empty if it was removed; `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Title>,
    /// The new approval level; `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Whether text from outside may be in it from now on (TL-10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// What is known of the model's window from now on; it stands alone (AS-15).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<ContextLimit>,
    /// Tokens that its client used outside of turns; they stand alone, too.
    #[serde(default, skip_serializing_if = "Usage::is_zero")]
    pub usage: Usage,
}

/// What happened. This list is closed: a new kind needs an ADR, a spelling in every protocol, and a
/// line in `docs/protocols.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Kind {
    /// The session was created.
    SessionOpened {
        /// The model, by its requested name.
        model: String,
        /// The name that leads to the model's provider from then on; `None` if that is `model`, or
        /// if no provider could be used yet.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
        /// The client's metadata.
        #[serde(default)]
        metadata: Map<String, Value>,
        /// What its client tells its agent, which the event's path names.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        system_prompt: Option<SystemPrompt>,
        /// The approval level of its turns; `None` for the server's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approval: Option<Approval>,
        /// Who began it; `None` in older logs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_by: Option<crate::beginner::Beginner>,
    },
    /// The session's model, title or approval level changed, text from outside came into it, or
    /// something was learned about its model's window.
    SessionChanged(SessionChange),
    /// The session was deleted; none of its data may reappear (AS-19).
    SessionClosed,
    /// A turn started. Its input is the earlier message that was finished with this turn's id.
    TurnStarted {
        /// The model, by its canonical name.
        model: String,
        /// The name that leads to the model's provider until the turn ends; `None` if that is
        /// `model`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
        /// The bounds of the turn.
        limits: Limits,
        /// Which calls need approval.
        approval: Approval,
        /// The bounds that its message set; `limits` and `approval` already include them.
        #[serde(default, skip_serializing_if = "Bounds::is_empty")]
        bounds: Bounds,
        /// The call that this turn answers, if it is a child's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent_call: Option<CallId>,
        /// Whether its parent does not wait for it (SA-11).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        background: bool,
        /// The agent's definition as the turn began, narrowed to what its caller may delegate;
        /// `None` for the server's own master. It does not change while the turn lives (SA-4).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        definition: Option<Arc<Agent>>,
    },
    /// An iteration, or another attempt of it, begins: the model is called.
    StepStarted {
        /// The number of the iteration; the first is 1.
        iteration: u32,
        /// The number of the attempt in this iteration; the first is 1.
        attempt: u32,
        /// Tokens reserved for the answer, before the model is called.
        reserved_tokens: u64,
        /// The model, by its canonical name; `None` for the turn's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// As in [`Kind::TurnStarted`], of `model`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        route: Option<String>,
        /// What the call may cost; `None` if that is unknown and no budget asks for it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        quote: Option<Quote>,
        /// What the model is told, in the first step of a turn and in each that changes it; `None`
        /// in others, and in logs older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        told: Option<PromptHashes>,
    },
    /// The output of the current attempt is void; another attempt follows.
    StepReset {
        /// The iteration that is repeated.
        iteration: u32,
        /// The token usage of the void attempt.
        usage: Usage,
        /// The reason, for people.
        reason: String,
        /// The reason, for programs; `None` in logs older than this field.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<FaultCode>,
        /// What a refused prompt revealed about the model's window; `None` for another reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        context: Option<ContextLimit>,
    },
    /// The turn continues after a server stop interrupted it (DU-6).
    TurnContinued {
        /// How many times in a row it has continued without progress, including this one; requested
        /// stops are not counted.
        in_a_row: u32,
    },
    /// Replaces the lost live events from `first` to this event's own position. A power cut loses
    /// live events, a killed process does not (DU-18).
    EventsLost {
        /// The first lost position.
        first: Seq,
    },
    /// A model begins a message with this id.
    MessageStarted {
        /// The message's id.
        message: MessageId,
        /// The role of the author.
        role: Role,
    },
    /// A live fragment of a part.
    Delta {
        /// The unfinished message.
        message: MessageId,
        /// The part's index in the message, from 0.
        part: u16,
        /// The added fragment.
        fragment: Fragment,
    },
    /// A part is complete: a call with its arguments opens here.
    PartAdded {
        /// The unfinished message.
        message: MessageId,
        /// The part's index in the message.
        index: u16,
        /// The part.
        part: Part,
    },
    /// The message is complete and saved.
    MessageFinished {
        /// The message.
        message: Message,
        /// The bounds that it sets for its turn.
        #[serde(default, skip_serializing_if = "Bounds::is_empty")]
        bounds: Bounds,
        /// How the user's message enters the conversation.
        #[serde(default, skip_serializing_if = "Entry::is_own")]
        entry: Entry,
        /// The situation of the turn that it starts; `None` where nothing is known of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        situation: Option<Arc<Situation>>,
    },
    /// A call waits for a person's decision. Until then no later call of its message starts.
    ApprovalAsked {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The question.
        asked: Box<Asked>,
    },
    /// The decision about a call; a call that may not run closes in the same commit.
    CallApproved {
        /// The call.
        call: CallId,
        /// The question.
        approval: ApprovalId,
        /// SHA-256 of the canonical arguments that were shown, in hex.
        args_hash: String,
        /// The decision.
        #[serde(flatten)]
        answer: Answer,
    },
    /// A call is about to affect the world, or to wait for an outside answer; saved before it does.
    /// Calls that only read have no such event.
    CallStarted {
        /// The call, and its idempotency key.
        call: CallId,
        /// The tool.
        name: String,
        /// What a call does to the world.
        effect: Effect,
        /// SHA-256 of the canonical arguments, in hex.
        args_hash: String,
        /// Who closes it.
        closer: Closer,
        /// When it times out, if its tool closes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Millis>,
        /// The data that the tool will need to look up whether it was done; `None` if it cannot.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe: Option<Value>,
        /// Why it was let through; `None` if the approval level asks nothing about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        grounds: Option<Grounds>,
        /// Whether text from outside was in the session.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        tainted: bool,
    },
    /// A running call says how far it is. No part of a message; no model reads it.
    CallProgress {
        /// The message that asked for the call.
        message: MessageId,
        /// The call.
        call: CallId,
        /// How far it is.
        progress: Progress,
    },
    /// A model's server says how far it is with reading the prompt, before it answers. No part of the
    /// message that it leads to.
    PromptProgress {
        /// The message with the answer.
        message: MessageId,
        /// Tokens that it has read.
        read: u64,
        /// Tokens of the whole prompt.
        total: u64,
    },
    /// A call has its outcome, from whatever source.
    CallClosed {
        /// The call.
        call: CallId,
        /// The tool.
        name: String,
        /// The outcome.
        outcome: Outcome,
    },
    /// A tool tells the clients that have a UI something; no part of a message (SA-15).
    UiEvent {
        /// The call.
        call: CallId,
        /// What it is about, such as `open_url`.
        kind: String,
        /// What it says.
        payload: Value,
    },
    /// A host's state changed (08).
    StateChanged {
        /// The whole state.
        state: Value,
    },
    /// The turn is over; every turn has exactly one such event.
    TurnFinished {
        /// The reason.
        reason: FinishReason,
        /// The number of iterations.
        iterations: u32,
        /// The token usage of all its model calls, including failed ones.
        usage: Usage,
        /// The fault, if `reason` is [`FinishReason::Error`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fault: Option<Fault>,
        /// What its model calls cost, and the limit of the budget that ended it.
        #[serde(default, skip_serializing_if = "Bill::is_empty")]
        bill: Bill,
    },
    /// The turn was taken back after its end: its messages leave the conversation, and their ids
    /// are free. Its token usage and the effects of its tools remain.
    TurnUndone {
        /// Its sub-turns, which are taken back with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        below: Vec<TurnId>,
        /// How many messages left the conversation, including those of the sub-turns.
        messages: u64,
        /// What the undo answered, for a client that asks again: the person's text.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// And what was taken back of files, if that was asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        files: Option<UndoneFiles>,
    },
}

impl Kind {
    /// Its `type`, as it is kept and on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SessionOpened { .. } => "session_opened",
            Self::SessionChanged(_) => "session_changed",
            Self::SessionClosed => "session_closed",
            Self::TurnStarted { .. } => "turn_started",
            Self::StepStarted { .. } => "step_started",
            Self::StepReset { .. } => "step_reset",
            Self::TurnContinued { .. } => "turn_continued",
            Self::EventsLost { .. } => "events_lost",
            Self::MessageStarted { .. } => "message_started",
            Self::Delta { .. } => "delta",
            Self::PartAdded { .. } => "part_added",
            Self::MessageFinished { .. } => "message_finished",
            Self::ApprovalAsked { .. } => "approval_asked",
            Self::CallApproved { .. } => "call_approved",
            Self::CallStarted { .. } => "call_started",
            Self::CallProgress { .. } => "call_progress",
            Self::PromptProgress { .. } => "prompt_progress",
            Self::CallClosed { .. } => "call_closed",
            Self::UiEvent { .. } => "ui_event",
            Self::StateChanged { .. } => "state_changed",
            Self::TurnFinished { .. } => "turn_finished",
            Self::TurnUndone { .. } => "turn_undone",
        }
    }

    /// A complete message that sets no bounds.
    pub fn finished(message: Message) -> Self {
        Self::begun_by(message, None)
    }

    /// The same of a message that starts a turn in this situation.
    pub fn begun_by(message: Message, situation: Option<Arc<Situation>>) -> Self {
        let (bounds, entry) = (Bounds::default(), Entry::Own);
        Self::MessageFinished {
            message,
            bounds,
            entry,
            situation,
        }
    }

    /// The group that it belongs to.
    pub fn group(&self) -> Group<'_> {
        match self {
            Self::SessionOpened { .. }
            | Self::SessionChanged(_)
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
            | Self::PartAdded { message, .. }
            | Self::CallProgress { message, .. }
            | Self::PromptProgress { message, .. } => Group::Live(message),
            Self::MessageFinished { .. } => Group::Message,
            Self::ApprovalAsked { .. }
            | Self::CallApproved { .. }
            | Self::CallStarted { .. }
            | Self::UiEvent { .. }
            | Self::CallClosed { .. } => Group::Call,
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

    /// Whether it can wait for space on a full disk: it requests an action. An event that cannot
    /// wait reports a finished action, and would be lost with the process (DU-12).
    pub fn can_wait(&self) -> bool {
        match self {
            Self::MessageFinished { message: it, .. } => it.role == Role::User || it.is_appended(),
            Self::SessionOpened { .. }
            | Self::SessionChanged(_)
            | Self::TurnStarted { .. }
            | Self::TurnContinued { .. }
            | Self::TurnUndone { .. }
            | Self::StepStarted { .. }
            | Self::ApprovalAsked { .. }
            | Self::CallStarted { .. }
            | Self::StateChanged { .. }
            | Self::MessageStarted { .. }
            | Self::Delta { .. }
            | Self::PartAdded { .. }
            | Self::CallProgress { .. }
            | Self::PromptProgress { .. } => true,
            Self::SessionClosed
            | Self::StepReset { .. }
            | Self::EventsLost { .. }
            | Self::CallApproved { .. }
            | Self::UiEvent { .. }
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

/// How a user's message enters the conversation (AS-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// It starts its own turn.
    #[default]
    Own,
    /// It is to join the running turn; if that ends first, it starts its own.
    Steers,
    /// It starts its own turn, and the running one is ended for it.
    Interrupts,
    /// It was stored earlier, in its own turn, which ended when the message joined this one.
    Joined,
}

impl Entry {
    /// Whether it starts its own turn.
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

/// The bounds of a turn. Counted durably, so that they hold across crashes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// The most iterations; at least 1.
    pub max_iterations: u32,
    /// The most tokens in one answer.
    pub max_output_tokens: u32,
    /// What it and the turns that it waits for may use together (SA-12).
    #[serde(flatten)]
    pub budget: Budget,
    /// The sampling temperature to request.
    pub temperature: f32,
    /// When to prompt the model once more before the turn ends.
    #[serde(default, skip_serializing_if = "Reminders::is_empty")]
    pub reminders: Reminders,
}

/// For what a turn asks its model once more before it ends, each at most once. A weak model often
/// stops where one more question carries it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reminders {
    /// After an answer that calls nothing and follows a failed call that other arguments can mend.
    /// Also says whether a turn can end with [`FinishReason::FailedCall`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed_call: bool,
    /// After an answer that was cut at the token limit. Has no effect with a token budget.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut_answer: bool,
}

impl Reminders {
    /// Whether the model is never asked once more.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Limits {
    /// The defaults of AS-16.
    fn default() -> Self {
        let (max_iterations, max_output_tokens, temperature) = (20, 4096, 0.7);
        Self {
            max_iterations,
            max_output_tokens,
            budget: Budget::default(),
            temperature,
            reminders: Reminders::default(),
        }
    }
}

/// The bounds that a message sets for its own turn only. Stored with the message, so that they hold
/// while the turn waits and across crashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The most iterations, at least 1; `None` for the server's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    /// What the turn and those that it waits for may use together; `None` for the server's setting.
    #[serde(flatten, skip_serializing_if = "Budget::is_empty")]
    pub budget: Budget,
    /// Which calls need approval; `None` for the server's level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// Whether no person can answer or read along: the model is not offered the tools for that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_input: bool,
    /// How many tasks in the background have led to it, each from the result of the one before.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spawned: u32,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape that serde calls"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Bounds {
    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The limits of the turn, given the server's `limits`.
    #[must_use]
    pub fn limit(&self, limits: Limits) -> Limits {
        Limits {
            max_iterations: self.max_iterations.unwrap_or(limits.max_iterations),
            budget: self.budget.or(limits.budget),
            ..limits
        }
    }
}

/// Why a turn is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The model finished, in the provider's own word (AS-6).
    Model(String),
    /// The model still wanted tools at the last allowed call.
    MaxIterations,
    /// A budget was used up.
    Budget,
    /// The model answered, but its last call failed and would have done more than read, and no call
    /// of the turn, or of those that it called, has done more than read.
    FailedCall,
    /// The model made the same call, which failed in the same way, for the third time in a row.
    RepeatedCall,
    /// It was cancelled.
    Cancelled,
    /// Its message joined the running turn, which answers it (AS-11).
    Steered,
    /// The turn failed; the fault says why.
    Error,
}

impl FinishReason {
    /// The word for clients.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Model(word) => word,
            Self::MaxIterations => "max_iterations",
            Self::Budget => "budget",
            Self::FailedCall => "failed_call",
            Self::RepeatedCall => "repeated_call",
            Self::Cancelled => "cancelled",
            Self::Steered => "steered",
            Self::Error => "error",
        }
    }
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The stable code.
    pub code: FaultCode,
    /// What happened, what was kept, and what to do (FC-6).
    pub message: String,
}
