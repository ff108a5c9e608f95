//! Providers: anything that turns a prompt into events (03, MD-5).

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Future;
use crate::blob::BlobHash;
use crate::budget::Price;
use crate::error::{Error, FaultCode};
use crate::event::LimitSource;
use crate::message::{Message, Usage};
use crate::tool::ToolSpec;

/// The input of a model call. Stable pieces come first, so that a provider's prompt cache hits.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The model, by the name that the endpoint uses (MD-21).
    pub model: String,
    /// The system prompt's layers, the stable ones first.
    pub layers: Vec<Layer>,
    /// The tools that the model may call.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// The conversation, oldest first; starts with a user's message.
    pub messages: Vec<Arc<Message>>,
    /// The most tokens in the answer; at least 1.
    pub max_tokens: u32,
    /// The sampling temperature.
    pub temperature: f32,
    /// The bytes of the images that are shown, by the hashes in the messages.
    pub images: BTreeMap<BlobHash, Arc<[u8]>>,
}

impl Prompt {
    /// The system prompt as one text, its layers joined by [`LAYER_BREAK`].
    pub fn system(&self) -> String {
        let texts: Vec<_> = self
            .layers
            .iter()
            .map(|layer| layer.text.as_ref())
            .collect();
        texts.join(LAYER_BREAK)
    }
}

/// The separator between two layers of the system prompt (MD-7).
pub const LAYER_BREAK: &str = "\n\n---\n\n";

/// A piece of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Its name, for people who inspect a prompt.
    pub name: &'static str,
    /// Its text.
    pub text: Arc<str>,
}

/// The finish reason of an interrupted answer: the model continues it when asked again with the
/// text so far.
pub const PAUSED: &str = "pause_turn";

/// Whether a finish reason says that the model, or a filter around it, refused to answer. Such an
/// answer may have no text.
pub fn is_refusal(finish_reason: &str) -> bool {
    matches!(finish_reason, "refusal" | "content_filter")
}

/// The finish reason of an answer of `demo` that did nothing, because it did not understand, lacks a tool
/// or refuses.
pub const NOT_UNDERSTOOD: &str = "not_understood";

/// Whether a finish reason says that the answer was cut at the token limit.
pub fn is_cut(finish_reason: &str) -> bool {
    matches!(
        finish_reason,
        "length" | "max_tokens" | "max_output_tokens" | "MAX_TOKENS"
    )
}

/// An event of a model's answer.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderEvent {
    /// More text.
    TextDelta(String),
    /// More reasoning.
    ReasoningDelta(String),
    /// The reasoning before this is complete; this state must be sent back verbatim.
    ReasoningEnd {
        /// A signature or encrypted reasoning; `None` if nothing has to be sent back.
        provider_state: Option<Value>,
    },
    /// A call begins.
    ToolCallStart {
        /// The provider's id, or the position of the call in the message.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments.
    ToolCallDelta {
        /// As in `ToolCallStart`.
        id: String,
        /// A piece of JSON text.
        args_json: String,
    },
    /// A call is complete.
    ToolCallEnd {
        /// As in `ToolCallStart`.
        id: String,
        /// The tool.
        name: String,
        /// As [`ToolCall::parse_args`](crate::ToolCall::parse_args) reads them.
        args: Value,
        /// State that must be sent back verbatim with this call.
        provider_state: Option<Value>,
    },
    /// The server is reading the prompt: no part of the answer.
    PromptProgress {
        /// Tokens that it has read, or had in its cache.
        read: u64,
        /// Tokens of the whole prompt.
        total: u64,
    },
    /// The answer is complete; no event follows.
    MessageComplete {
        /// The provider's own word.
        finish_reason: String,
        /// The token usage, as the provider counts.
        usage: Usage,
    },
    /// The answer is void; no event follows.
    Failed {
        /// The kind of failure.
        code: FaultCode,
        /// What happened, with the server's own words.
        message: String,
        /// The pause that the server asks for.
        retry_after: Option<Duration>,
        /// The numbers of a [`FaultCode::ContextFull`], as far as the server named them.
        context: ContextNumbers,
        /// Whether the same request gets the same failure for sure.
        is_final: bool,
    },
}

/// What a model's server says about a prompt that is too long, in its own tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ContextNumbers {
    /// How long the prompt is.
    pub used: Option<u64>,
    /// How long it may be.
    pub limit: Option<u64>,
    /// By how much the prompt is too long.
    pub excess: Option<u64>,
    /// Whether `used` has the tokens that are reserved for the answer in it.
    pub has_answer: bool,
    /// Whether a refusal that says nothing of the kind may be about the prompt's length.
    pub may_be_full: bool,
}

/// An answer as it arrives: each item holds the events of one read of the socket, so that they can
/// be saved with one write. Ends after `MessageComplete` or `Failed`, one of which always comes.
pub type Answer = Pin<Box<dyn Stream<Item = Vec<ProviderEvent>> + Send>>;

/// Anything that turns a prompt into events. Dropping the answer closes the connection.
pub trait Provider: Send + Sync {
    /// Asks the model.
    fn stream(&self, prompt: Prompt) -> Answer;
}

/// What kind of model it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// A service with a key.
    Remote,
    /// A server on this machine.
    Local,
    /// The built-in rules, which are not a language model (FC-5).
    Demo,
}

/// A model that can be asked.
#[derive(Clone)]
pub struct Model {
    /// Its canonical name (MD-21).
    pub name: String,
    /// The name that its endpoint uses.
    pub endpoint_name: String,
    /// A name that always leads to this provider, whatever servers list or is configured later:
    /// `ollama/gpt-oss:20b` for `gpt-oss:20b`.
    pub route: String,
    /// What kind of model it is.
    pub kind: ModelKind,
    /// How much its window holds, as far as its server's list or a person says so.
    pub window: Option<Window>,
    /// Whether it is known to take no images.
    pub is_blind: bool,
    /// The provider that answers for it.
    pub provider: Arc<dyn Provider>,
}

/// How much a model's window holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Tokens, as the model's server counts them; at least 1.
    pub tokens: u64,
    /// How that is known.
    pub source: LimitSource,
}

impl Model {
    /// Its route, unless that is `name`.
    pub fn route_beside(&self, name: &str) -> Option<String> {
        (self.route != name).then(|| self.route.clone())
    }
}

/// Resolves model names.
pub trait Models: Send + Sync {
    /// Finds the provider of a model.
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when no row has the name or its provider
    /// has no key; the message says which, and what to do.
    fn resolve(&self, name: &str) -> Result<Model, Error>;

    /// Checks that a provider has the name, so that it can be stored: the provider may get its key
    /// later (AS-18).
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when no row has the name; the message
    /// has the closest known ones.
    fn claim(&self, name: &str) -> Result<(), Error>;

    /// Asks the model servers of this machine, within a time limit, if one of them could have a
    /// model of this name; [`Models::resolve`] and [`Models::claim`] then know what they listed. For
    /// a name that is about to be stored.
    fn look_for<'a>(&'a self, _name: &'a str) -> Future<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// What a model costs, by its canonical name; `None` if nobody knows.
    fn price(&self, _name: &str) -> Option<Price> {
        None
    }

    /// Names usable models that take images, the one most like `name` first.
    fn with_images(&self, _name: &str) -> Vec<String> {
        Vec::new()
    }

    /// As [`Models::resolve`]; first asks the model servers of this machine if they never were, or
    /// if the name cannot be used without them.
    ///
    /// # Errors
    /// As [`Models::resolve`].
    fn find<'a>(&'a self, name: &'a str) -> Future<'a, Result<Model, Error>> {
        Box::pin(std::future::ready(self.resolve(name)))
    }

    /// The name of the default model (FC-4). May first ask the model servers of this machine,
    /// within a time limit.
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when there is none.
    fn default_name(&self) -> Future<'_, Result<String, Error>>;
}
