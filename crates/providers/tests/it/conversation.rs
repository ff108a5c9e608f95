//! Conversations with a model server that takes only what the real services take, and sends what
//! they send.

use samovar_core::{Message, Prompt, ProviderEvent};
use samovar_model_server::{
    Ending, Index, ModelServer, Newline, Part as Scripted, Reply, ToolCall as ScriptedCall, call,
    say, think,
};
use samovar_providers::Registry;
use serde_json::json;

use crate::asking::{self, KEY, ask, config_of, heard, registry_of, result, summary};
use samovar_doubles::talk::user;

/// A dialect, by a row that speaks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Openai,
    Anthropic,
}

use Dialect::{Anthropic, Openai};

impl Dialect {
    pub(crate) fn asking(self, messages: Vec<Message>) -> Prompt {
        let model = match self {
            Openai => "gpt-test",
            Anthropic => "claude-sonnet-4-test",
        };
        asking::asking(model, messages)
    }

    pub(crate) fn registry(self, server: &ModelServer) -> Registry {
        registry_of(match self {
            Openai => config_of("openai", &server.base_url()),
            Anthropic => config_of("anthropic", &server.origin()),
        })
    }
}

pub(crate) fn look(at: &str) -> ScriptedCall {
    ScriptedCall::new("look", json!({ "at": at }))
}

// proves MD-20
#[tokio::test]
async fn a_strict_server_takes_every_prompt_of_a_conversation() {
    // The window begins after the calls of its first results, or with an answer.
    let one_more = || call("look", json!({"at": "sky"})).and_say("One more.");
    let two_more = || say("Two more.").and(look("sky")).and_say(" \n");
    for (dialect, second, last, window_from) in [
        (Openai, one_more(), "Nothing there.", 3),
        (Anthropic, two_more(), "Nothing there.\n", 1),
    ] {
        let script = [
            think("Where?").and(Scripted::Interleaved(vec![look("home"), look("sea")])),
            second,
            Reply::of(look("x").raw_arguments("{\"at\": ")),
            say(last),
            say("As I said."),
        ];
        let server = ModelServer::builder().key(KEY).start(script).await.unwrap();
        let registry = dialect.registry(&server);
        let mut talk = vec![user("Look around")];
        for turn in 0..4 {
            let answer = heard(&ask(&registry, dialect.asking(talk.clone())).await, turn);
            // The results of the second answer are lost, as by a crash.
            let results: Vec<_> = answer.calls().filter(|_| turn != 1).map(result).collect();
            talk.push(answer);
            talk.extend(results.into_iter().rev());
        }
        assert_eq!(talk.last().unwrap().text(), last);
        // Two messages in a row, and a window.
        talk.push(user("Sure?"));
        talk.push(user("Really?"));
        let window = talk.split_off(window_from);
        let answer = heard(&ask(&registry, dialect.asking(window)).await, 5);
        assert_eq!(answer.text(), "As I said.");
        assert!(server.left_over().is_empty(), "{dialect:?}");
    }
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
    let news = Scripted::Raw(r#"{"type":"news","index":-1}"#.to_owned());
    for (dialect, odd, finish) in [
        (Openai, answer().without_terminal(), "tool_calls"),
        (Anthropic, answer().and(news), "tool_use"),
    ] {
        let framings = vec![
            answer(),
            answer().byte_by_byte(),
            answer().newline(Newline::CrLf),
            answer().newline(Newline::Cr),
            answer().bom(),
            odd,
        ];
        let count = framings.len();
        let server = ModelServer::start(framings).await.unwrap();
        let registry = dialect.registry(&server);
        for at in 0..count {
            let events = ask(&registry, dialect.asking(vec![user("Look")])).await;
            let wanted = "Where to look? У моря.|I look 👀.|look {\"at\":\"home\"}|\
                          look {\"at\":\"sea\"}";
            assert_eq!(
                summary(&events),
                format!("{wanted}|{finish}"),
                "framing {at}"
            );
        }
    }
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
    let registry = Openai.registry(&server);
    for at in 0..count {
        let events = ask(&registry, Openai.asking(vec![user("Look")])).await;
        let wanted = "||look {\"at\":\"home\"}|look {\"at\":\"sea\"}|tool_calls";
        assert_eq!(summary(&events), wanted, "reply {at}");
    }
}

// proves MD-3
#[tokio::test]
async fn an_answer_that_is_cut_is_never_complete() {
    for dialect in [Openai, Anthropic] {
        for how in [Ending::Body, Ending::Close, Ending::Reset] {
            for deltas in 0..4 {
                let reply = say("I look around.").cut_after(deltas, how);
                let server = ModelServer::start([reply]).await.unwrap();
                let registry = dialect.registry(&server);
                let events = ask(&registry, dialect.asking(vec![user("Look")])).await;
                let (last, before) = events.split_last().unwrap();
                assert!(
                    matches!(last, ProviderEvent::Failed { code, .. } if code.as_str() == "stream_cut"),
                    "{dialect:?}: {last:?}"
                );
                let is_text = |event: &ProviderEvent| matches!(event, ProviderEvent::TextDelta(_));
                assert!(before.iter().all(is_text), "{dialect:?}: {before:?}");
            }
        }
    }
}
