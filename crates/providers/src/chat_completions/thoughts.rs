//! Thoughts that go back with their calls to the server that sent them, whatever it is called: some
//! servers refuse a call whose thought is missing, and all take what they sent.

use samovar_core::Message;
use serde_json::{Value, json};

use super::details::EXTRA_CONTENT;
use crate::endpoint::Endpoint;
use crate::specs::ProviderSpec;
use crate::state;

/// The field in which most servers send thoughts, and the only one that any insists on.
pub(super) const CONTENT: &str = "reasoning_content";

/// The other one.
const OTHER: &str = "reasoning";

/// The field of the kept state.
const CAME: &str = "thought";

/// Whether a call's state is only of the thought before it.
pub(super) fn is_alone(state: &Value) -> bool {
    state.get(CAME).is_some() && state.get(EXTRA_CONTENT).is_none()
}

/// To whom thoughts go back.
#[derive(Default)]
pub(crate) struct Thoughts(Option<Source>);

/// Who sent a thought.
struct Source {
    spec: &'static ProviderSpec,
    host: String,
    model: String,
}

impl Thoughts {
    pub(super) fn of(endpoint: &Endpoint, model: &str) -> Self {
        Self(Some(Source {
            spec: endpoint.spec,
            host: endpoint.base.host_str().unwrap_or_default().to_owned(),
            model: model.to_owned(),
        }))
    }

    /// What to keep, with the call after it, of a thought that came in this field.
    pub(super) fn state(&self, field: &str) -> Option<Value> {
        let Source { spec, host, model } = self.0.as_ref()?;
        let came = json!({"field": field, "host": host, "model": model});
        Some(state::write(spec, CAME, came))
    }

    /// The field in which the message's thought came, if it came from here.
    pub(super) fn field(&self, message: &Message) -> Option<&'static str> {
        let Source { spec, host, model } = self.0.as_ref()?;
        let mut calls = message.calls();
        let came = calls.find_map(|call| state::read(call.provider_state.as_ref(), spec, CAME))?;
        let is_here = came["host"] == host.as_str() && came["model"] == model.as_str();
        let fields = [CONTENT, OTHER];
        let field = fields.into_iter().find(|field| came["field"] == *field);
        field.filter(|_| is_here)
    }
}
