//! How long a server asks to wait: in a header, in the fields of an error, or in its sentence.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// The headers. A date is measured against the server's own clock.
pub(super) fn of_headers(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(wanted) = text(RETRY_AFTER.as_str()).map(str::trim) {
        if let Ok(seconds) = wanted.parse() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let dates = httpdate::parse_http_date(wanted)
            .ok()
            .zip(text(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok()));
        if let Some((then, now)) = dates {
            return Some(then.duration_since(now).unwrap_or_default());
        }
    }
    let millis: f64 = text("retry-after-ms")?.trim().parse().ok()?;
    Duration::try_from_secs_f64(millis / 1000.0).ok()
}

/// The fields of an error: `retry_after` in seconds, `retry_after_ms`, and `retryDelay`, which stands
/// in a list of details (`google.rpc.RetryInfo`).
pub(super) fn in_body(error: &Value) -> Option<Duration> {
    let details = error.get("details").and_then(Value::as_array);
    let objects = details.into_iter().flatten().chain([error]);
    objects.into_iter().find_map(|object| {
        let field = |name: &str, scale: f64| {
            let value = object.get(name)?;
            match (value.as_f64(), value.as_str()) {
                (Some(number), _) => Duration::try_from_secs_f64(number * scale).ok(),
                (None, Some(text)) => span(&text.to_lowercase(), scale),
                (None, None) => None,
            }
        };
        field("retryDelay", 1.0)
            .or_else(|| field("retry_after", 1.0))
            .or_else(|| field("retry_after_seconds", 1.0))
            .or_else(|| field("retry_after_ms", 0.001))
    })
}

/// What stands before the time in a sentence.
const BEFORE: [&str; 6] = [
    "retry in ",
    "again in ",
    "retry after ",
    "again after ",
    "wait for ",
    "wait ",
];

/// A sentence in lower case: "please try again in 1m30s".
pub(super) fn in_words(words: &str) -> Option<Duration> {
    BEFORE.iter().find_map(|before| {
        let at = words.find(before)?;
        span(&words[at + before.len()..], 1.0)
    })
}

/// A time at the start of a text: `2.4s`, `1m30s`, `20 ms`, `5 seconds`. A number without a unit
/// counts `scale` seconds.
fn span(text: &str, scale: f64) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut seconds = None;
    loop {
        let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
        let end = rest.find(|letter| !is_number(letter)).unwrap_or(rest.len());
        let Ok(number) = rest[..end].trim_end_matches('.').parse::<f64>() else {
            break;
        };
        let after = rest[end..].trim_start();
        let end = after.find(|letter: char| !letter.is_ascii_lowercase());
        let unit = &after[..end.unwrap_or(after.len())];
        let unit_seconds = match unit {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => {
                seconds = Some(seconds.unwrap_or(0.0) + number * scale);
                break;
            }
        };
        seconds = Some(seconds.unwrap_or(0.0) + number * unit_seconds);
        rest = &after[unit.len()..];
    }
    Duration::try_from_secs_f64(seconds?).ok()
}
