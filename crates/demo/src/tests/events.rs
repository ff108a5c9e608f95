//! The events of an answer, and that there always is one.

use samovar_core::{Outcome, ProviderEvent, Role, Status};
use serde_json::json;

use super::super::say::Sentence;
use super::super::understand::understand;
use super::super::words::Language;
use super::world::{
    CHAT_TOOLS, TOOLS, World, ask, call, calls, message, outcome, prompt, text, user,
};
use super::{CHATS, FILES, claims};

#[test]
fn the_events_are_those_of_a_model() {
    let events = ask(prompt(TOOLS, vec![user("read a.txt and b c.txt")]));
    let deltas = events
        .iter()
        .filter(|event| matches!(event, ProviderEvent::TextDelta(_)));
    assert!(deltas.count() > 3);
    let mut ids = Vec::new();
    for event in &events {
        match event {
            ProviderEvent::ToolCallStart { id, .. } => ids.push(id.clone()),
            ProviderEvent::ToolCallDelta { id, args_json } => {
                assert_eq!(Some(id), ids.last());
                let path = if ids.len() == 1 { "a.txt" } else { "b c.txt" };
                assert_eq!(args_json, &json!({"path": path}).to_string());
            }
            _ => {}
        }
    }
    assert_eq!(ids, ["demo-1", "demo-2"]);
    assert_eq!(calls(&events).len(), 2);
    let Some(ProviderEvent::MessageComplete {
        finish_reason,
        usage,
    }) = events.last()
    else {
        panic!("{events:?}");
    };
    assert_eq!(finish_reason, "tool_calls");
    assert!(usage.input > 0 && usage.output > 10);
}

#[test]
fn results_are_told_in_the_order_of_their_calls() {
    let asked = message(
        Role::Assistant,
        vec![
            call("1", "read_file", json!({})),
            call("2", "read_file", json!({})),
        ],
    );
    let second = outcome("2", "read_file", Outcome::done("     1\tsecond"));
    let first = outcome("1", "read_file", Outcome::done("     1\tfirst"));
    let events = ask(prompt(
        TOOLS,
        vec![user("read a.txt and b.txt"), asked, second, first],
    ));
    assert!(
        text(&events).ends_with("“a.txt”:\nfirst\n“b.txt”:\nsecond"),
        "{}",
        text(&events)
    );
}

#[test]
fn an_answer_is_no_longer_than_it_may_be() {
    let finish = |request: &str, max_tokens| {
        let mut prompt = prompt(TOOLS, vec![user(request)]);
        prompt.max_tokens = max_tokens;
        let events = ask(prompt);
        assert!(text(&events).len() <= 4 * max_tokens as usize);
        assert!(calls(&events).is_empty());
        match events.last() {
            Some(ProviderEvent::MessageComplete { finish_reason, .. }) => finish_reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(finish("помощь", 1), "length");
    assert_eq!(finish("help", 4_096), "stop");
    let long = format!("write \"{}\" to a.txt", "x".repeat(1_000));
    assert_eq!(finish(&long, 100), "stop");
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    /// Words of every table, names, numbers, marks: what requests are made of, in no order.
    fn texts() -> impl Strategy<Value = String> {
        let words: Vec<String> = Language::ALL
            .iter()
            .flat_map(|language| language.words())
            .flat_map(|(_, cell)| cell.split('|'))
            .map(|word| word.replace('*', "ы"))
            .collect();
        let odd = [
            "a.txt", "\"x y\"", "«", "12", "3.5", "*", "(", "，", ".md", "docs/", "-", "'", "\n",
            "..", "的",
        ];
        let word = prop_oneof![
            proptest::sample::select(words),
            proptest::sample::select(odd.map(str::to_owned).to_vec()),
            any::<String>(),
        ];
        let separator = proptest::sample::select(vec![" ", "", ": "]);
        proptest::collection::vec((word, separator), 0..12).prop_map(|words| {
            words
                .into_iter()
                .map(|(word, separator)| word + separator)
                .collect()
        })
    }

    proptest! {
        #[test]
        fn any_text_gets_one_whole_answer_and_always_the_same(request in texts()) {
            let tools = [TOOLS, CHAT_TOOLS].concat();
            let events = ask(prompt(&tools, vec![user(&request)]));
            prop_assert_eq!(&events, &ask(prompt(&tools, vec![user(&request)])));
            let complete = |event: &ProviderEvent| matches!(event, ProviderEvent::MessageComplete { .. });
            prop_assert!(events.last().is_some_and(complete));
            prop_assert_eq!(events.iter().filter(|event| complete(event)).count(), 1);
            let note = understand(&request).language.say(Sentence::Note);
            prop_assert!(text(&events).starts_with(&note));
            prop_assert!(!claims(&text(&events)));
        }

        #[test]
        fn any_turn_ends_whatever_the_person_answers(
            request in proptest::sample::select(CHATS),
            answers in proptest::collection::vec(prop_oneof![any::<String>(), texts()], 3),
        ) {
            let answers: Vec<_> = answers.iter().map(String::as_str).collect();
            let turn = World::with_chat(FILES, &answers).turn(request.0);
            prop_assert!(turn.last().len() > 40);
        }

        #[test]
        fn any_turn_ends_whatever_the_tools_answer(
            request in texts(),
            status in 0..5_usize,
            answer in any::<String>(),
        ) {
            let statuses =
                [Status::Done, Status::Failed, Status::Denied, Status::Cancelled, Status::Unknown];
            let mut world = World::with_chat(FILES, &["notes.txt", "1 2", "x", "y"]);
            world.accident = Some((0, Outcome::new(statuses[status], answer)));
            world.turn(&request);
        }
    }
}
