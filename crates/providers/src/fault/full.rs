//! The same news in many words: the prompt is longer than the model's window.

use samovar_core::provider::ContextNumbers;

use super::ServerError;

/// Whether the prompt is longer than the model's window. A status of its own stands for what passes:
/// a limit of tokens a minute, a key.
pub(super) fn is(said: &ServerError, status: u16) -> bool {
    if status == 413 {
        return true;
    }
    let passes = matches!(status, 401 | 402 | 403 | 404 | 408 | 429);
    let is_named = NAMES.iter().any(|name| said.names.contains(name));
    !passes && (is_named || is_said(&said.lower))
}

/// Whether a refusal that no word explains may be about the prompt's length.
pub(super) fn may_be(said: &ServerError, status: u16) -> bool {
    let is_near = ["token", "length", "long", "size", "large"]
        .iter()
        .any(|word| said.lower.contains(word));
    matches!(status, 400 | 413 | 422) && is_near && !is_of_answer(&said.lower)
}

fn is_said(words: &str) -> bool {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    let is_said = has(&WORDS) || (words.contains("token") && has(&WORDS_ABOUT_TOKENS));
    is_said && !is_of_answer(words)
}

/// Whether the words are about the limit of the answer alone.
fn is_of_answer(words: &str) -> bool {
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| words.contains(phrase));
    has(&["max_tokens", "max_completion_tokens", "max_output_tokens"])
        && !has(&["prompt", "context", "input", "messages"])
}

/// What servers call a prompt that is too long.
const NAMES: [&str; 7] = [
    "context_length",
    "context_size",
    "context_window",
    "max_prompt_tokens",
    "request_too_large",
    "string_above_max_length",
    "1261",
];

/// What they say of one.
const WORDS: [&str; 16] = [
    "context length",
    "context size",
    "context window",
    "context limit",
    "context_length",
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "input too long",
    "maximum prompt length",
    "maximum number of tokens",
    "maximum context",
    "max length",
    "input length",
    "request too large",
    "reduce the length",
];

/// What they say of one where tokens are spoken of.
const WORDS_ABOUT_TOKENS: [&str; 7] = [
    "exceeds the limit of",
    "token limit",
    "more than max tokens",
    "must have less than",
    "max of",
    "maximum of",
    "too many",
];

/// What a number of tokens is close to in such a sentence.
const MEASURES: [&str; 4] = ["token", "context", "length", ">"];

/// What may stand right before one.
const LABELS: [&str; 4] = ["requested", "given", "limit", "used"];

/// A smaller number in such a sentence is no model's window.
const MIN_CONTEXT: u64 = 256;

/// The numbers of tokens that a server names: how long the prompt is, the greatest, and how long it
/// may be, the next. A number is a whole word with one of [`MEASURES`] close to it or one of
/// [`LABELS`] before it, so a model's date or an id is not counted. After "by" it is an excess.
pub(super) fn numbers(said: &ServerError) -> ContextNumbers {
    let words: Vec<_> = said.lower.split_whitespace().collect();
    let mut excess = None;
    let mut numbers = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let digits = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let digits = digits.replace([',', '_'], "");
        let Ok(number) = digits.parse::<u64>() else {
            continue;
        };
        let before = |back: usize| at.checked_sub(back).map_or("", |at| words[at]);
        let is_part = words.get(at + 1) == Some(&"in");
        if before(1) == "by" {
            excess = Some(number);
        } else if number >= MIN_CONTEXT
            && !is_part
            && (is_near(&words, at) || is_labelled(&words, at))
        {
            numbers.push(number);
        }
    }
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
        excess,
        has_answer: words.iter().any(|word| word.contains("completion")),
        may_be_full: false,
    }
}

fn is_near(words: &[&str], at: usize) -> bool {
    let near = &words[at.saturating_sub(3)..words.len().min(at + 2)];
    let has = |word: &&str| MEASURES.iter().any(|measure| word.contains(measure));
    near.iter().any(has)
}

fn is_labelled(words: &[&str], at: usize) -> bool {
    let plain = |back: usize| {
        let word = at.checked_sub(back).map_or("", |at| words[at]);
        word.trim_matches(|letter: char| !letter.is_alphanumeric())
    };
    // In brackets a number may be the server's own for the error.
    let is_label = LABELS.contains(&plain(1)) && !words[at].starts_with('(');
    let is_range = at
        .checked_sub(1)
        .is_some_and(|at| words[at].starts_with('['));
    let is_bound = plain(1) == "of" && matches!(plain(2), "limit" | "max" | "maximum");
    is_label || is_range || is_bound
}
