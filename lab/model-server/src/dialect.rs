//! The wire formats: which paths they have, and who spells and reads them.
//!
//! A further dialect is one file beside `openai.rs`, an arm in each function here, and its
//! routes.

mod anthropic;
mod openai;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::{
    asked::Asked,
    cache::CacheUse,
    model::Model,
    script::{Delivery, Failure, Said},
    sse::Event,
};

/// A provider's wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `OpenAI` Chat Completions, and the many servers that speak it.
    OpenAi,
    /// Anthropic Messages.
    Anthropic,
}

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Prompt,
    Models,
}

/// Every route: in `OpenAi` without the `/v1` that may come before it, in `Anthropic` whole.
const ROUTES: [(Dialect, Method, &str, Route); 4] = [
    (
        Dialect::OpenAi,
        Method::POST,
        "/chat/completions",
        Route::Prompt,
    ),
    (Dialect::OpenAi, Method::GET, "/models", Route::Models),
    (
        Dialect::Anthropic,
        Method::POST,
        "/v1/messages",
        Route::Prompt,
    ),
    (Dialect::Anthropic, Method::GET, "/v1/models", Route::Models),
];

impl Route {
    /// The route of a request.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 for a known one with another method.
    pub(crate) fn of(dialect: Dialect, method: &Method, path: &str) -> Result<Route, Failure> {
        let short = match dialect {
            Dialect::OpenAi => path.strip_prefix("/v1").unwrap_or(path),
            Dialect::Anthropic => path,
        };
        let mut same_path = ROUTES
            .iter()
            .filter(|(speaks, _, known, _)| *speaks == dialect && *known == short);
        let Some((_, right_method, _, route)) = same_path.next() else {
            return Err(Failure::new(404, format!("Invalid URL ({method} {path})")));
        };
        if right_method != method {
            let message = format!("Not allowed to {method} on {path} (HINT: use {right_method})");
            return Err(Failure::new(405, message).code("method_not_supported"));
        }
        Ok(*route)
    }
}

/// What names a reply in its dialect, the same for all its events.
pub(crate) struct Naming {
    /// The number of the request.
    pub(crate) number: u64,
    pub(crate) model: String,
    pub(crate) wants_usage: bool,
    pub(crate) prompt_bytes: usize,
    pub(crate) cache: CacheUse,
}

/// The id of a request, in the head of its answer and in its errors.
pub(crate) fn request_id(number: u64) -> String {
    format!("req_{number}")
}

impl Dialect {
    /// The dialect that a request is in. The list of models has the same path in both, so a
    /// header decides; so it does where no dialect has the path.
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> Dialect {
        let is_at_anthropic = ROUTES.iter().any(|(dialect, _, known, route)| {
            *dialect == Dialect::Anthropic && *route == Route::Prompt && *known == path
        });
        if is_at_anthropic || anthropic::is_meant(headers) {
            Dialect::Anthropic
        } else {
            Dialect::OpenAi
        }
    }

    /// The header of an answer that carries the request's id.
    pub(crate) fn request_id_header(self) -> &'static str {
        match self {
            Dialect::OpenAi => "x-request-id",
            Dialect::Anthropic => "request-id",
        }
    }

    /// Refuses a request that does not carry `key`.
    pub(crate) fn check_key(self, headers: &HeaderMap, key: &str) -> Result<(), Failure> {
        match self {
            Dialect::OpenAi => openai::check_key(headers, key),
            Dialect::Anthropic => anthropic::check_key(headers, key),
        }
    }

    /// Reads a prompt, or refuses it as the real one does; `body` is none when it is no JSON.
    pub(crate) fn read(self, headers: &HeaderMap, body: Option<&Value>) -> Result<Asked, Failure> {
        match self {
            Dialect::OpenAi => openai::read(headers, body),
            Dialect::Anthropic => anthropic::read(headers, body),
        }
    }

    /// The refusal of a body over the limit.
    pub(crate) fn too_long(self, max_bytes: usize) -> Failure {
        match self {
            Dialect::OpenAi => Failure::new(
                413,
                format!("Request body too large: the limit is {max_bytes} bytes."),
            ),
            Dialect::Anthropic => Failure::new(413, "Request exceeds the maximum size"),
        }
    }

    /// The refusal of a model that there is not.
    pub(crate) fn unknown_model(self, model: &str) -> Failure {
        match self {
            Dialect::OpenAi => Failure::unknown_model(model),
            Dialect::Anthropic => Failure::new(404, format!("model: {model}")),
        }
    }

    /// The events of a streamed reply.
    pub(crate) fn events(
        self,
        said: &Said,
        delivery: &Delivery,
        naming: Naming,
    ) -> Box<dyn Iterator<Item = Event> + Send> {
        match self {
            Dialect::OpenAi => Box::new(openai::events(said, delivery, naming)),
            Dialect::Anthropic => Box::new(anthropic::events(said, delivery, &naming)),
        }
    }

    /// The body of a reply that is not streamed.
    pub(crate) fn whole(self, said: &Said, naming: &Naming) -> Bytes {
        match self {
            Dialect::OpenAi => openai::whole(said, naming),
            Dialect::Anthropic => anthropic::whole(said, naming),
        }
    }

    /// An error's body; `number` is the request's.
    pub(crate) fn failure(self, failure: &Failure, number: u64) -> Value {
        match self {
            Dialect::OpenAi => openai::failure(failure),
            Dialect::Anthropic => anthropic::failure(failure, number),
        }
    }

    /// The list of models.
    pub(crate) fn models(self, models: &[Model]) -> Value {
        match self {
            Dialect::OpenAi => openai::models(models),
            Dialect::Anthropic => anthropic::models(models),
        }
    }
}
