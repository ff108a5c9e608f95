//! What a server says of an error, wherever it says it.

use std::time::Duration;

use samovar_locale as locale;
use serde_json::Value;

use super::{clean, wait};

/// The fields that hold an error, or the objects around it.
const WRAPPERS: [&str; 4] = ["error", "errors", "base_resp", "response"];

/// The fields with a sentence for people.
const SENTENCES: [&str; 9] = [
    "message",
    "msg",
    "detail",
    "error_msg",
    "error_message",
    "errorMessage",
    "error_description",
    "status_msg",
    "title",
];

/// The fields with a name for programs.
const NAMES: [&str; 7] = [
    "code",
    "type",
    "status",
    "error_type",
    "error_code",
    "status_code",
    "param",
];

/// An error as the server reports it.
pub(crate) struct ServerError {
    pub(crate) words: String,
    /// The same in lower case.
    pub(super) lower: String,
    /// What it calls the error, in lower case: see [`NAMES`].
    pub(super) names: String,
    /// A status that it gives inside the error.
    pub(super) status: Option<u16>,
    /// How long it asks to wait.
    pub(super) wait: Option<Duration>,
}

impl ServerError {
    pub(super) fn read(body: &[u8]) -> Self {
        match samovar_core::json::read(body) {
            Ok(value) => Self::of(&value),
            Err(_) => Self::new(page(&String::from_utf8_lossy(body)), String::new()),
        }
    }

    fn new(words: String, names: String) -> Self {
        let lower = words.to_lowercase();
        Self {
            wait: wait::in_words(&lower),
            lower,
            words,
            names,
            status: None,
        }
    }

    /// Finds the error in what servers wrap it in: `{"error": {..}}`, `{"error": ".."}`,
    /// `[{"error": {..}}]`, `{"detail": ..}`, or nothing.
    fn of(value: &Value) -> Self {
        let error = innermost(value);
        let fields = NAMES.iter().filter_map(|name| error.get(name));
        let names: Vec<_> = fields
            .filter(|field| field.is_string() || field.is_number())
            .map(|field| text(field).to_lowercase())
            .collect();
        let status = error.get("code").and_then(Value::as_u64);
        let said = Self::new(clean(&words(error, value)), names.join(" "));
        Self {
            wait: wait::in_body(error).or(said.wait),
            status: status.and_then(|status| u16::try_from(status).ok()),
            ..said
        }
    }

    /// Names and words, in lower case.
    pub(super) fn whole(&self) -> String {
        format!("{} {}", self.names, self.lower)
    }

    /// Whether JSON that is no answer says what went wrong: an error told with a status of success.
    pub(crate) fn is_told(value: &Value) -> bool {
        let error = innermost(value);
        let is_said = |name: &&str| error.get(*name).is_some_and(|words| !is_blank(words));
        !std::ptr::eq(error, value) || SENTENCES.iter().any(is_said)
    }
}

/// The error inside its wrappers; the value itself if it has none.
fn innermost(value: &Value) -> &Value {
    let mut error = value.get(0).unwrap_or(value);
    while let Some(inner) = WRAPPERS
        .iter()
        .find_map(|name| error.get(*name).filter(|inner| !is_blank(inner)))
    {
        error = inner.get(0).unwrap_or(inner);
    }
    error
}

/// Whether a field says nothing: `null`, `false`, nothing in it.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

/// The sentence in an error object, what a gateway passes on of the server behind it, and the name
/// by which the server's people find the request.
fn words(error: &Value, whole: &Value) -> String {
    let sentence = SENTENCES
        .iter()
        .find_map(|name| error.get(*name).filter(|words| !is_blank(words)))
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

/// Whether a body is a page for a browser.
pub(super) fn is_page(body: &str) -> bool {
    let body = body.trim_start_matches('\u{feff}');
    body.trim_start().starts_with('<')
}

/// The words of a body that is no JSON; of a page for a browser its title.
pub(super) fn page(body: &str) -> String {
    if !is_page(body) {
        return clean(body);
    }
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|at| {
        let from = at + lower[at..].find('>')? + 1;
        let to = from + lower[from..].find('<')?;
        Some(clean(&body[from..to])).filter(|title| !title.is_empty())
    });
    match title {
        Some(title) => locale::provider::page_titled(locale::quoted(&title)),
        None => locale::provider::browser_page().to_owned(),
    }
}
