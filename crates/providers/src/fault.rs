//! What goes wrong with a model's server, in our codes and its own words.

mod full;
mod said;
mod wait;

use std::time::Duration;

use reqwest::header::{HeaderMap, LOCATION};
use samovar_core::error::FaultCode;
use samovar_core::provider::ContextNumbers;
use samovar_locale as locale;

pub(crate) use said::ServerError;

/// How much of what a server says is repeated, in characters.
const WORDS: usize = 500;

/// Why an answer is void.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) code: FaultCode,
    pub(crate) message: String,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) context: ContextNumbers,
    /// Whether the answer is right for its kind of server, and more than is accepted.
    pub(crate) is_too_large: bool,
    /// Whether the same request gets the same failure for sure.
    pub(crate) is_final: bool,
    /// What the server says of a request that it refused, in lower case: its words and its names.
    pub(crate) refusal: Option<Box<str>>,
}

impl Fault {
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
            context: ContextNumbers::default(),
            is_too_large: false,
            is_final: false,
            refusal: None,
        }
    }

    /// The answer is more than is accepted.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self {
            is_too_large: true,
            is_final: true,
            ..Self::bad(message)
        }
    }

    /// The answer is not what this kind of server sends.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new(FaultCode::BadResponse, message)
    }

    /// The server answered with a status that is no success.
    pub(crate) fn refused(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let said = ServerError::read(body);
        let code = code(&said, status);
        let what = match (status, code) {
            (404, FaultCode::ProviderRejected) => locale::provider::address_unknown(),
            _ => meaning(code),
        };
        let elsewhere = headers.get(LOCATION).and_then(|to| to.to_str().ok());
        let message = match elsewhere.unwrap_or(&said.words) {
            "" => locale::provider::with_status(what, status),
            words => locale::provider::with_status_and_words(what, status, words),
        };
        let may_be_full = code == FaultCode::ProviderRejected && full::may_be(&said, status);
        Self {
            retry_after: wait::of_headers(headers).or(said.wait),
            context: ContextNumbers {
                may_be_full,
                ..full::numbers(&said)
            },
            is_final: code == FaultCode::BadResponse,
            refusal: (code == FaultCode::ProviderRejected).then(|| said.whole().into()),
            ..Self::new(code, message)
        }
    }

    /// The server sent an error where an answer belongs: inside a stream, or with status 200.
    pub(crate) fn inside(error: &str) -> Self {
        let said = ServerError::read(error.as_bytes());
        let code = code(&said, 500);
        let message = locale::provider::with_words(meaning(code), &said.words);
        Self {
            context: full::numbers(&said),
            retry_after: said.wait,
            ..Self::new(code, message)
        }
    }

    /// A page, or other text, where an answer belongs.
    pub(crate) fn text_instead(body: &str) -> Self {
        let is_page = said::is_page(body);
        let what = locale::provider::text_instead(said::page(body));
        Self {
            is_final: is_page,
            ..Self::bad(what)
        }
    }
}

/// The cause at the bottom of a transport error; the layers above it only repeat the address.
pub(crate) fn cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    clean(&cause.to_string())
}

/// What an error means, by its status, and by what the server says where the status is no help.
fn code(said: &ServerError, status: u16) -> FaultCode {
    let is_unknown = status == 404 || said.names.contains("not_found");
    let is_unknown_model =
        said.names.contains("model_not_found") || (is_unknown && said.lower.contains("model"));
    if is_unknown_model {
        return FaultCode::ModelNotFound;
    }
    if full::is(said, status) {
        return FaultCode::ContextFull;
    }
    // The account is out of money: no wait helps, whatever the status (OpenAI says 429).
    if GONE.iter().any(|name| said.names.contains(name)) {
        return FaultCode::ProviderRejected;
    }
    let is_content = || CONTENT.iter().any(|words| said.lower.contains(words));
    let named = NAMES.iter().find(|(name, _)| said.names.contains(name));
    match (status, said.status, named) {
        // The server blames itself for what it cannot read in the request.
        (500..600, _, _) if is_content() => FaultCode::ProviderRejected,
        (500, Some(inner), _) if inner != 500 => by_status(inner),
        (500, _, Some((_, code))) => *code,
        (status, _, _) => by_status(status),
    }
}

/// What servers say with a status of 500 about a request that they will never take.
const CONTENT: &[&str] = &[
    "image input is not supported",
    "json.exception",
    "tool call arguments",
    "failed to parse messages",
    "failed to parse tools",
    "input is not supported",
    "tools param requires",
    "does not support tools",
    "chat template",
    "jinja",
    "raise_exception",
    "roles must alternate",
];

/// What servers call an account that has nothing left.
const GONE: [&str; 2] = ["insufficient_quota", "billing"];

/// What a server's name for an error means when there is no status to go by.
const NAMES: &[(&str, FaultCode)] = &[
    ("rate_limit", FaultCode::ProviderRateLimited),
    ("too_many_requests", FaultCode::ProviderRateLimited),
    ("quota", FaultCode::ProviderRateLimited),
    ("resource_exhausted", FaultCode::ProviderRateLimited),
    ("api_key", FaultCode::ProviderAuth),
    ("auth", FaultCode::ProviderAuth),
    ("permission", FaultCode::ProviderAuth),
    ("overloaded", FaultCode::ProviderError),
    ("timeout", FaultCode::ProviderTimeout),
    ("not_found", FaultCode::ProviderRejected),
    ("too_large", FaultCode::ProviderRejected),
    ("invalid_request", FaultCode::ProviderRejected),
    ("bad_request", FaultCode::ProviderRejected),
    ("badrequest", FaultCode::ProviderRejected),
    ("content_filter", FaultCode::ProviderRejected),
];

fn by_status(status: u16) -> FaultCode {
    match status {
        401 | 403 => FaultCode::ProviderAuth,
        408 => FaultCode::ProviderTimeout,
        429 => FaultCode::ProviderRateLimited,
        // A conflict is a busy server's, and passes (AS-14).
        409 | 425 => FaultCode::ProviderError,
        400..500 => FaultCode::ProviderRejected,
        300..400 => FaultCode::BadResponse,
        _ => FaultCode::ProviderError,
    }
}

/// What a server did, by the code.
fn meaning(code: FaultCode) -> &'static str {
    match code {
        FaultCode::ProviderAuth => locale::provider::key_refused(),
        FaultCode::ProviderTimeout => locale::provider::late(),
        FaultCode::ProviderRateLimited => locale::provider::too_many_requests(),
        FaultCode::ProviderRejected | FaultCode::ImagesRefused => {
            locale::provider::request_refused()
        }
        FaultCode::ContextFull => locale::provider::prompt_too_long(),
        FaultCode::ModelNotFound => locale::provider::model_unknown(),
        FaultCode::BadResponse => locale::provider::redirected(),
        FaultCode::ProviderError
        | FaultCode::ProviderUnreachable
        | FaultCode::StreamCut
        | FaultCode::EmptyAnswer
        | FaultCode::Interrupted
        | FaultCode::UnusableModel
        | FaultCode::UnusableAgent
        | FaultCode::StoreFailed
        | FaultCode::RecoveryExhausted
        | FaultCode::Internal => locale::provider::failed(),
    }
}

/// Foreign text, fit for a log and a terminal: one line, no control characters, not endless.
pub(crate) fn clean(text: &str) -> String {
    let line: String = text
        .chars()
        .take(WORDS * 4)
        .map(|letter| if letter.is_control() { ' ' } else { letter })
        .collect();
    let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(WORDS).collect()
}

#[cfg(test)]
mod tests;
