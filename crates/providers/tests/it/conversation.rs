//! Conversations with a model server that takes only what the real services take, and sends what
//! they send.

use samovar_core::{Message, Prompt, ProviderEvent};
use samovar_model_server::{
    Ending, Index, ModelServer, Newline, Part as Scripted, Reply, ToolCall as ScriptedCall, call,
    say, think,
};

use serde_json::json;

use crate::asking::{self, KEY, ask, config, heard, registry_of, result, summary};
use samovar_doubles::talk::user;

const MODEL: &str = "gpt-test";

fn asking(messages: Vec<Message>) -> Prompt {
    asking::asking(MODEL, messages)
}

fn look(at: &str) -> ScriptedCall {
    ScriptedCall::new("look", json!({ "at": at }))
}

// proves MD-20
#[tokio::test]
async fn a_strict_server_takes_every_prompt_of_a_conversation() {
    let script = [
        think("Where?").and(Scripted::Interleaved(vec![look("home"), look("sea")])),
        call("look", json!({"at": "sky"})).and_say("One more."),
        Reply::of(look("x").raw_arguments("{\"at\": ")),
        say("Nothing there."),
        say("As I said."),
    ];
    let server = ModelServer::builder().key(KEY).start(script).await.unwrap();
    let registry = registry_of(config(&server.base_url()));
    let mut talk = vec![user("Look around")];
    for turn in 0..4 {
        let answer = heard(&ask(&registry, asking(talk.clone())).await, turn);
        // The results of the second answer are lost, as by a crash.
        let results: Vec<_> = answer.calls().filter(|_| turn != 1).map(result).collect();
        talk.push(answer);
        talk.extend(results.into_iter().rev());
    }
    assert_eq!(talk.last().unwrap().text(), "Nothing there.");
    // Two messages in a row, and a window that begins behind the calls of its first results.
    talk.push(user("Sure?"));
    talk.push(user("Really?"));
    let window = talk.split_off(3);
    let answer = heard(&ask(&registry, asking(window)).await, 5);
    assert_eq!(answer.text(), "As I said.");
    assert!(server.left_over().is_empty());
}

// proves MD-3, MD-4
#[tokio::test]
async fn the_same_answer_in_every_framing_gives_the_same_events() {
    let answer = || {
        think("Where to look? У моря.")
            .and_say("I look 👀.")
            .and(look("home"))
            .and(look("sea"))
    };
    let framings = vec![
        answer(),
        answer().byte_by_byte(),
        answer().newline(Newline::CrLf),
        answer().newline(Newline::Cr),
        answer().bom(),
        answer().without_terminal(),
    ];
    let count = framings.len();
    let server = ModelServer::start(framings).await.unwrap();
    let registry = registry_of(config(&server.base_url()));
    let mut answers = Vec::new();
    for _ in 0..count {
        let events = ask(&registry, asking(vec![user("Look")])).await;
        answers.push(summary(&events));
    }
    let wanted =
        "Where to look? У моря.|I look 👀.|look {\"at\":\"home\"}|look {\"at\":\"sea\"}|tool_calls";
    assert_eq!(answers, vec![wanted; count]);
}

// proves MD-3
#[tokio::test]
async fn calls_are_told_apart_whatever_numbers_and_ids_they_have() {
    let one = |index| vec![look("home").index(index), look("sea").index(index)];
    let script = vec![
        Reply::of(Scripted::Interleaved(one(Index::Counted))),
        Reply::of(look("home")).and(look("sea").without_id()),
        one(Index::Fixed(0))
            .into_iter()
            .fold(Reply::default(), Reply::and)
            .deltas_of(0),
        one(Index::Missing)
            .into_iter()
            .fold(Reply::default(), Reply::and),
        Reply::of(look("home").id("a")).and(look("sea").id("a")),
    ];
    let count = script.len();
    let server = ModelServer::start(script).await.unwrap();
    let registry = registry_of(config(&server.base_url()));
    for at in 0..count {
        let events = ask(&registry, asking(vec![user("Look")])).await;
        let wanted = "||look {\"at\":\"home\"}|look {\"at\":\"sea\"}|tool_calls";
        assert_eq!(summary(&events), wanted, "reply {at}");
    }
}

// proves MD-3
#[tokio::test]
async fn an_answer_that_is_cut_is_never_complete() {
    for how in [Ending::Body, Ending::Close, Ending::Reset] {
        for deltas in 0..4 {
            let reply = say("I look around.").cut_after(deltas, how);
            let server = ModelServer::start([reply]).await.unwrap();
            let registry = registry_of(config(&server.base_url()));
            let events = ask(&registry, asking(vec![user("Look")])).await;
            let (last, before) = events.split_last().unwrap();
            assert!(
                matches!(last, ProviderEvent::Failed { code, .. } if code.as_str() == "stream_cut"),
                "{last:?}"
            );
            assert!(
                before
                    .iter()
                    .all(|event| matches!(event, ProviderEvent::TextDelta(_)))
            );
        }
    }
}
