//! The dialect Chat Completions, which most providers speak (MD-3, MD-20).
//!
//! A prompt becomes a request in `history` and `request`; the events that come back are taken in
//! `reader`, read from JSON in `chunk`, and become events of ours in `reply` and `calls`.

mod calls;
mod chunk;
mod details;
mod history;
mod reader;
mod reply;
mod request;

use std::sync::Arc;

use samovar_core::provider::Answer;
use samovar_core::{Prompt, Provider};

use self::reply::Reply;
use crate::decoder::Reader;
use crate::endpoint::Endpoint;
use crate::exchange::{self, Question};
use crate::http::Headers;
use crate::specs::ProviderSpec;

const PATH: &[&str] = &["chat", "completions"];

const HEADERS: Headers = &[("accept", "text/event-stream, application/json")];

/// A provider that speaks Chat Completions.
pub(crate) struct ChatCompletions {
    endpoint: Arc<Endpoint>,
}

impl ChatCompletions {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
        }
    }
}

impl Provider for ChatCompletions {
    fn stream(&self, prompt: Prompt) -> Answer {
        let body = request::body(self.endpoint.spec, &prompt);
        exchange::answer(Question {
            endpoint: Arc::clone(&self.endpoint),
            model: prompt.model,
            path: PATH,
            headers: HEADERS,
            body,
            reader: reader(self.endpoint.spec),
        })
    }
}

/// What an answer in this dialect is read with.
pub(crate) fn reader(spec: &'static ProviderSpec) -> Box<dyn Reader> {
    Box::new(Reply::new(spec))
}
