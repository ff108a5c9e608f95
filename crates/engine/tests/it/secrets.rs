//! Keys of this process in everything that goes through a session.

use std::sync::LazyLock;
use std::time::Duration;

use samovar_core::error::FaultCode;
use samovar_core::event::Fragment;
use samovar_core::history::Speakers;
use samovar_core::redact::{self, Redactor, Secret, Tail};
use samovar_core::tool::Progress;
use samovar_core::{Kind, Outcome, ProviderEvent, ToolReply};
use samovar_doubles::spellings::{self, KEY, Spelling};
use samovar_doubles::{Reply, TestTool, World, call, fail, say};
use serde_json::{Value, json};

use crate::rig::{Rig, settings};

fn redactor() -> Redactor {
    Redactor::default().with("K", &Secret::new(KEY).unwrap())
}

// proves TL-14
#[test]
fn a_key_is_found_in_every_format_and_in_every_split() {
    let redactor = redactor();
    let all = spellings::of(KEY);
    assert!(all.len() >= 40, "{}", all.len());
    for Spelling { name, text, needle } in all {
        assert!(text.contains(&needle), "{name}: {text}");
        let shown = redactor.redact(&text).into_owned();
        assert!(
            !shown.contains(&needle) && !shown.contains(KEY),
            "{name}: {shown}"
        );
        assert!(shown.contains("[redacted: K]"), "{name}: {shown}");
        let pieces = |cuts: &[usize]| {
            let mut tail = Tail::default();
            let (mut said, mut from) = (String::new(), 0);
            for &cut in cuts.iter().chain([&text.len()]) {
                said += &tail.push(&redactor, text[from..cut].to_owned());
                assert!(!said.contains(&needle), "{name}: {said}");
                from = cut;
            }
            said + &tail.end(&redactor)
        };
        let borders: Vec<_> = text.char_indices().map(|(at, _)| at).collect();
        // Up to three bytes of a key may be shown before its mark.
        let marks = shown.matches("[redacted: K]").count();
        let is_shown = |said: &str| {
            let is_marked = said.matches("[redacted: K]").count() == marks;
            is_marked && said.len() <= shown.len() + 3 * marks
        };
        for &cut in &borders {
            let said = pieces(&[cut]);
            assert!(is_shown(&said), "{name}, cut at {cut}: {said}");
        }
        let said = pieces(&borders);
        assert!(is_shown(&said), "{name}, in characters: {said}");
    }
}

/// All texts of a value, one after the other.
fn texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\u{1}');
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            out.push_str(name);
            out.push('\u{1}');
            texts(value, out);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The beginning of the key.
static PART: LazyLock<&str> = LazyLock::new(|| &KEY[..KEY.len() - 4]);

/// What a provider gives with a thought, and wants back with the very same words.
const SIGNATURE: &str = "a signature of the thought";

/// Says a text in pieces of seven characters, thinks it, and calls a tool with it.
fn repeats(text: &str) -> Reply {
    let pieces: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = pieces
        .chunks(7)
        .map(|piece| piece.iter().collect())
        .collect();
    let thinks = pieces.iter().cloned().map(ProviderEvent::ReasoningDelta);
    let says = pieces.iter().cloned().map(ProviderEvent::TextDelta);
    let provider_state = Some(json!(SIGNATURE));
    let thought = ProviderEvent::ReasoningEnd { provider_state };
    let reply = thinks
        .chain([thought])
        .chain(says)
        .fold(Reply::default(), Reply::and_read);
    reply.and_call("echo", json!({"words": text, "depth": [{text: 1}]}))
}

fn report(last: &str) -> Progress {
    Progress {
        elapsed_ms: 1,
        output_bytes: 1,
        last: last.to_owned(),
        note: Some(last.to_owned()),
    }
}

/// What a reader, the history, the model and a client's error have after a person, a model, a tool
/// and a model's server have all said a text.
async fn sinks(text: &str) -> Vec<(&'static str, String)> {
    let echo = TestTool::new("echo", |args, _| async move {
        let words = args["words"].as_str().unwrap_or_default().to_owned();
        let outcome = Outcome::done(words.clone()).with_data(json!({ words: [1] }));
        ToolReply::Closed(outcome)
    });
    let found = text.to_owned();
    let reads = TestTool::new("read", move |_, context| {
        let found = found.clone();
        async move {
            for last in found.split('\u{2}') {
                context.progress.show(report(last));
                // Each is shown before the call is over.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // A key that is not written to its end.
            context.progress.show(report(&PART));
            tokio::time::sleep(Duration::from_millis(1)).await;
            ToolReply::Closed(Outcome::failed(found))
        }
    });
    let world = World::answering([
        call("read", json!({})),
        repeats(text),
        say("done"),
        fail(FaultCode::ProviderRejected, text),
    ]);
    let rig = Rig::with(world, [echo, reads], settings()).await;
    let (first, second) = (rig.post(text).await, rig.post("once more").await);
    let mut kinds = rig.log_of(&first).await;
    kinds.extend(rig.log_of(&second).await);
    let (mut journal, mut stream, mut fault) = (String::new(), String::new(), String::new());
    let mut progress = String::new();
    for kind in kinds {
        texts(&serde_json::to_value(&kind).unwrap(), &mut journal);
        match &kind {
            Kind::Delta { fragment, .. } => match fragment {
                Fragment::Text(text) | Fragment::Reasoning(text) | Fragment::Args(text) => {
                    stream.push_str(text);
                }
                Fragment::Call { .. } => {}
            },
            Kind::CallProgress { progress: of, .. } => progress.push_str(&of.last),
            Kind::TurnFinished {
                fault: Some(why), ..
            } => fault.push_str(&why.message),
            _ => {}
        }
    }
    let rows = rig.messages(Speakers::All).await;
    let mut history = String::new();
    for row in rows {
        texts(&serde_json::to_value(&row.message).unwrap(), &mut history);
    }
    let told = rig.shown().join("\u{1}");
    let called = rig.engine.call_tool("read", serde_json::Map::new(), None);
    let called = called.await.unwrap().text;
    vec![
        ("journal", journal),
        ("stream", stream),
        ("progress", progress),
        ("error", fault),
        ("history", history),
        ("model", told),
        ("tool called by hand", called),
    ]
}

// proves TL-14
#[tokio::test(start_paused = true)]
async fn a_key_of_ours_reaches_neither_journal_history_stream_model_nor_error() {
    let all = spellings::of(KEY);
    let text: Vec<_> = all.iter().map(|spelling| spelling.text.as_str()).collect();
    let text = text.join("\u{2}");
    // As long as it is not ours, it is everywhere: the search finds it.
    for (sink, content) in sinks(&text).await {
        for Spelling { name, needle, .. } in &all {
            assert!(content.contains(needle), "{sink} has {name}");
        }
        assert_eq!(
            content.contains(SIGNATURE),
            ["journal", "history"].contains(&sink)
        );
    }

    redact::protect("K", &Secret::new(KEY).unwrap());

    for (sink, content) in sinks(&text).await {
        for Spelling { name, needle, .. } in &all {
            assert!(!content.contains(needle), "{sink} has {name}: {content}");
        }
        assert!(content.contains("[redacted: K]"), "{sink}");
        assert!(!content.contains(*PART), "{sink}: {content}");
        assert!(!content.contains(SIGNATURE), "{sink}");
    }
}
