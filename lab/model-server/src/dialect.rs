//! The wire formats: which paths they have, and who spells and reads them.
//!
//! A dialect is a file here with a [`Dialect`], a row of [`DIALECTS`], and the JSON Schema of
//! its requests.

mod anthropic;
mod openai;
mod schema;

use http::{HeaderMap, Method};
use serde_json::Value;

use self::{anthropic::ANTHROPIC, openai::OPENAI};
use crate::{
    matcher::Matched,
    model::Model,
    prompt::Prompt,
    script::{Delivery, Failure, ModelOutput},
    sse::Event,
};

/// A provider's wire format.
pub(crate) struct Dialect {
    routes: &'static [(Method, &'static str, Route)],
    /// The header of an answer that carries the request's id.
    pub(crate) request_id_header: &'static str,
    /// Refuses a request that does not carry the key.
    pub(crate) check_key: fn(&HeaderMap, &str) -> Result<(), Failure>,
    /// Reads a prompt, or refuses it as the real one does; the body is `None` if it is not JSON.
    pub(crate) read: fn(&HeaderMap, Option<&Value>) -> Result<Prompt, Failure>,
    /// The refusal of a body with more bytes than this.
    pub(crate) too_long: fn(usize) -> Failure,
    /// The refusal of a model that the server does not have.
    pub(crate) unknown_model: fn(&str) -> Failure,
    /// The events of a streamed reply, each spelled when it is sent: a long reply begins at once.
    pub(crate) events: fn(&ModelOutput, &Delivery, &Matched) -> Events,
    /// The body of a reply that is not streamed.
    pub(crate) whole: fn(&ModelOutput, &Matched) -> Value,
    /// The body of an error, given the number of the request.
    pub(crate) failure: fn(&Failure, u64) -> Value,
    models: fn(&[Model]) -> Value,
}

/// The events of a streamed reply.
pub(crate) type Events = Box<dyn Iterator<Item = Event> + Send>;

/// What a path is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    Prompt,
    Models,
}

/// The id of a request, in the head of its answer and in its errors.
pub(crate) fn request_id(number: u64) -> String {
    format!("req_{number}")
}

impl Dialect {
    /// The dialect of a request. Both list models at the same path, and an unknown path has no
    /// dialect: there the headers decide.
    pub(crate) fn of(path: &str, headers: &HeaderMap) -> &'static Dialect {
        if path == anthropic::MESSAGES || anthropic::is_meant(headers) {
            &ANTHROPIC
        } else {
            &OPENAI
        }
    }

    /// The route of a request.
    ///
    /// # Errors
    ///
    /// 404 for an unknown path, 405 for a known one with another method.
    pub(crate) fn route(&self, method: &Method, path: &str) -> Result<Route, Failure> {
        let mut routes = self.routes.iter();
        let Some((right_method, _, route)) = routes.find(|(_, known, _)| *known == path) else {
            return Err(Failure::new(404, format!("Invalid URL ({method} {path})")));
        };
        if right_method != method {
            let message = format!("Not allowed to {method} on {path} (HINT: use {right_method})");
            return Err(Failure::new(405, message).code("method_not_supported"));
        }
        Ok(*route)
    }

    /// The list of models; one when the server takes any name.
    pub(crate) fn models(&self, models: &[Model]) -> Value {
        let any = [Model::new("scripted")];
        (self.models)(if models.is_empty() { &any } else { models })
    }
}
