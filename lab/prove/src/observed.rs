//! What was seen from outside a server: the oracle's whole input, plain data.

mod chat;
mod copies;
mod memories;
mod relay;
mod trees;
mod web;

use std::collections::BTreeMap;

pub(crate) use chat::{
    AnswerRoute, AnswerStatus, Chat, ChatAgent, ChatConnection, ChatMessage, Open, Reply,
};
pub(crate) use copies::{AppendedMessage, CopiedRow, Copies, Fork, Import};
pub(crate) use memories::{Memories, Remembered};
pub(crate) use relay::{Ending, Envelope, Link, LogFile, Relay, SentMessage};
pub(crate) use trees::{BranchStop, ListedTurn};
pub(crate) use web::{AnswerReading, FeedReading, Talk, Web};

/// A moment, by its place among all that were noted in one arena.
pub(crate) type Tick = u64;

/// All that was seen of one data directory over all lives of its server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// How the spool was treated between a kill and the next start.
    pub(crate) spool: Spool,
    pub(crate) posts: Vec<Post>,
    /// Streams as readers saw them while the server lived and died.
    pub(crate) readings: Vec<ReaderConnection>,
    /// Streams read again from their start, when all was over.
    pub(crate) retold: Vec<ReaderConnection>,
    /// Stops that were asked for, in order.
    pub(crate) stops: Vec<Stop>,
    /// Stops of called agents alone.
    pub(crate) branch_stops: Vec<BranchStop>,
    /// What `getMessages` answered in the end.
    pub(crate) stored: Vec<Stored>,
    /// What `getSession` answered in the end, by session.
    pub(crate) totals: BTreeMap<String, Totals>,
    /// What the list of turns said in the end.
    pub(crate) turns: Vec<ListedTurn>,
    /// Rows that were there before finished turns were removed, and not after, or not as they were.
    pub(crate) swept: Vec<Stored>,
    /// What webhooks were asked to do, in order.
    pub(crate) effects: Vec<Effect>,
    /// What the model was asked, in order.
    pub(crate) asked: Vec<ObservedPrompt>,
    /// How many prompts had come when a reader first saw an answer finished, by the answer's id.
    pub(crate) answered: BTreeMap<String, u64>,
    /// The global chat, and the questions in it.
    pub(crate) chat: Chat,
    /// What persons have decided about calls, in order.
    pub(crate) decisions: Vec<Decided>,
    /// The relay, its studies and their logs.
    pub(crate) relay: Relay,
    /// Forks, and messages that no turn made.
    pub(crate) copies: Copies,
    pub(crate) images: Images,
    pub(crate) memories: Memories,
    /// What pages have seen.
    pub(crate) web: Web,
    /// Texts of files in the workspace in the end, by their path.
    pub(crate) files: BTreeMap<String, String>,
    /// Sessions whose deletion the server has confirmed.
    pub(crate) deleted: Vec<String>,
    /// Those of them that are there in the end.
    pub(crate) undead: Vec<String>,
    /// How often something was refused that was to be tried again, by the code.
    pub(crate) put_off: BTreeMap<String, u64>,
    /// What went wrong with the server itself.
    pub(crate) incidents: Vec<Incident>,
}

/// What became of images, by their names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    /// A message names them, and they are not there or not whole.
    pub(crate) lost: Vec<String>,
    /// They are there, and their session is deleted.
    pub(crate) left: Vec<String>,
}

/// What happens to the spool between a kill and the next start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spool {
    /// Nothing: a killed process loses no byte that it wrote.
    #[default]
    Whole,
    /// What a power cut does to bytes that were never synced: emptied, cut short, pages of zeros.
    Cut,
}

/// Something that a client said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Post {
    pub(crate) session: String,
    pub(crate) message: String,
    pub(crate) content: String,
    pub(crate) scene: Scene,
    pub(crate) delivery: Delivery,
    pub(crate) sent_at: Tick,
    /// When the server said that it is accepted; none when it never did.
    pub(crate) acked_at: Option<Tick>,
    /// When a reader first saw the end of its stream.
    pub(crate) ended_at: Option<Tick>,
    /// Whether the server said that it does not take it, because the session is busy.
    pub(crate) is_rejected: bool,
}

/// What becomes of a message while another turn of its session runs or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// It waits.
    #[default]
    Queue,
    /// It joins the turn that runs.
    Steer,
    /// The turn that runs ends for it.
    Interrupt,
    /// It is refused.
    Reject,
}

impl Delivery {
    /// How it is spelled.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Reject => "reject",
        }
    }
}

/// What a message makes the model do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scene {
    /// A spoken answer.
    #[default]
    Text,
    /// Calls of all four classes at once, then a spoken answer.
    Tools,
    /// Questions, alone or beside other calls, then a spoken answer.
    Questions,
    /// An answer that a fault of the provider breaks first.
    Fault,
    /// The same, and what came before the fault is more than a log holds in memory.
    Long,
    /// The provider refuses it for good.
    Refused,
    /// Calls of other agents, which may call others, then a spoken answer.
    Tree,
    /// Agents that begin to work in the background, and a spoken answer meanwhile.
    Background,
}

/// A stop that a client asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stop {
    pub(crate) session: String,
    /// The turn that was named; none for the one that runs.
    pub(crate) turn: Option<String>,
    pub(crate) asked_at: Tick,
    /// When it was certain that nothing more comes of it.
    pub(crate) settled_at: Option<Tick>,
    /// Whether the server said that it has stopped a turn.
    pub(crate) is_confirmed: bool,
}

/// What a session says of all its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) messages: u64,
    /// Tokens that its models read and wrote.
    pub(crate) tokens: Tokens,
}

/// Tokens that models read and wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

/// One connection of one reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReaderConnection {
    pub(crate) message: String,
    pub(crate) profile: Profile,
    /// The id behind which it was to go on; none for the turn's start.
    pub(crate) after: Option<String>,
    pub(crate) frames: Vec<Frame>,
    /// Whether `[DONE]` came.
    pub(crate) is_done: bool,
}

/// How much a stream shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Profile {
    #[default]
    Default,
    Full,
}

/// A frame as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) data: String,
}

impl Frame {
    /// Whether it says that what its reader has is not known any more, with a snapshot instead.
    pub(crate) fn is_reset(&self) -> bool {
        self.data.starts_with("{\"type\":\"reset\"")
    }
}

/// A row of `getMessages`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) session: String,
    pub(crate) id: String,
    pub(crate) role: String,
    pub(crate) content: String,
    /// The call that it answers.
    pub(crate) call: Option<String>,
    /// The name of its image.
    pub(crate) image: Option<String>,
    /// How many agents are above the one whose message it is.
    pub(crate) depth: u64,
    /// The call that the agent's whole turn answers, where the row says so.
    pub(crate) of_call: Option<String>,
    /// The turn in the background whose result it is.
    pub(crate) result_of: Option<String>,
}

/// What a webhook was asked to do, once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) class: Class,
    pub(crate) call: String,
    pub(crate) key: String,
    /// The message whose turn wanted it, as the model wrote it.
    pub(crate) message: String,
    /// What the webhook answered.
    pub(crate) receipt: String,
    pub(crate) at: Tick,
}

/// What a person has decided about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Decided {
    pub(crate) call: String,
    pub(crate) is_allowed: bool,
    /// What the person said with it; like no other.
    pub(crate) words: String,
    pub(crate) fate: AnswerStatus,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Idempotent,
    /// Unsafe, and only if a person allows it.
    Approved,
    #[default]
    Unsafe,
}

/// A prompt that the model was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObservedPrompt {
    /// The message that stands last in it.
    pub(crate) message: String,
    /// Results of tools behind that message, which tell how far its turn is.
    pub(crate) results: usize,
    /// Its place among all prompts, from 0.
    pub(crate) number: u64,
    /// The messages whose memories its system prompt has.
    pub(crate) told: Vec<String>,
}

/// What went wrong with a server itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Incident {
    /// It ended though nobody ended it.
    Ended(String),
    /// It did not come up.
    NotServing(String),
    /// A process of it outlived it.
    Orphan(String),
    /// It refused what it should take.
    Refused { message: String, why: String },
    /// A frame that is none.
    Malformed(String),
    /// A part of it broke, and it went on.
    Panicked(String),
    /// What a client was about was not over in time.
    Unfinished(String),
    /// It reports damage.
    Damage(String),
}
