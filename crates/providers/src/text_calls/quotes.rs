//! Whether a call is a quotation: a model that shows a call out of a file does not make it.

use std::sync::Arc;

use samovar_core::{Message, Part, Role};
use serde_json::Value;

/// Letters of a call's beginning or end that make it a quotation: its middle may be on another page.
const EDGE: usize = 48;

/// Whether a conversation has one of these calls in a user's message, a result, or what the model gave
/// to a tool.
pub(super) fn are_in(calls: &[&str], shown: &[Arc<Message>]) -> bool {
    let edges: Vec<_> = calls
        .iter()
        .flat_map(|call| edges(&essence(call)))
        .collect();
    let has = |text: &str| {
        let text = essence(text);
        edges.iter().any(|edge| text.contains(edge))
    };
    let is_quoted = |text: &str| {
        let unplaced: Vec<_> = text.lines().map(without_place).collect();
        has(text) || has(&unplaced.concat())
    };
    let parts = |message: &Message| {
        message.parts.iter().any(|part| match part {
            Part::Text { text } => message.role != Role::Assistant && is_quoted(text),
            Part::Outcome { outcome, .. } => is_quoted(&outcome.text),
            Part::Call(call) => has_string(&call.args, &is_quoted),
            Part::Reasoning { .. } | Part::Data { .. } | Part::Image { .. } => false,
        })
    };
    shown.iter().any(|message| parts(message))
}

/// Whether a string in a call's arguments is one of those. The arguments themselves are no quotation:
/// a corrected call repeats most of them.
fn has_string(value: &Value, is_quoted: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is_quoted(text),
        Value::Array(items) => items.iter().any(|item| has_string(item, is_quoted)),
        Value::Object(fields) => fields.values().any(|item| has_string(item, is_quoted)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// The letters and braces of a text: they stay the same when a tool numbers its lines, a model
/// changes its layout, or JSON escapes it.
fn essence(text: &str) -> String {
    let mut before = ' ';
    let is_kept = |letter: &char| {
        let is_escape = std::mem::replace(&mut before, *letter) == '\\';
        matches!(letter, '{' | '}') || letter.is_alphabetic() && !is_escape
    };
    text.chars().filter(is_kept).collect()
}

/// The beginning and the end of a call's letters.
fn edges(call: &str) -> [String; 2] {
    let letters: Vec<_> = call.chars().collect();
    let (head, tail) = (letters.len().min(EDGE), letters.len().saturating_sub(EDGE));
    [&letters[..head], &letters[tail..]].map(|edge| edge.iter().collect())
}

/// A line without the place that a search puts before it: `src/a.rs:3: `.
fn without_place(line: &str) -> &str {
    let is_place = |place: &str| {
        let number = place
            .rsplit_once(':')
            .map(|(_, number)| number.parse::<u64>());
        matches!(number, Some(Ok(_)))
    };
    match line.split_once(": ") {
        Some((place, text)) if is_place(place) => text,
        Some(_) | None => line,
    }
}
