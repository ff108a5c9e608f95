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

use samovar_core::Prompt;

use self::reply::Reply;
use crate::dialect::{Dialect, Reader, Request};
use crate::endpoint::Endpoint;
use crate::fingerprint::Fingerprint;
use crate::habits::Habits;
use crate::specs::ProviderSpec;

/// The dialect Messages.
pub(crate) const DIALECT: Dialect = Dialect {
    name: "anthropic",
    // The provider's own programs add `/v1` to the base URL that they are given, others want it to be
    // there: both spellings are taken.
    url: |endpoint| endpoint.root_url(&["v1", "messages"]),
    headers: &[
        ("accept", "text/event-stream"),
        ("anthropic-version", "2023-06-01"),
    ],
    write,
    key_header: Some("x-api-key"),
    models: |endpoint| endpoint.root_url(&["v1", "models"]),
    reader: |spec| reader(spec, Fingerprint::new()),
};

fn write(endpoint: &Endpoint, prompt: &Prompt, habits: &Habits) -> serde_json::Result<Request> {
    let written = request::write(endpoint, prompt, habits)?;
    Ok(Request {
        body: written.body,
        reader: reader(endpoint.spec, written.fingerprint),
    })
}

/// What the answer to a request with this fingerprint is read with.
pub(crate) fn reader(spec: &'static ProviderSpec, answers: Fingerprint) -> Box<dyn Reader> {
    Box::new(Reply::new(spec, answers))
}
