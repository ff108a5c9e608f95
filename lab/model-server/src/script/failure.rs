//! Errors that a provider reports in its own JSON shape.

use std::time::Duration;

/// An error of the provider: an HTTP status with the dialect's error body, or an error object
/// inside a stream ([`Part::Failure`](super::Part::Failure)), where the status is not seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failure {
    /// HTTP status, 400 to 599 in any sensible script.
    pub status: u16,
    /// The sentence for people.
    pub message: String,
    /// The error's type in the dialect's words; from status and code when absent.
    pub kind: Option<String>,
    /// The machine-readable code.
    pub code: Option<String>,
    /// The parameter that was wrong.
    pub param: Option<String>,
    /// Value of `Retry-After`, sent in whole seconds, rounded up.
    pub retry_after: Option<Duration>,
}

impl Failure {
    /// An error with this status and sentence and nothing else.
    pub fn new(status: u16, message: impl Into<String>) -> Failure {
        Failure {
            status,
            message: message.into(),
            ..Failure::default()
        }
    }

    /// 401: the key is not a good one.
    pub fn refused_key() -> Failure {
        Failure::new(401, "Incorrect API key provided.").code("invalid_api_key")
    }

    /// 404: there is no such model, or not for this key.
    pub fn unknown_model(model: &str) -> Failure {
        let message = format!("The model `{model}` does not exist or you have no access to it.");
        Failure::new(404, message).code("model_not_found")
    }

    /// 429 with `Retry-After`: too many requests.
    pub fn rate_limited(retry_after: Duration) -> Failure {
        Failure {
            retry_after: Some(retry_after),
            ..Failure::new(429, "Rate limit reached; try again later.").code("rate_limit_exceeded")
        }
    }

    /// 429 without `Retry-After`: the account has nothing left, so trying again is vain.
    pub fn quota_exceeded() -> Failure {
        Failure::new(429, "You exceeded your current quota; check your plan.")
            .code("insufficient_quota")
    }

    /// 500: the provider broke.
    pub fn server_error() -> Failure {
        Failure::new(
            500,
            "The server had an error while processing your request.",
        )
    }

    /// 503: the provider is too busy.
    pub fn overloaded() -> Failure {
        Failure::new(503, "The model is overloaded; try again later.")
    }

    /// Sets the error's type.
    #[must_use]
    pub fn kind(mut self, kind: impl Into<String>) -> Failure {
        self.kind = Some(kind.into());
        self
    }

    /// Sets the machine-readable code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Failure {
        self.code = Some(code.into());
        self
    }

    /// Names the parameter that was wrong.
    #[must_use]
    pub fn param(mut self, param: impl Into<String>) -> Failure {
        self.param = Some(param.into());
        self
    }
}
