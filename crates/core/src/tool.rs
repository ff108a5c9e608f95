//! Tools: what a model may ask for, and what has to be known before it is let.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Future;
use crate::id::{AgentPath, CallId, SessionId, TurnId};
use crate::message::{Outcome, ToolCall};

/// What a tool does to the world, and so what may be done with a call that a crash cut (DU-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: run it again.
    Read,
    /// The same once or twice under the same key: run it again with that key.
    Idempotent,
    /// Something whose presence can be looked up.
    Verifiable,
    /// Something that must never be run again unasked.
    Unsafe,
}

/// Why a call is not simply let through below [`Approval::Auto`]. Each reason follows the tool's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asks {
    /// Why a person is asked at [`Approval::Supervised`]: `changes files`.
    pub supervised: &'static str,
    /// Why a call is refused at [`Approval::ReadOnly`], unless its tool's effect is [`Effect::Read`].
    pub read_only: &'static str,
}

impl Asks {
    /// For a tool that comes from outside.
    pub const FOREIGN: Self = Self {
        supervised: "was registered from outside",
        read_only: "may change something",
    };

    /// The same reason at both levels.
    pub const fn because(why: &'static str) -> Self {
        Self {
            supervised: why,
            read_only: why,
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is a part of the server.
    BuiltIn,
    /// The configuration names it.
    Configuration,
    /// It was registered, by a client or by the program that has the server inside.
    Registered,
}

/// How much a person is asked before a call runs (TL-4).
/// The stricter of two is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    /// What stays in the workspace runs unasked.
    Auto,
    /// What changes something is asked for.
    Supervised,
    /// What changes something is refused.
    ReadOnly,
}

impl Approval {
    /// Every level, the freest first.
    pub const ALL: [Self; 3] = [Self::Auto, Self::Supervised, Self::ReadOnly];

    /// The word for people and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Supervised => "supervised",
            Self::ReadOnly => "read-only",
        }
    }
}

/// What is known of a tool before it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The name that a model calls: `[a-zA-Z0-9_-]{1,64}`, what every provider takes.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// What it does to the world.
    pub effect: Effect,
    /// What the gate asks before a call. `None` lets every call through, at every level.
    pub asks: Option<Asks>,
    /// Where it comes from.
    pub origin: Origin,
    /// How long one call may run.
    pub timeout: Duration,
    /// Whether its calls run alone or beside others.
    pub sharing: Sharing,
    /// Who brings the outcome of its calls.
    pub closer: Closer,
}

/// Who brings the outcome of a call. Kept with the call's start, since after a crash it decides
/// whether anybody still works on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closer {
    /// The tool itself, within its timeout.
    Tool,
    /// Somebody outside, whenever they will: a person, a host, a child's turn. Nothing waits in
    /// memory meanwhile, and a restart changes nothing.
    Outside,
    /// The person who is asked, whenever they will, as with [`Closer::Outside`]; nothing else of the
    /// turn runs meanwhile, be it a call behind this one (CH-4).
    Person,
}

impl Closer {
    /// Whether somebody else than the tool brings the outcome.
    pub fn is_outside(self) -> bool {
        match self {
            Self::Tool => false,
            Self::Outside | Self::Person => true,
        }
    }
}

/// Whether a call may run beside the others of its batch (AS-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// Beside any number of others.
    Parallel,
    /// Alone.
    Exclusive,
}

/// The timeout of a tool that does not set its own (AS-13).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// Who calls, for a tool that needs to know.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The agent that asked.
    pub agent: AgentPath,
    /// The idempotency key: the same for every try of this call, over any number of crashes.
    pub key: CallId,
}

/// What a tool says at once.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The call is answered.
    Closed(Outcome),
    /// The question was passed on; the call stays open until somebody settles it. Only for tools
    /// whose [`Closer`] is not the tool.
    Open,
}

/// What a probe found out about a call that a stop of the server cut (DU-5).
#[derive(Clone, Debug, PartialEq)]
pub enum Probed {
    /// It was done; this is its outcome.
    Done(Outcome),
    /// It was not done, so it can be run.
    NotDone,
    /// Nobody can tell.
    Unknown,
}

/// The names of its tools.
impl fmt::Debug for dyn Toolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let specs = self.specs();
        f.debug_list()
            .entries(specs.iter().map(|spec| &spec.name))
            .finish()
    }
}

/// Anything that lists tools and runs their calls.
pub trait Toolset: Send + Sync {
    /// The tools, in a stable order: they are a part of the prompt's cached prefix.
    fn specs(&self) -> Vec<Arc<ToolSpec>>;

    /// Runs a call whose name is in [`Toolset::specs`] and whose arguments fit its schema. It is
    /// stopped by being dropped.
    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, Reply>;

    /// What [`Toolset::probe`] will need to tell whether a call was done. Asked before the call's
    /// start is kept, which keeps it; only for calls of an [`Effect::Verifiable`] tool.
    fn foresee(&self, call: &ToolCall) -> Future<'static, Option<Value>> {
        let _ = call;
        Box::pin(std::future::ready(None))
    }

    /// Tells whether a call was done that had started when the server stopped, from what
    /// [`Toolset::foresee`] gave then. Changes nothing.
    fn probe(
        &self,
        call: ToolCall,
        foreseen: Option<Value>,
        context: CallContext,
    ) -> Future<'static, Probed> {
        let _ = (call, foreseen, context);
        Box::pin(std::future::ready(Probed::Unknown))
    }
}
