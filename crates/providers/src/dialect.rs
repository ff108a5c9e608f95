//! A dialect as data. Each dialect has a folder, whose root makes its [`Dialect`]; a row of the
//! provider table points to it, and no other code names it.

use std::borrow::Cow;
use std::sync::Arc;

use reqwest::Url;
use samovar_core::provider::Answer;
use samovar_core::{Prompt, Provider, ProviderEvent};
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::endpoint::Endpoint;
use crate::exchange::{self, ModelCall};
use crate::fault::Fault;
use crate::habits::Habits;
use crate::http::Headers;
use crate::specs::ProviderSpec;
use crate::text_calls;

/// A dialect: how an endpoint is asked, and how its answers are read.
#[derive(Debug)]
pub struct Dialect {
    /// Its name for programs: `chat_completions`.
    pub name: &'static str,
    /// Where an endpoint is asked.
    pub(crate) url: fn(&Endpoint) -> Url,
    /// Its headers, without the key.
    pub(crate) headers: Headers,
    /// Makes a request of a prompt, in the way that the model's server takes.
    pub(crate) write: fn(&Endpoint, &Prompt, &Habits) -> serde_json::Result<Request>,
    /// What an answer is read with whose request is not known.
    pub(crate) reader: fn(&'static ProviderSpec) -> Box<dyn Reader>,
    /// The header that holds the bare key; `None` where it is a bearer token.
    pub(crate) key_header: Option<&'static str>,
    /// Where an endpoint lists its models.
    pub(crate) models: fn(&Endpoint) -> Url,
}

/// A request that is ready to be sent, with the reader of its answer.
pub(crate) struct Request {
    pub(crate) body: Vec<u8>,
    pub(crate) reader: Box<dyn Reader>,
}

/// A provider that is asked over HTTP.
pub(crate) struct Remote {
    pub(crate) dialect: &'static Dialect,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) calls: CallForm,
}

/// How a model's server may tell calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallForm {
    /// As the dialect says.
    Dialect,
    /// Also as text: some servers use a chat template that does not fit the model.
    OrText,
}

impl Provider for Remote {
    fn stream(&self, prompt: Prompt) -> Answer {
        let (tools, shown) = (Arc::clone(&prompt.tools), prompt.messages.clone());
        let answer = exchange::answer(ModelCall {
            endpoint: Arc::clone(&self.endpoint),
            dialect: self.dialect,
            prompt,
        });
        match self.calls {
            CallForm::Dialect => answer,
            CallForm::OrText => text_calls::read_calls(answer, tools, shown),
        }
    }
}

/// What a dialect reads one answer with. After an error, and when it is over, nothing more is read.
pub(crate) trait Reader: Send {
    /// Takes an event of the stream, by its name and its trimmed data, and adds what it
    /// says.
    ///
    /// # Errors
    /// It is an error of the server's, or not what this kind of server sends. `events` has what came before it.
    fn take(
        &mut self,
        name: Option<&str>,
        data: &str,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault>;

    /// Takes an answer that came in one piece, from a server that does not stream.
    ///
    /// # Errors
    /// It is an error, or no answer.
    fn whole(&mut self, body: &str, events: &mut Vec<ProviderEvent>) -> Result<(), Fault>;

    /// Takes the end of the stream, well or by a cut, when the answer is not over.
    ///
    /// # Errors
    /// The answer is not whole.
    fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault>;

    /// How far the answer has come.
    fn progress(&self) -> Progress;
}

/// What ends an answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The server says so, or the answer is one whole document.
    Said,
    /// The connection ended.
    Silent,
}

/// How far an answer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// The model speaks.
    Speaking,
    /// The model said why it stopped; what comes after that is only the bill.
    Stopped,
    /// It is complete.
    Over,
}

/// A tool's schema without `additionalProperties: false`, which only costs tokens.
pub(crate) struct Parameters<'a>(pub(crate) Cow<'a, Value>);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_shown = |(name, value): &(&String, &Value)| {
            *name != "additionalProperties" || **value != Value::Bool(false)
        };
        match self.0.as_ref() {
            Value::Object(schema) => serializer.collect_map(schema.iter().filter(is_shown)),
            other => other.serialize(serializer),
        }
    }
}
