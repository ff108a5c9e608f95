//! One answer to one prompt, in no dialect yet.

use serde_json::Value;

use super::{Delivery, Failure, Part};

/// What is answered, and how it goes over the wire.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What is answered.
    pub answer: Answer,
    /// How it goes over the wire.
    pub delivery: Delivery,
}

/// What is answered to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The model says something: a stream, or one JSON body when the prompt asks for none.
    Said(Said),
    /// An HTTP status with the dialect's error body.
    Failed(Failure),
    /// A body that no model would send.
    Page(Page),
    /// A page whose body comes again and again, without end; an empty one ends at once.
    Endless(Page),
    /// Nothing, ever; the connection stays open.
    Silent,
    /// No answer: the connection is closed.
    HungUp,
    /// No answer: the connection is reset.
    Reset,
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::Said(Said::default())
    }
}

/// A response given word for word, as a proxy or a captive portal might.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// HTTP status.
    pub status: u16,
    /// Content type.
    pub content_type: String,
    /// The whole body.
    pub body: String,
}

impl Page {
    pub(crate) fn json(status: u16, body: &Value) -> Page {
        Page {
            status,
            content_type: "application/json".to_owned(),
            body: body.to_string(),
        }
    }
}

/// What the model says, how it finishes, and what it cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Said {
    /// The pieces, in order.
    pub parts: Vec<Part>,
    /// The reason given for finishing.
    pub finish: Finish,
    /// The tokens reported.
    pub usage: Usage,
}

/// The reason that the model gives for finishing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Finish {
    /// Tool calls when there are any, else a normal stop.
    #[default]
    Natural,
    /// None is sent.
    Absent,
    /// A normal stop.
    Stop,
    /// Tools are wanted.
    ToolCalls,
    /// The limit on tokens was reached.
    Length,
    /// The provider's filter stepped in.
    ContentFilter,
    /// This word, known to the dialect or not.
    Other(String),
}

/// The tokens reported for a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Usage {
    /// Counted from the lengths of prompt and reply, four bytes a token.
    #[default]
    Counted,
    /// Not reported, also when asked for.
    Absent,
    /// These.
    Given(TokenCounts),
}

/// Tokens, as the providers count them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens of the prompt, those read from a cache and written to one included.
    pub input: u64,
    /// Tokens of the reply, reasoning included.
    pub output: u64,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached: u64,
    /// Tokens of the prompt that went into the provider's cache, in dialects that say so.
    pub cache_written: u64,
    /// Tokens of the reply that were reasoning.
    pub reasoning: u64,
}
