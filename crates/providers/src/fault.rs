//! What goes wrong with a model's server, in our codes and its own words.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, LOCATION, RETRY_AFTER};
use samovar_core::error::FaultCode;
use samovar_core::provider::ContextNumbers;
use samovar_locale as locale;
use serde_json::Value;

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
}

impl Fault {
    pub(crate) fn new(code: FaultCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
            context: ContextNumbers::default(),
            is_too_large: false,
        }
    }

    /// The answer is more than is accepted.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self {
            is_too_large: true,
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
        let code = said.code(status);
        let what = match (status, code) {
            (404, FaultCode::ProviderRejected) => locale::provider::address_unknown(),
            _ => meaning(code),
        };
        let elsewhere = headers.get(LOCATION).and_then(|to| to.to_str().ok());
        let message = match elsewhere.unwrap_or(&said.words) {
            "" => locale::provider::with_status(what, status),
            words => locale::provider::with_status_and_words(what, status, words),
        };
        Self {
            retry_after: retry_after(headers),
            context: said.context(),
            ..Self::new(code, message)
        }
    }

    /// The server sent an error where an answer belongs: inside a stream, or with status 200.
    pub(crate) fn inside(error: &str) -> Self {
        let said = ServerError::read(error.as_bytes());
        let code = said.code(500);
        let context = said.context();
        let message = locale::provider::with_words(meaning(code), said.words);
        Self {
            context,
            ..Self::new(code, message)
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

/// An error as the server reports it.
struct ServerError {
    words: String,
    /// What it calls the error: its `code`, `type` and `status`, in lower case.
    names: String,
    /// A status that it gives inside the error.
    status: Option<u16>,
}

impl ServerError {
    fn read(body: &[u8]) -> Self {
        match samovar_core::json::read(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self {
                words: page(&String::from_utf8_lossy(body)),
                names: String::new(),
                status: None,
            },
        }
    }

    /// Finds the error in what servers wrap it in: `{"error": {..}}`, `{"error": ".."}`,
    /// `[{"error": {..}}]`, `{"detail": ..}`, or nothing.
    fn of(value: &Value) -> Self {
        let mut error = value.get(0).unwrap_or(value);
        while let Some(inner) = error.get("error").filter(|inner| !inner.is_null()) {
            error = inner;
        }
        let fields = ["code", "type", "status"].map(|name| error.get(name));
        let names = fields.into_iter().flatten().filter_map(Value::as_str);
        let names: Vec<_> = names.map(str::to_lowercase).collect();
        let status = error.get("code").and_then(Value::as_u64);
        Self {
            words: clean(&words(error, value)),
            names: names.join(" "),
            status: status.and_then(|status| u16::try_from(status).ok()),
        }
    }

    fn code(&self, status: u16) -> FaultCode {
        let is_unknown = status == 404 || self.names.contains("not_found");
        let is_unknown_model =
            self.names.contains("model_not_found") || (is_unknown && has_model(&self.words));
        if is_unknown_model {
            return FaultCode::ModelNotFound;
        }
        if self.is_about_context(status) {
            return FaultCode::ContextFull;
        }
        // The account is out of money: no wait helps, whatever the status (OpenAI says 429).
        if GONE.iter().any(|name| self.names.contains(name)) {
            return FaultCode::ProviderRejected;
        }
        let named = NAMES.iter().find(|(name, _)| self.names.contains(name));
        match (status, self.status, named) {
            (500, Some(inner), _) if inner != 500 => by_status(inner),
            (500, _, Some((_, code))) => *code,
            (status, _, _) => by_status(status),
        }
    }
}

impl ServerError {
    /// Whether the prompt is longer than the model's window. A status of its own stands for what
    /// passes: a limit of tokens a minute, a key.
    fn is_about_context(&self, status: u16) -> bool {
        let words = self.words.to_lowercase();
        let is_named = CONTEXT_NAMES.iter().any(|name| self.names.contains(name));
        let is_said = CONTEXT_WORDS.iter().any(|phrase| words.contains(phrase));
        matches!(status, 400 | 413 | 422 | 500) && (is_named || is_said)
    }

    /// The numbers of tokens that a server names: how long the prompt is, the greatest, and how long it
    /// may be, the next. A number is a whole word with one of [`MEASURES`] close to it, so
    /// a model's date or an id is not counted.
    fn context(&self) -> ContextNumbers {
        let words = self.words.to_lowercase();
        let words: Vec<_> = words.split_whitespace().collect();
        let is_near = |at: usize| {
            let near = &words[at.saturating_sub(3)..words.len().min(at + 2)];
            let has = |word: &&str| MEASURES.iter().any(|measure| word.contains(measure));
            near.iter().any(has)
        };
        let numbers = words.iter().enumerate().filter_map(|(at, word)| {
            let number = word.trim_matches(|letter: char| !letter.is_alphanumeric());
            let number = number.parse().ok();
            let is_part = words.get(at + 1) == Some(&"in");
            number.filter(|number| *number >= MIN_CONTEXT && is_near(at) && !is_part)
        });
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable_by(|one, other| other.cmp(one));
        numbers.dedup();
        let (used, limit) = match numbers[..] {
            [limit] => (None, Some(limit)),
            [used, limit, ..] => (Some(used), Some(limit)),
            [] => (None, None),
        };
        ContextNumbers {
            used,
            limit,
            has_answer: words.iter().any(|word| word.contains("completion")),
        }
    }
}

/// What servers call a prompt that is too long.
const CONTEXT_NAMES: [&str; 3] = ["context_length", "context_size", "context_window"];

/// What servers say of one.
const CONTEXT_WORDS: [&str; 8] = [
    "context length",
    "context size",
    "context window",
    "context limit",
    "prompt is too long",
    "maximum prompt length",
    "maximum number of tokens",
    "maximum context",
];

/// What a number of tokens is close to in such a sentence.
const MEASURES: [&str; 4] = ["token", "context", "length", ">"];

/// A smaller number in such a sentence is no model's window.
const MIN_CONTEXT: u64 = 256;

fn has_model(words: &str) -> bool {
    words.to_lowercase().contains("model")
}

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
        FaultCode::ProviderRejected => locale::provider::request_refused(),
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

/// The sentence in an error object, what a gateway passes on of the server behind it, and the name
/// by which the server's people find the request.
fn words(error: &Value, whole: &Value) -> String {
    let sentence = ["message", "detail"]
        .iter()
        .find_map(|name| error.get(name))
        .unwrap_or(error);
    let mut words = text(sentence);
    if let Some(raw) = error.pointer("/metadata/raw") {
        words = format!("{words}: {}", text(raw));
    }
    match whole.get("request_id").and_then(Value::as_str) {
        Some(request) => locale::provider::with_request(words, request),
        None => words,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            value.to_string()
        }
    }
}

/// The words of a body that is no JSON; of a page for a browser only that it is one.
fn page(body: &str) -> String {
    if body.trim_start().starts_with('<') {
        return locale::provider::browser_page().to_owned();
    }
    clean(body)
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

/// How long the server asks to wait. A date is measured against the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let wanted = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = wanted.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let then = httpdate::parse_http_date(wanted).ok()?;
    let now = httpdate::parse_http_date(text(DATE)?).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests;
