//! The dialect Messages, which `anthropic` speaks (MD-3, MD-20).
//!
//! A prompt becomes a request in `history`, `block` and `request`. The events that come back are
//! read from JSON in `event` and `usage`, and become events of ours in `reply`, block by block; what
//! the model thought goes back as it came, which `thought` sees to.

mod block;
mod event;
mod history;
mod reply;
mod request;
mod thought;
mod usage;

use std::sync::Arc;

use samovar_core::provider::Answer;
use samovar_core::{Prompt, Provider};

use self::reply::Reply;
use crate::decoder::Reader;
use crate::endpoint::Endpoint;
use crate::exchange::{self, Question};
use crate::fingerprint::Fingerprint;
use crate::http::Headers;
use crate::specs::ProviderSpec;

const HEADERS: Headers = &[
    ("accept", "text/event-stream"),
    ("anthropic-version", "2023-06-01"),
];

/// A provider that speaks Messages.
pub(crate) struct Anthropic {
    endpoint: Arc<Endpoint>,
}

impl Anthropic {
    pub(crate) fn new(endpoint: Endpoint) -> Self {
        Self {
            endpoint: Arc::new(endpoint),
        }
    }
}

impl Provider for Anthropic {
    fn stream(&self, prompt: Prompt) -> Answer {
        let spec = self.endpoint.spec;
        let (body, answers) = match request::write(&self.endpoint, &prompt) {
            Ok(request) => (Ok(request.body), request.fingerprint),
            Err(error) => (Err(error), Fingerprint::new()),
        };
        exchange::answer(Question {
            endpoint: Arc::clone(&self.endpoint),
            model: prompt.model,
            path: path(&self.endpoint),
            headers: HEADERS,
            body,
            reader: reader(spec, answers),
        })
    }
}

/// Where a prompt is put. The provider's own programs put `/v1` behind the base URL that they are
/// given, other programs want it to be there: both spellings are taken.
fn path(endpoint: &Endpoint) -> &'static [&'static str] {
    let base = endpoint.base.path().trim_end_matches('/');
    if base.ends_with("/v1") {
        &["messages"]
    } else {
        &["v1", "messages"]
    }
}

/// What the answer to a request with this fingerprint is read with.
pub(crate) fn reader(spec: &'static ProviderSpec, answers: Fingerprint) -> Box<dyn Reader> {
    Box::new(Reply::new(spec, answers))
}
