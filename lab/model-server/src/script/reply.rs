//! One answer to one prompt, in no dialect yet.

use std::time::Duration;

use serde_json::Value;

use super::Delivery;

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
    Said(ModelOutput),
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
        Answer::Said(ModelOutput::default())
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
pub struct ModelOutput {
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

/// One piece of what the model says.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Reasoning, shown by the providers that show it; the script decides, not the prompt.
    Reasoning(String),
    /// Reasoning that the provider shows only to itself, sent as opaque data that is made from
    /// this text; dialects without such a thing send nothing.
    RedactedReasoning(String),
    /// Text.
    Text(String),
    /// A tool call whose fragments come one after another.
    Call(ToolCall),
    /// Tool calls whose fragments come in turns: first every call's opening, then a fragment of
    /// each until all are out.
    Interleaved(Vec<ToolCall>),
    /// An error object inside the stream; nothing of the reply comes after it, but `[DONE]` in
    /// the dialect that has it. In a body that is not a stream it is the whole body, with
    /// status 200.
    Failure(Failure),
    /// A comment line of the event stream; left out of other bodies.
    Comment(String),
    /// An event with exactly this data, valid or not; left out of other bodies. Where events
    /// have names, it has that of its data's `type`, if there is one.
    Raw(String),
}

impl From<ToolCall> for Part {
    fn from(call: ToolCall) -> Part {
        Part::Call(call)
    }
}

/// A request of the model to run a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The tool's name.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
    /// The id.
    pub id: CallIdRule,
    /// The call's place among the calls of the reply.
    pub index: Index,
}

impl ToolCall {
    /// A call with these arguments, an id that the server makes, and the right index.
    pub fn new(name: impl Into<String>, arguments: Value) -> ToolCall {
        ToolCall {
            name: name.into(),
            arguments: Arguments::Json(arguments),
            id: CallIdRule::Made,
            index: Index::Counted,
        }
    }

    /// Sends this text as arguments, valid or not.
    #[must_use]
    pub fn raw_arguments(mut self, text: impl Into<String>) -> ToolCall {
        self.arguments = Arguments::Raw(text.into());
        self
    }

    /// Gives the call this id, which two calls may share.
    #[must_use]
    pub fn id(mut self, id: impl Into<String>) -> ToolCall {
        self.id = CallIdRule::Given(id.into());
        self
    }

    /// Sends no id at all.
    #[must_use]
    pub fn without_id(mut self) -> ToolCall {
        self.id = CallIdRule::Missing;
        self
    }

    /// Sets how the call's index is sent.
    #[must_use]
    pub fn index(mut self, index: Index) -> ToolCall {
        self.index = index;
        self
    }
}

/// Arguments of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// This text, valid JSON or not.
    Raw(String),
    /// This value as compact JSON.
    Json(Value),
}

impl Arguments {
    pub(crate) fn text(&self) -> String {
        match self {
            Arguments::Raw(text) => text.clone(),
            Arguments::Json(value) => value.to_string(),
        }
    }
}

/// The id of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum CallIdRule {
    /// Made by the server, unique among its replies.
    #[default]
    Made,
    /// This one.
    Given(String),
    /// None is sent, as some servers do.
    Missing,
}

/// The index of a tool call among the calls, or among the blocks, of a reply.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Index {
    /// 0, 1, 2, as it should be.
    #[default]
    Counted,
    /// This one, so that several calls share it, as some servers do.
    Fixed(usize),
    /// None is sent.
    Missing,
}

impl Index {
    /// What is sent for a call that is rightly at `counted`.
    pub(crate) fn sent(self, counted: usize) -> Option<usize> {
        match self {
            Index::Counted => Some(counted),
            Index::Fixed(index) => Some(index),
            Index::Missing => None,
        }
    }
}

/// An error of the provider: an HTTP status with the dialect's error body, or an error object
/// inside a stream ([`Part::Failure`]), where the status is not seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status, 400 to 599 in any sensible script.
    pub status: u16,
    /// The sentence for people.
    pub message: String,
    /// The error's type in the dialect's words; from status and code when absent.
    pub kind: Option<String>,
    /// The machine-readable code.
    pub code: Option<String>,
    /// The parameter that was wrong.
    pub param: Option<String>,
    /// Value of `Retry-After`, sent in whole seconds, rounded up.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// An error with this status and sentence and nothing else.
    pub fn new(status: u16, message: impl Into<String>) -> Failure {
        Failure {
            status,
            message: message.into(),
            ..Failure::default()
        }
    }

    /// 401: the key is not a good one.
    pub fn refused_key() -> Failure {
        Failure::new(401, "Incorrect API key provided.").code("invalid_api_key")
    }

    /// 404: there is no such model, or not for this key.
    pub fn unknown_model(model: &str) -> Failure {
        let message = format!("The model `{model}` does not exist or you have no access to it.");
        Failure::new(404, message).code("model_not_found")
    }

    /// 429 with `Retry-After`: too many requests.
    pub fn rate_limited(retry_after: Duration) -> Failure {
        Failure {
            retry_after: Some(retry_after),
            ..Failure::new(429, "Rate limit reached; try again later.").code("rate_limit_exceeded")
        }
    }

    /// 429 without `Retry-After`: the account has nothing left, so trying again is vain.
    pub fn quota_exceeded() -> Failure {
        Failure::new(429, "You exceeded your current quota; check your plan.")
            .code("insufficient_quota")
    }

    /// 500: the provider broke.
    pub fn server_error() -> Failure {
        Failure::new(
            500,
            "The server had an error while processing your request.",
        )
    }

    /// 503: the provider is too busy.
    pub fn overloaded() -> Failure {
        Failure::new(503, "The model is overloaded; try again later.")
    }

    /// Sets the error's type.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Failure {
        self.kind = Some(kind.into());
        self
    }

    /// Sets the machine-readable code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Failure {
        self.code = Some(code.into());
        self
    }

    /// Names the parameter that was wrong.
    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Failure {
        self.param = Some(param.into());
        self
    }
}
