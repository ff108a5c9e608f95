//! The dialect Chat Completions, which most providers speak (MD-3, MD-20).
//!
//! A prompt becomes a request in `history` and `request`; what comes back is read in `exchange`
//! from the socket, in `decoder` from the event stream, in `chunk` from JSON, and becomes events in
//! `reply` and `calls`.

mod calls;
mod chunk;
mod decoder;
mod details;
mod exchange;
mod history;
mod reply;
mod request;

use std::sync::Arc;

use samovar_core::provider::Answer;
use samovar_core::{Prompt, Provider};

use self::exchange::Question;
use crate::endpoint::Endpoint;

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
            body,
        })
    }
}
