//! What models write: the streams of their answers, and the calls in them.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};

use samovar_core::{CallId, ProviderEvent, ToolCall, ToolSpec, Usage};
use samovar_engine::{Toolbox, args_hash};
use samovar_providers::SPECS;
use samovar_providers::recorded::{self, Recorded};
use serde_json::{Map, Value};

use crate::files;
use crate::pieces::{cuts, text_cuts, two_texts};

/// The dialect Chat Completions.
pub(crate) fn sse_chat_completions(data: &[u8]) {
    stream("openai", data);
}

/// The dialect Messages.
pub(crate) fn sse_anthropic(data: &[u8]) {
    stream("anthropic", data);
}

/// A stream says the same in whatever pieces it comes, and is well formed as far as it goes.
fn stream(provider: &str, data: &[u8]) {
    let spec = SPECS.iter().find(|spec| spec.name == provider);
    let spec = spec.expect("the table has this provider");
    let dialect = spec.dialect.expect("it speaks one");
    let read = |pieces: &[&[u8]]| joined(recorded::read(dialect, spec, pieces));
    let whole = read(&[data]);
    for pieces in cuts(data) {
        assert_eq!(read(&pieces), whole);
    }
    let Recorded { events, fault } = whole;
    let (mut open, mut seen) = (BTreeSet::new(), BTreeSet::new());
    for (at, event) in events.iter().enumerate() {
        match event {
            ProviderEvent::ToolCallStart { id, .. } => {
                assert!(seen.insert(id.clone()), "the call {id} begins twice");
                open.insert(id.clone());
            }
            ProviderEvent::ToolCallDelta { id, .. } => assert!(open.contains(id), "{id}"),
            ProviderEvent::ToolCallEnd { id, .. } => assert!(open.remove(id), "{id}"),
            ProviderEvent::MessageComplete { .. } => {
                assert_eq!(at + 1, events.len(), "something follows the end");
                assert_eq!(fault, None, "a whole answer has no fault");
                assert!(open.is_empty(), "{open:?} never ended");
            }
            ProviderEvent::TextDelta(_)
            | ProviderEvent::ReasoningDelta(_)
            | ProviderEvent::ReasoningEnd { .. }
            | ProviderEvent::PromptProgress { .. }
            | ProviderEvent::Failed { .. } => {}
        }
    }
    let is_whole = matches!(events.last(), Some(ProviderEvent::MessageComplete { .. }));
    assert_eq!(
        is_whole,
        fault.is_none(),
        "an answer is whole or has a fault"
    );
}

/// Deltas of the same thing are one, since they may come in more pieces.
fn joined(recorded: Recorded) -> Recorded {
    let mut events: Vec<ProviderEvent> = Vec::new();
    for event in recorded.events {
        match (events.last_mut(), &event) {
            (Some(ProviderEvent::TextDelta(last)), ProviderEvent::TextDelta(more))
            | (Some(ProviderEvent::ReasoningDelta(last)), ProviderEvent::ReasoningDelta(more)) => {
                last.push_str(more);
            }
            (
                Some(ProviderEvent::ToolCallDelta { id, args_json }),
                ProviderEvent::ToolCallDelta {
                    id: other,
                    args_json: more,
                },
            ) if id == other => args_json.push_str(more),
            _ => events.push(event),
        }
    }
    Recorded { events, ..recorded }
}

/// Calls that are written as text: found in whatever pieces they come, and where there are none
/// the text is as it was.
pub(crate) fn text_calls(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else {
        return;
    };
    let whole = told(&[text]);
    for pieces in text_cuts(text) {
        assert_eq!(told(&pieces), whole);
    }
    let mut shown = String::new();
    for event in &whole {
        match event {
            ProviderEvent::TextDelta(text) => shown.push_str(text),
            ProviderEvent::MessageComplete { .. } => {}
            // It found a call or a thought.
            _ => return,
        }
    }
    // An empty thought leaves nothing.
    if !text.contains("<think>") {
        assert_eq!(shown, text);
    }
}

fn told(pieces: &[&str]) -> Vec<ProviderEvent> {
    let pieces = pieces.iter().filter(|piece| !piece.is_empty());
    let mut events: Vec<_> = pieces
        .map(|piece| ProviderEvent::TextDelta((*piece).to_owned()))
        .collect();
    events.push(ProviderEvent::MessageComplete {
        finish_reason: "stop".to_owned(),
        usage: Usage::default(),
    });
    let events = recorded::with_text_calls(events, OFFERED.clone());
    let recorded = Recorded {
        events,
        fault: None,
    };
    joined(recorded).events
}

/// The tools that the texts may call.
static OFFERED: LazyLock<Arc<[Arc<ToolSpec>]>> = LazyLock::new(|| files::catalog_specs().into());

/// The arguments of a call: a tool's name on the first line, then what the model wrote. The order of
/// keys is never a difference, neither for a hash, which a person's approval is bound to, nor for
/// the schema.
pub(crate) fn tool_arguments(data: &[u8]) {
    static TOOLBOX: LazyLock<Toolbox> = LazyLock::new(|| {
        let toolbox = Toolbox::default();
        for tool in files::catalog() {
            toolbox.add_built_in(&tool).expect("the names differ");
        }
        toolbox
    });
    let Some((name, raw)) = two_texts(data) else {
        return;
    };
    let args = ToolCall::parse_args(raw);
    let turned = turned(&args);
    assert_eq!(args_hash(&args), args_hash(&turned), "{raw}");
    let written = ToolCall::parse_args(&args.to_string());
    if args.is_object() {
        assert_eq!(args_hash(&written), args_hash(&args), "{raw}");
    }
    let id = CallId::new("call_1").expect("a short id");
    let check = |args: &Value| TOOLBOX.check(&ToolCall::new(id.clone(), name, args.clone()));
    let (first, second) = (check(&args), check(&turned));
    assert_eq!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
}

/// The same value with the keys of its objects in the other order.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .rev()
                .map(|(name, value)| (name.clone(), turned(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Value::Array(items) => items.iter().map(turned).collect(),
        other => other.clone(),
    }
}
