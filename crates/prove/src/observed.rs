//! What was seen from outside a server: the oracle's whole input, plain data.

use std::collections::BTreeMap;

/// A moment, by its place among all that were noted in one arena.
pub(crate) type Tick = u64;

/// All that was seen of one data directory over all lives of its server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Observed {
    /// How the spool was treated between a kill and the next start.
    pub(crate) spool: Spool,
    pub(crate) posts: Vec<Post>,
    /// Streams as readers saw them while the server lived and died.
    pub(crate) readings: Vec<Reading>,
    /// Streams read again from their start, when all was over.
    pub(crate) retold: Vec<Reading>,
    /// What `getMessages` answered in the end.
    pub(crate) stored: Vec<Stored>,
    /// What webhooks were asked to do, in order.
    pub(crate) effects: Vec<Effect>,
    /// What the model was asked, in order.
    pub(crate) asked: Vec<Asked>,
    /// How many prompts had come when a reader first saw a message's first answer finished.
    pub(crate) answered: BTreeMap<String, u64>,
    /// Texts of files in the workspace in the end, by their path.
    pub(crate) files: BTreeMap<String, String>,
    /// Sessions whose deletion the server has confirmed.
    pub(crate) deleted: Vec<String>,
    /// Those of them that are there in the end.
    pub(crate) undead: Vec<String>,
    /// What went wrong with the server itself.
    pub(crate) incidents: Vec<Incident>,
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
    pub(crate) sent_at: Tick,
    /// When the server said that it is accepted; none when it never did.
    pub(crate) acked_at: Option<Tick>,
    /// Whether somebody asked to stop what ran in the session while this may have run.
    pub(crate) may_be_cancelled: bool,
    /// Whether the server said that it has stopped this message's turn.
    pub(crate) is_cancelled: bool,
}

/// What a message makes the model do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scene {
    /// A spoken answer.
    #[default]
    Text,
    /// Calls of all four classes at once, then a spoken answer.
    Tools,
    /// An answer that a fault of the provider breaks first.
    Fault,
}

/// One connection of one reader.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reading {
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
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Idempotent,
    #[default]
    Unsafe,
}

/// A prompt that the model was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The message that stands last in it.
    pub(crate) message: String,
    /// Results of tools behind that message: which step it is.
    pub(crate) results: usize,
    /// Its place among all prompts, from 0.
    pub(crate) number: u64,
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
}
