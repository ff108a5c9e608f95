//! Tools: what a model may call, and what the gate must know about a call first.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Future;
use crate::approval::{Preview, Previewed, Reach};
use crate::id::{AgentPath, CallId, SessionId, TurnId};
use crate::message::{Outcome, ToolCall};
use crate::situation::{Environment, PostedContext};
use crate::words;

/// What a call does to the world, and so what to do with a call that a crash interrupted (DU-5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It changes nothing: run it again.
    Read,
    /// A repeat under the same key has no further effect: run it again with that key.
    Idempotent,
    /// It leaves a trace that can be looked up.
    Verifiable,
    /// It must never be repeated automatically.
    Unsafe,
}

/// What the gate needs to know of one call, of a tool whose calls differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// Whether it only reads, so that its tool gives it no means to do more.
    pub reads: bool,
    /// What is asked before this call, instead of [`ToolSpec::asks`].
    pub asks: Option<Asks>,
    /// Why a person is asked about it at every level: `would use the network`. Follows the tool's
    /// name.
    pub insists: Option<&'static str>,
    /// The programs that it runs, each with its first argument, or with each that could be its
    /// subcommand; `None` if they cannot be known.
    pub programs: Option<Vec<String>>,
    /// Those of them that a person can allow together with it; `None` if it can only be allowed once.
    pub grants: Option<Vec<String>>,
    /// What its result holds from outside the workspace; `None` if nothing.
    pub outside: Option<OutsideText>,
    /// Where it can send data to; `None` if nowhere.
    pub sends: Option<Sends>,
    /// Whether it changes what instructs agents, such as memory: it is refused at
    /// [`Approval::ReadOnly`], and in a tainted session a person decides about each such call (TL-10).
    pub instructs: bool,
}

/// Text from outside the workspace, which taints a session (TL-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideText {
    /// Any text.
    Plain,
    /// The results of a search: `results`, each with its `url`, in the outcome's data.
    Search,
    /// A page: the addresses in its text are its links.
    Page,
    /// Text that may be from outside: it is if the outcome's data has [`MARKED`].
    Marked,
}

/// What an outcome's data has, as `true`, if its text is from outside ([`OutsideText::Marked`]).
pub const MARKED: &str = "outside";

impl OutsideText {
    /// Whether an outcome has text from outside.
    pub fn is_in(self, outcome: &Outcome) -> bool {
        let data = outcome.data.as_ref();
        self != Self::Marked || data.is_some_and(|data| data[MARKED] == true)
    }
}

/// Where a call can send data to, so that in a tainted session a person is asked first (TL-10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sends {
    /// Anywhere.
    Anywhere,
    /// To the host of this address only, and nothing but the address.
    Address(String),
    /// To the search service, which gets the query.
    Query,
}

/// The reasons for which a call needs approval, or is refused, below [`Approval::Auto`]. Each
/// reason follows the tool's name.
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

/// What a call does to the world, as far as the tool's author can say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeclaredEffect {
    /// It changes nothing: an interrupted call is made again.
    Read,
    /// A repeat under the same key has no further effect: an interrupted call is made again with
    /// its key.
    Idempotent,
    /// It must not happen twice: an interrupted call is never made again.
    #[default]
    Unsafe,
}

impl From<DeclaredEffect> for Effect {
    fn from(effect: DeclaredEffect) -> Self {
        match effect {
            DeclaredEffect::Read => Self::Read,
            DeclaredEffect::Idempotent => Self::Idempotent,
            DeclaredEffect::Unsafe => Self::Unsafe,
        }
    }
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ToolOrigin")]
pub enum Origin {
    /// It is a part of the server.
    BuiltIn,
    /// The configuration names it.
    Configuration,
    /// It was registered.
    // By a client, or by the program that has the server inside.
    Registered,
}

words! {
    /// Which calls need approval (TL-4). The stricter of two levels is the greater.
    #[derive(
        Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
    )]
    #[serde(rename_all = "kebab-case")]
    pub enum Approval {
        /// Calls that stay in the workspace run without asking.
        Auto = "auto",
        /// Calls that change something need approval.
        Supervised = "supervised",
        /// Calls that change something are refused.
        ReadOnly = "read-only",
    }
}

/// The description of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSpec {
    /// The name that a model calls: `[a-zA-Z0-9_-]{1,64}`, which every provider accepts.
    pub name: String,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// The JSON Schema of its arguments, an object.
    pub parameters: Value,
    /// What a call does to the world.
    pub effect: Effect,
    /// What the gate asks before a call. `None` lets every call through, at every level.
    pub asks: Option<Asks>,
    /// Where it comes from.
    pub origin: Origin,
    /// Whether its owner declares that it passes nothing on and that its answers are the owner's own
    /// text, of a tool that is no part of the server (AS-26).
    pub closed: bool,
    /// The most time that a call may take.
    pub timeout: Duration,
    /// Whether its calls run alone or in parallel.
    pub sharing: Sharing,
    /// Who closes its calls.
    pub closer: Closer,
}

/// Who closes a call. Stored with the call's start, because after a crash it decides whether the
/// call is still in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closer {
    /// The tool itself, within its timeout.
    Tool,
    /// A person or a host, at any later time. Meanwhile nothing waits in memory, and a restart
    /// changes nothing.
    Outside,
    /// The end of a child's turn (SA-7), as with [`Closer::Outside`]; no client can close it.
    Child,
    /// The person who is asked, at any later time, as with [`Closer::Outside`]; meanwhile nothing
    /// else of the turn runs, not even a later call (CH-4).
    Person,
}

impl Closer {
    /// Whether the outcome comes from outside the tool.
    pub fn is_outside(self) -> bool {
        match self {
            Self::Tool => false,
            Self::Outside | Self::Child | Self::Person => true,
        }
    }
}

/// Whether a call may run in parallel with others of its batch (AS-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// In parallel with any number of others.
    Parallel,
    /// Alone.
    Exclusive,
}

/// The timeout of a tool that does not set its own (AS-13).
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);

/// The caller, for a tool that needs to know.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The session.
    pub session: SessionId,
    /// The turn.
    pub turn: TurnId,
    /// The agent that made the call.
    pub agent: AgentPath,
    /// The idempotency key: the same for every attempt of this call, across crashes.
    pub key: CallId,
    /// What the client's UI shows to the person; `None` if no UI said so for this turn.
    pub posted: Option<Arc<PostedContext>>,
    /// What commands get of the owner's shell; `None` for the server's own.
    pub environment: Option<Arc<Environment>>,
    /// The names of the skills that its agent was told of, and may read; `None` for all.
    pub skills: Option<Arc<BTreeSet<String>>>,
    /// What a person was shown of the call ([`Preview::foreseen`]) when they allowed it; a tool that
    /// finds something else does nothing.
    pub approved: Option<Value>,
    /// Whether the session had read text from outside before, so that the call sends nothing to hosts
    /// that the gate has not seen (TL-10).
    pub tainted: bool,
    /// The name of the token that began the session; `None` if that is not another one than the owner's.
    pub guest: Option<Arc<str>>,
    /// Whether a rule allowed the call: a person, or the configuration, has allowed others like it.
    pub by_rule: bool,
    /// What was found when the call was examined ([`Toolset::facts`]); the gate decided by it.
    pub facts: Option<CallFacts>,
    /// Where a call that takes long says how far it is.
    pub progress: ProgressSink,
}

impl ToolSpec {
    /// Whether this is a tool of the server, and a person could take the name for its name.
    pub fn is_like_built_in(&self, name: &str) -> bool {
        self.origin == Origin::BuiltIn && self.name.eq_ignore_ascii_case(name)
    }
}

impl CallContext {
    /// A caller about which the tool needs to know no more.
    pub fn new(session: SessionId, turn: TurnId, agent: AgentPath, key: CallId) -> Self {
        Self {
            session,
            turn,
            agent,
            key,
            posted: None,
            environment: None,
            skills: None,
            approved: None,
            tainted: false,
            guest: None,
            by_rule: false,
            facts: None,
            progress: ProgressSink::default(),
        }
    }
}

/// How much of what a call has written last is shown while it runs, in bytes.
pub const MAX_PROGRESS_BYTES: usize = 1024;

/// How far a running call is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Milliseconds since it began.
    pub elapsed_ms: u64,
    /// Bytes that it has written.
    pub output_bytes: u64,
    /// The end of that, without control sequences: at most [`MAX_PROGRESS_BYTES`] are shown.
    pub last: String,
    /// What a person is to know before the call continues, in whole lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Takes in how far a call is, for the clients that follow its turn. Never blocks; what cannot be
/// shown is dropped.
#[derive(Clone, Default)]
pub struct ProgressSink(Option<Arc<dyn Fn(Progress) + Send + Sync>>);

impl ProgressSink {
    /// A sink that passes everything on. The default one shows nothing.
    pub fn new(show: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(show)))
    }

    /// Shows how far the call is.
    pub fn show(&self, progress: Progress) {
        if let Some(show) = &self.0 {
            show(progress);
        }
    }
}

impl fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProgressSink")
            .field(&self.0.is_some())
            .finish()
    }
}

/// Maximum length of a UI event's payload as JSON text, in bytes; a longer one is not shown.
pub const MAX_UI_EVENT_BYTES: usize = 64 * 1024;

/// Something that a tool tells the clients that follow its turn and have a UI. It is no part of a
/// message, and no model reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct UiEvent {
    /// What it is about, such as `open_url`.
    pub kind: String,
    /// What it says.
    pub payload: Value,
}

/// The immediate result of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolReply {
    /// The call is closed.
    Closed(Outcome),
    /// The call is closed, and clients with a UI are told something (SA-15).
    Shown(Outcome, UiEvent),
    /// The question was passed on; the call stays open until it is settled from outside. Only for
    /// tools whose [`Closer`] is not the tool.
    Open,
}

/// A probe's finding about a call that a server stop interrupted (DU-5).
#[derive(Clone, Debug, PartialEq)]
pub enum Probed {
    /// It was done; this is its outcome.
    Done(Outcome),
    /// It was not done, so it can be run.
    NotDone,
    /// It cannot be determined.
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

/// Lists tools and runs their calls.
pub trait Toolset: Send + Sync {
    /// The tools, in a stable order: they are a part of the prompt's cached prefix.
    fn specs(&self) -> Vec<Arc<ToolSpec>>;

    /// Runs a call whose name is in [`Toolset::specs`] and whose arguments match its schema.
    /// Dropping the future stops it.
    fn call(&self, call: ToolCall, context: CallContext) -> Future<'static, ToolReply>;

    /// The data that [`Toolset::probe`] will need to determine whether a call was done. Requested
    /// before the call's start is saved, and saved with it; only for calls of an
    /// [`Effect::Verifiable`] tool.
    fn foresee(&self, call: &ToolCall) -> Future<'static, Option<Value>> {
        let _ = call;
        Box::pin(std::future::ready(None))
    }

    /// Why none of its calls can run on this machine; `None` if they can. May block for some
    /// milliseconds the first time.
    fn unavailable(&self) -> Option<String> {
        None
    }

    /// The address that a call is sent to, if it is not run here. A grant for the tool counts only
    /// for this address.
    fn target(&self) -> Option<String> {
        None
    }

    /// Looks at what a call would do, for the person who decides about it. Changes nothing.
    fn preview(&self, call: &ToolCall) -> Future<'static, Previewed> {
        let _ = call;
        Box::pin(std::future::ready(Ok(Preview::default())))
    }

    /// What the gate needs to know of a call, if the calls of its tool differ. Looks at nothing but
    /// the arguments.
    fn facts(&self, call: &ToolCall) -> Option<CallFacts> {
        let _ = call;
        None
    }

    /// The part of the workspace that a call changes; `None` if it changes no file there. Looks at
    /// nothing but the arguments.
    fn reach(&self, call: &ToolCall) -> Option<Reach> {
        let _ = call;
        None
    }

    /// Determines, from the data of [`Toolset::foresee`], whether a call was done that had started
    /// when the server stopped. Changes nothing.
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
