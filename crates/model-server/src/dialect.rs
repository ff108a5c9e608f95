//! The wire formats: which paths they have, and who spells and reads them.
//!
//! A further dialect is one file beside `openai.rs`, an arm in each function here, and its
//! routes.

mod openai;

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::Value;

use crate::{
    asked::Asked,
    script::{Delivery, Failure, Said},
    sse::Event,
};

/// A provider's wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `OpenAI` Chat Completions, and the many servers that speak it.
    OpenAi,
}

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Prompt(Dialect),
    Models(Dialect),
}

/// Every route, without the `/v1` that may come before it.
const ROUTES: [(Method, &str, Route); 2] = [
    (
        Method::POST,
        "/chat/completions",
        Route::Prompt(Dialect::OpenAi),
    ),
    (Method::GET, "/models", Route::Models(Dialect::OpenAi)),
];

impl Route {
    /// The route of a request.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 for a known one with another method.
    pub(crate) fn of(method: &Method, path: &str) -> Result<Route, Failure> {
        let short = path.strip_prefix("/v1").unwrap_or(path);
        let mut same_path = ROUTES.iter().filter(|(_, known, _)| *known == short);
        let Some((right_method, _, route)) = same_path.next() else {
            return Err(Failure::new(404, format!("Invalid URL ({method} {path})")));
        };
        if right_method != method {
            let message = format!("Not allowed to {method} on {path} (HINT: use {right_method})");
            return Err(Failure::new(405, message).code("method_not_supported"));
        }
        Ok(*route)
    }

    pub(crate) fn dialect(self) -> Dialect {
        match self {
            Route::Prompt(dialect) | Route::Models(dialect) => dialect,
        }
    }
}

/// What names a reply in its dialect, the same for all its events.
pub(crate) struct Naming {
    /// The number of the request.
    pub(crate) number: u64,
    pub(crate) model: String,
    pub(crate) wants_usage: bool,
    pub(crate) prompt_bytes: usize,
}

impl Dialect {
    /// Refuses a request that does not carry `key`.
    pub(crate) fn check_key(self, headers: &HeaderMap, key: &str) -> Result<(), Failure> {
        match self {
            Dialect::OpenAi => openai::check_key(headers, key),
        }
    }

    /// Reads a prompt, or refuses it as the real one does; `body` is none when it is no JSON.
    pub(crate) fn read(self, headers: &HeaderMap, body: Option<&Value>) -> Result<Asked, Failure> {
        match self {
            Dialect::OpenAi => openai::read(headers, body),
        }
    }

    /// The refusal of a body over the limit.
    pub(crate) fn too_long(self, max_bytes: usize) -> Failure {
        match self {
            Dialect::OpenAi => Failure::new(
                413,
                format!("Request body too large: the limit is {max_bytes} bytes."),
            ),
        }
    }

    /// The events of a streamed reply.
    pub(crate) fn events(
        self,
        said: &Said,
        delivery: &Delivery,
        naming: Naming,
    ) -> impl Iterator<Item = Event> + Send + use<> {
        match self {
            Dialect::OpenAi => openai::events(said, delivery, naming),
        }
    }

    /// The body of a reply that is not streamed.
    pub(crate) fn whole(self, said: &Said, naming: &Naming) -> Bytes {
        match self {
            Dialect::OpenAi => openai::whole(said, naming),
        }
    }

    /// An error's body.
    pub(crate) fn failure(self, failure: &Failure) -> Value {
        match self {
            Dialect::OpenAi => openai::failure(failure),
        }
    }

    /// The list of models.
    pub(crate) fn models(self, models: &[String]) -> Value {
        match self {
            Dialect::OpenAi => openai::models(models),
        }
    }
}
