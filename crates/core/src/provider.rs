//! Providers: anything that turns a prompt into events (03, MD-5).

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Future;
use crate::error::{Error, FaultCode};
use crate::message::{Message, Usage};
use crate::tool::ToolSpec;

/// What a model is asked. Stable pieces come first, so that a provider's prompt cache hits.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// The model, under the name that the endpoint itself uses (MD-21).
    pub model: String,
    /// The system prompt's layers, the stable ones first.
    pub layers: Vec<Layer>,
    /// The tools that may be called.
    pub tools: Arc<[Arc<ToolSpec>]>,
    /// The conversation, oldest first; starts with a user's message.
    pub messages: Vec<Arc<Message>>,
    /// Tokens that the answer may have; at least 1.
    pub max_tokens: u32,
    /// The sampling temperature.
    pub temperature: f32,
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

/// What stands between two layers of the system prompt (MD-7).
pub const LAYER_BREAK: &str = "\n\n---\n\n";

/// A piece of the system prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// What it is, for whoever inspects a prompt.
    pub name: &'static str,
    /// Its text.
    pub text: Arc<str>,
}

/// The finish reason of an answer that is only interrupted: its model goes on when it is asked
/// again, with what it has said.
pub const PAUSED: &str = "pause_turn";

/// Whether a finish reason says that the model, or a filter around it, refused to answer. Such an
/// answer may be without a word.
pub fn is_refusal(finish_reason: &str) -> bool {
    matches!(finish_reason, "refusal" | "content_filter")
}

/// What a model's server says.
#[derive(Clone, Debug, PartialEq)]
pub enum ProviderEvent {
    /// More text.
    TextDelta(String),
    /// More reasoning.
    ReasoningDelta(String),
    /// The reasoning before this is complete; the provider wants this back verbatim.
    ReasoningEnd {
        /// Signature, encrypted reasoning; none when there is nothing to give back.
        provider_state: Option<Value>,
    },
    /// A call begins.
    ToolCallStart {
        /// The provider's id, or the place of the call in the message.
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
        /// What the provider wants back verbatim with this call.
        provider_state: Option<Value>,
    },
    /// The answer is whole; nothing follows.
    MessageComplete {
        /// The provider's own word.
        finish_reason: String,
        /// What it cost, as the provider counts.
        usage: Usage,
    },
    /// The answer is void; nothing follows.
    Failed {
        /// What kind of failure.
        code: FaultCode,
        /// What happened, with the server's own words.
        message: String,
        /// How long the server asks to wait.
        retry_after: Option<Duration>,
    },
}

/// An answer as it comes: each item is all that one read of the socket brought, so that it can be
/// kept with one write. Ends after `MessageComplete` or `Failed`, one of which always comes.
pub type Answer = Pin<Box<dyn Stream<Item = Vec<ProviderEvent>> + Send>>;

/// Anything that turns a prompt into events. Dropping the answer closes the connection.
pub trait Provider: Send + Sync {
    /// Asks the model.
    fn stream(&self, prompt: Prompt) -> Answer;
}

/// What kind of thing answers.
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
    /// What kind of thing answers.
    pub kind: ModelKind,
    /// Whom to ask.
    pub provider: Arc<dyn Provider>,
}

/// Which model a name stands for.
pub trait Models: Send + Sync {
    /// Finds the provider of a model.
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when no row claims the name or its
    /// provider has no key; the message says which and what to do.
    fn resolve(&self, name: &str) -> Result<Model, Error>;

    /// Whether a name is somebody's, so that it can be written down: a provider may get its key
    /// later (AS-18).
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when no row claims the name; the message
    /// has the nearest known ones.
    fn claim(&self, name: &str) -> Result<(), Error>;

    /// The name of the model for who asked for none (FC-4). May ask the model servers of this
    /// machine first, within a bound.
    ///
    /// # Errors
    /// [`Code::UnusableModel`](crate::Code::UnusableModel) when there is none.
    fn default_name(&self) -> Future<'_, Result<String, Error>>;
}
