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

use samovar_core::Prompt;

use self::reply::Reply;
use crate::decoder::Reader;
use crate::dialect::Dialect;
use crate::endpoint::Endpoint;
use crate::exchange::Question;
use crate::http::Headers;
use crate::specs::ProviderSpec;

const HEADERS: Headers = &[("accept", "text/event-stream, application/json")];

/// The dialect Chat Completions.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "chat_completions",
    ask,
    key_header: None,
    models: |endpoint| endpoint.url(&["models"]),
};

fn ask(endpoint: Arc<Endpoint>, prompt: Prompt) -> Question {
    Question {
        body: request::body(endpoint.spec, &prompt),
        model: prompt.model,
        url: endpoint.url(&["chat", "completions"]),
        headers: HEADERS,
        reader: reader(endpoint.spec),
        endpoint,
    }
}

/// What an answer in this dialect is read with.
pub(crate) fn reader(spec: &'static ProviderSpec) -> Box<dyn Reader> {
    Box::new(Reply::new(spec))
}
