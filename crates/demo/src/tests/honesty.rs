//! What is said: what this is, what was done, what was not.

use samovar_core::{Outcome, Part, Role, Status};

use super::super::say::Sentence;
use super::super::understand::understand;
use super::world::{TOOLS, World, message, user};
use super::{FILES, REQUESTS, claims};

// proves FC-5
#[test]
fn every_message_says_that_this_is_no_language_model() {
    for request in REQUESTS
        .iter()
        .chain(&["", "hello", "why is the sky blue?", "удали всё"])
    {
        let note = understand(request).language.say(Sentence::Note);
        let turn = World::new(FILES).turn(request);
        assert!(
            turn.said.iter().all(|said| said.starts_with(&note)),
            "{:?}",
            turn.said
        );
        assert!(
            turn.said.iter().all(|said| said.len() > note.len() + 1),
            "{:?}",
            turn.said
        );
    }
}

// proves FC-5
#[test]
fn no_deed_is_claimed_without_the_result_that_proves_it() {
    for request in REQUESTS {
        let whole = World::new(FILES).turn(request);
        let (last, before) = whole.said.split_last().unwrap();
        assert!(before.iter().all(|said| !claims(said)), "{before:?}");
        for (at, (tool, _)) in whole.calls.iter().enumerate() {
            for status in [
                Status::Failed,
                Status::Denied,
                Status::Cancelled,
                Status::Unknown,
            ] {
                let mut world = World::new(FILES);
                world.accident = Some((at, Outcome::new(status, "the disk is on fire")));

                let turn = world.turn(request);

                if *request == "what is in my notes.txt" && at == 0 {
                    // Whether there is a file `my notes.txt` is only good to know.
                    assert_eq!(turn.last(), *last);
                    continue;
                }
                assert!(
                    whole.calls.starts_with(&turn.calls),
                    "{request}: {:?}",
                    turn.calls
                );
                assert_eq!(turn.steps.last(), Some(&whole.steps[at]), "{request}");
                assert!(!claims(turn.last()), "{request}: {}", turn.last());
                assert!(
                    turn.last().contains("the disk is on fire"),
                    "{request}: {}",
                    turn.last()
                );
                assert!(
                    turn.last().contains(tool.as_str()),
                    "{request}: {}",
                    turn.last()
                );
            }
        }
    }
}

// proves FC-5
#[test]
fn a_tool_that_is_not_there_is_named_and_never_called() {
    for missing in TOOLS {
        for request in REQUESTS {
            let mut world = World::new(FILES);
            let whole = world.clone().turn(request);
            world.tools.retain(|tool| tool != missing);

            let turn = world.turn(request);

            assert!(
                turn.calls.iter().all(|(tool, _)| tool != missing),
                "{request}"
            );
            if whole.calls.iter().any(|(tool, _)| tool == missing) && !request.contains("my ") {
                assert!(turn.calls.is_empty() && !claims(turn.last()), "{request}");
                assert!(turn.last().contains(missing), "{request}: {}", turn.last());
            }
        }
    }
    let offered = World {
        tools: Vec::new(),
        ..World::new(FILES)
    }
    .turn("help");
    assert!(offered.last().contains("compute") && !offered.last().contains("replace"));
}

// proves FC-5
#[test]
fn results_of_earlier_turns_are_not_taken_for_those_of_this_one() {
    let request = "list the three largest files here and write their names to largest.txt";
    let mut world = World::new(FILES);
    let mut messages = world.turn(request).messages;
    messages.push(message(
        Role::Assistant,
        vec![Part::Text {
            text: "done".to_owned(),
        }],
    ));
    messages.push(user(
        "перечисли два самых маленьких файла и запиши их имена в small list.txt",
    ));

    let turn = world.continued(messages);

    assert_eq!(turn.calls.len(), 2);
    assert_eq!(world.file("small list.txt"), Some("small.txt\nmiddle.md\n"));
}

#[test]
fn anything_else_gets_an_answer_with_what_can_be_done_and_how_to_connect_a_model() {
    for (request, word) in [
        ("why is the sky blue?", "compute"),
        ("расскажи сказку", "считать"),
        ("天空为什么是蓝色的？", "计算"),
        ("чому небо блакитне?", "рахувати"),
    ] {
        let turn = World::new(FILES).turn(request);
        let names = [
            word,
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "AGENT_MODEL",
            "largest.txt",
        ];
        assert!(
            names.iter().all(|name| turn.last().contains(name)),
            "{}",
            turn.last()
        );
        assert!(turn.calls.is_empty());
    }
}

#[test]
fn words_that_changed_nothing_are_named() {
    let turn = World::new(FILES).turn("list the files here quickly and without delay, бабушка");
    assert!(turn.last().contains("without"), "{}", turn.last());
    let turn = World::new(FILES).turn("list the files here quickly, бабушка");
    assert!(
        turn.last().ends_with("did not use: quickly, бабушка."),
        "{}",
        turn.last()
    );
}
