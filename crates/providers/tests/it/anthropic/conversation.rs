//! Conversations, with calls and thoughts that go back.

use samovar_core::{Message, Part, ProviderEvent, Usage};
use samovar_model_server::{
    Failure, Finish, ModelServer, Part as Scripted, Reply, fail, say, think,
};
use samovar_providers::Registry;
use serde_json::Value;

use crate::asking::{ask, heard, result, summary};
use crate::conversation::Dialect::Anthropic;
use crate::conversation::look;
use samovar_doubles::talk::user;

fn registry(server: &ModelServer) -> Registry {
    Anthropic.registry(server)
}

/// Asks with a question of its own.
async fn look_around(registry: &Registry) -> Vec<ProviderEvent> {
    ask(registry, Anthropic.asking(vec![user("Look around")])).await
}

/// The blocks of one kind in the last prompt.
fn sent(server: &ModelServer, kind: &str) -> Vec<Value> {
    let prompts = server.prompts();
    let messages = prompts.last().unwrap().body()["messages"].clone();
    let blocks = messages.as_array().unwrap().iter();
    let blocks = blocks.flat_map(|message| message["content"].as_array().unwrap().clone());
    blocks.filter(|block| block["type"] == kind).collect()
}

// proves MD-3
#[tokio::test]
async fn what_the_model_thought_goes_back_byte_for_byte() {
    let script = [
        think("Где? \u{1f914}")
            .and(Scripted::RedactedReasoning("hidden".to_owned()))
            .and(Scripted::RedactedReasoning("and more".to_owned()))
            .and_say("I look.")
            .and(look("home")),
        think("So.").and_say("Done."),
        say("Yes."),
    ];
    let server = ModelServer::start(script).await.unwrap();
    let registry = registry(&server);
    let mut talk = vec![user("Look around")];
    for turn in 0..2 {
        let answer = heard(&ask(&registry, Anthropic.asking(talk.clone())).await, turn);
        let results: Vec<_> = answer.calls().map(result).collect();
        talk.push(answer);
        talk.extend(results);
    }
    talk.push(user("Sure?"));
    // The server refuses a signature that does not fit its text.
    let answer = heard(&ask(&registry, Anthropic.asking(talk.clone())).await, 2);
    assert_eq!(answer.text(), "Yes.");
    let thinking = sent(&server, "thinking");
    let texts: Vec<_> = thinking.iter().map(|block| &block["thinking"]).collect();
    assert_eq!(texts, ["Где? \u{1f914}", "So."]);
    assert_eq!(sent(&server, "redacted_thinking").len(), 2);
}

/// What an answer cost.
fn usage(events: &[ProviderEvent]) -> Usage {
    match events.last() {
        Some(ProviderEvent::MessageComplete { usage, .. }) => *usage,
        other => panic!("{other:?} is no end"),
    }
}

// proves AS-15
#[tokio::test]
async fn the_providers_cache_holds_all_that_was_said_before() {
    let long = "It is a long story. ".repeat(50);
    let many = || (0..12).map(|at| look(&at.to_string())).collect();
    let script = [
        say(long.as_str()).and(Scripted::Interleaved(many())),
        say(long.as_str()),
        say("The end."),
    ];
    let server = ModelServer::start(script).await.unwrap();
    let registry = registry(&server);
    let mut talk = vec![user(&long)];
    let mut costs = Vec::new();
    for turn in 0..3 {
        let events = ask(&registry, Anthropic.asking(talk.clone())).await;
        costs.push(usage(&events));
        let answer = heard(&events, turn);
        let results: Vec<_> = answer.calls().map(result).collect();
        let is_over = results.is_empty();
        talk.push(answer);
        talk.extend(results);
        if is_over {
            talk.push(user(&long));
        }
    }
    assert_eq!(costs[0].cache_read, 0);
    for pair in costs.windows(2) {
        // More than twenty blocks lie between two prompts, and still nothing is paid for twice.
        let kept = pair[0].cache_read + pair[0].cache_write;
        assert_eq!(pair[1].cache_read, kept, "{costs:?}");
        assert!(pair[1].input >= kept + pair[1].cache_write, "{costs:?}");
    }
}

// proves AS-6
#[tokio::test]
async fn why_the_model_stopped_is_told_in_its_providers_word() {
    let words = [
        "end_turn",
        "max_tokens",
        "stop_sequence",
        "tool_use",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "news",
    ];
    let script: Vec<_> = words
        .iter()
        .map(|word| say("Hm.").finish(Finish::Other((*word).to_owned())))
        .collect();
    let server = ModelServer::start(script).await.unwrap();
    let registry = registry(&server);
    for word in words {
        assert_eq!(
            summary(&look_around(&registry).await),
            format!("|Hm.|{word}")
        );
    }
}

/// The code of an answer that is void, and how many events came before.
fn failure(events: &[ProviderEvent]) -> (&str, usize) {
    match events.split_last() {
        Some((ProviderEvent::Failed { code, .. }, before)) => (code.as_str(), before.len()),
        other => panic!("{other:?} is no failure"),
    }
}

// proves MD-3
#[tokio::test]
async fn an_error_is_told_by_its_kind_before_and_inside_of_a_stream() {
    for (status, code) in [
        (429, "provider_rate_limited"),
        (500, "provider_error"),
        (529, "provider_error"),
        (400, "provider_rejected"),
        (401, "provider_auth"),
        (413, "context_full"),
    ] {
        let failure = || Failure::new(status, "no");
        let script = [
            fail(failure()),
            Reply::of(Scripted::Text("Hm.".to_owned())).and(Scripted::Failure(failure())),
        ];
        let server = ModelServer::start(script).await.unwrap();
        let registry = registry(&server);
        let before = look_around(&registry).await;
        assert_eq!(self::failure(&before), (code, 0), "{status}");
        let inside = look_around(&registry).await;
        assert_eq!(self::failure(&inside).0, code, "{status}");
        assert_eq!(inside[0], ProviderEvent::TextDelta("Hm.".to_owned()));
    }
}

// proves MD-3
#[tokio::test]
async fn a_thought_goes_back_behind_the_same_words_alone() {
    let script = [
        think("Where?").and(look("home")),
        say("There."),
        say("Still there."),
    ];
    let server = ModelServer::start(script).await.unwrap();
    let registry = registry(&server);
    let mut talk = vec![user("Hello"), user("Look around")];
    let answer = heard(&ask(&registry, Anthropic.asking(talk.clone())).await, 0);
    let results: Vec<_> = answer.calls().map(result).collect();
    talk.push(answer);
    talk.extend(results);
    ask(&registry, Anthropic.asking(talk.clone())).await;
    assert_eq!(sent(&server, "thinking").len(), 1);

    // The window has moved.
    let rest: Vec<Message> = talk.split_off(1);
    ask(&registry, Anthropic.asking(rest.clone())).await;
    assert_eq!(sent(&server, "thinking").len(), 0);
    assert_eq!(sent(&server, "tool_use").len(), 1);
    assert!(
        rest.iter()
            .any(|message| matches!(message.parts[0], Part::Reasoning { .. }))
    );
}
