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

use samovar_core::Prompt;

use self::reply::Reply;
use crate::dialect::Dialect;
use crate::dialect::Reader;
use crate::endpoint::Endpoint;
use crate::exchange::ModelCall;
use crate::fingerprint::Fingerprint;
use crate::http::Headers;
use crate::specs::ProviderSpec;

const HEADERS: Headers = &[
    ("accept", "text/event-stream"),
    ("anthropic-version", "2023-06-01"),
];

/// The dialect Messages.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    ask,
    key_header: Some("x-api-key"),
    models: |endpoint| endpoint.root_url(&["v1", "models"]),
    reader: |spec| reader(spec, Fingerprint::new()),
};

fn ask(endpoint: Arc<Endpoint>, prompt: Prompt) -> ModelCall {
    let (body, answers) = match request::write(&endpoint, &prompt) {
        Ok(request) => (Ok(request.body), request.fingerprint),
        Err(error) => (Err(error), Fingerprint::new()),
    };
    ModelCall {
        model: prompt.model,
        // The provider's own programs add `/v1` to the base URL that they are given, others want it
        // to be there: both spellings are taken.
        url: endpoint.root_url(&["v1", "messages"]),
        headers: HEADERS,
        body,
        reader: reader(endpoint.spec, answers),
        endpoint,
    }
}

/// What the answer to a request with this fingerprint is read with.
pub(crate) fn reader(spec: &'static ProviderSpec, answers: Fingerprint) -> Box<dyn Reader> {
    Box::new(Reply::new(spec, answers))
}
