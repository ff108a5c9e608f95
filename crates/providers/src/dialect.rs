//! A dialect as data. Each dialect has a folder, whose root makes its [`Dialect`]; a row of the
//! provider table points to it, and no other code names it.

use std::sync::Arc;

use reqwest::Url;
use samovar_core::provider::Answer;
use samovar_core::{Prompt, Provider};

use crate::endpoint::Endpoint;
use crate::exchange::{self, ModelCall};

/// A dialect: how an endpoint is asked, and how its answers are read.
#[derive(Debug)]
pub struct Dialect {
    /// Its name for programs: `chat_completions`.
    pub name: &'static str,
    /// Makes a request of a prompt, with the reader of its answer.
    pub(crate) ask: fn(Arc<Endpoint>, Prompt) -> ModelCall,
    /// The header that holds the bare key; `None` where it is a bearer token.
    pub(crate) key_header: Option<&'static str>,
    /// Where an endpoint lists its models.
    pub(crate) models: fn(&Endpoint) -> Url,
}

/// A provider that is asked over HTTP.
pub(crate) struct Remote {
    pub(crate) dialect: &'static Dialect,
    pub(crate) endpoint: Arc<Endpoint>,
}

impl Provider for Remote {
    fn stream(&self, prompt: Prompt) -> Answer {
        exchange::answer((self.dialect.ask)(Arc::clone(&self.endpoint), prompt))
    }
}
