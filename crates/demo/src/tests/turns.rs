//! What is done and said: requests, run to their end over a folder and a chat in memory.

use proptest::prelude::*;
use samovar_core::{Outcome, ProviderEvent, Role, Status};
use serde_json::{Value, json};

use super::world::{
    TOOLS, Turn, World, ask, call, calls, message, outcome, prompt, said, text, user,
};
use crate::language::Language;
use crate::table::TABLE;

const FILES: &[(&str, &str)] = &[
    ("a file with spaces.txt", "123456789"),
    ("docs/deep.txt", "123456789012345"),
    ("middle.md", "12345678"),
    ("notes.txt", "one\ntwo\nthree\n"),
    ("small.txt", "1"),
    ("twin of middle.md", "12345678"),
];

/// A row of the table: a request, the answers of the person, the tools, and what is said.
struct Row {
    request: String,
    answers: Vec<&'static str>,
    tools: Vec<&'static str>,
    said: String,
}

fn rows() -> Vec<Row> {
    let rows = include_str!("turns.txt")
        .lines()
        .filter(|row| !row.starts_with('#'));
    let row = |row: &'static str| {
        let [request, tools, said] = row.split("=>").collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let answer = |tool: &'static str| Some(tool.split_once('=')?.1);
        let name = |tool: &'static str| tool.split('=').next().unwrap();
        Row {
            request: request.trim().replace("\\n", "\n"),
            answers: tools.split_whitespace().filter_map(answer).collect(),
            tools: tools.split_whitespace().map(name).collect(),
            said: said.trim().replace("\\n", "\n"),
        }
    };
    rows.map(row).collect()
}

const BAD: [Status; 4] = [
    Status::Failed,
    Status::Denied,
    Status::Cancelled,
    Status::Unknown,
];
/// What is only said of deeds that were done.
const DEEDS: &str = "wrote_names wrote_text wrote_empty appended replaced posted posted_that answered hello_name remembered forgot";

fn tells(turn: &Turn, told: &[&str]) {
    let last = turn.last();
    assert!(told.iter().all(|told| last.contains(told)), "{last}");
}

/// Whether a text tells of a deed, whatever its names.
fn claims(text: &str) -> bool {
    let is_told = |template: &str| {
        let pieces = template
            .split('{')
            .map(|piece| piece.split_once('}').map_or(piece, |piece| piece.1));
        pieces.into_iter().all(|piece| text.contains(piece))
    };
    Language::ALL.iter().any(|language| {
        DEEDS
            .split(' ')
            .any(|deed| is_told(TABLE.say(*language, deed)))
    })
}

// proves FC-5
#[test]
fn requests_are_done_with_real_calls_and_every_message_says_that_this_is_no_language_model() {
    for row in rows() {
        let request = &row.request;
        let turn = World::new(FILES, &row.answers).turn(request);

        let called: Vec<_> = turn.calls.iter().map(|(tool, _)| tool.as_str()).collect();
        assert_eq!(called, row.tools, "{request}: {}", turn.last());
        assert!(
            turn.last().contains(&row.said),
            "{request}:\n{}",
            turn.last()
        );
        let (last, before) = turn.said.split_last().unwrap();
        assert!(before.iter().all(|said| !claims(said)), "{before:?}");
        assert!(last.len() > 40, "{last}");
    }
    let mut world = World::new(FILES, &[]);
    world.turn("list the three largest files here and write their names to out.txt");
    assert_eq!(
        world.files["out.txt"],
        "notes.txt\na file with spaces.txt\nmiddle.md\n"
    );
    let searched = World::new(FILES, &[]).turn("find \"f(x)*\" in small.txt");
    assert_eq!(searched.calls[0].1["pattern"], r"f\(x\)\*");
}

// proves FC-5
#[test]
fn no_deed_is_claimed_without_the_result_that_shows_it() {
    for row in rows() {
        let (request, answers) = (&row.request, &row.answers[..]);
        let whole = World::new(FILES, answers).turn(request);
        for (at, (tool, args)) in whole.calls.iter().enumerate() {
            for status in BAD {
                let mut world = World::new(FILES, answers);
                world.accident = Some((at, Outcome::new(status, "the disk is on fire")));

                let turn = world.turn(request);

                // Agents that are asked together are all asked.
                let together = |(tool, _): &&(String, Value)| tool == "subAgent";
                let after = whole.calls[at + 1..].iter().take_while(together);
                let asked = whole.calls[..=at].iter().chain(after);
                assert!(turn.calls.iter().eq(asked), "{request}: {:?}", turn.calls);
                let question = args["question"].as_str().unwrap_or_default();
                tells(&turn, &["the disk is on fire", tool, question]);
                assert!(!claims(turn.last()), "{request}: {}", turn.last());
            }
        }
        for missing in whole.calls.iter().map(|(tool, _)| tool) {
            let mut world = World::new(FILES, answers);
            world.tools.retain(|tool| tool != missing);
            let turn = world.turn(request);
            assert!(turn.calls.is_empty(), "{request}, no {missing}");
            assert!(!claims(turn.last()), "{request}: {}", turn.last());
        }
    }
    let unchanged = |files: &[(&str, &str)], request: &str| {
        let turn = World::new(files, &[]).turn(request);
        assert!(turn.last().ends_with("was not changed.") && turn.calls.len() == 1);
    };
    unchanged(&[], "list the largest files and write their names to b.txt");
    unchanged(&[("a.txt", "\0")], "append \"x\" to a.txt");
    unchanged(&[("a.txt", &"line\n".repeat(300))], "append \"x\" to a.txt");
}

// proves FC-5
#[test]
fn what_is_offered_is_understood() {
    let offers = TABLE
        .intents
        .iter()
        .flat_map(|intent| intent.offer.values());
    for offer in offers {
        let (_, examples) = offer.split_once([':', '：']).unwrap();
        for example in examples.split([';', '；']) {
            let files = [("notes.txt", "a"), ("a.txt", "foo")];
            let turn = World::new(&files, &["x"]).turn(example);
            assert!(!turn.last().contains("AGENT_MODEL"), "{}", turn.last());
        }
    }
}

// proves FC-5
#[test]
fn in_the_chat_the_last_message_is_answered_and_a_turn_at_work_is_not_disturbed() {
    let line = json!({"author": "master", "role": "agent", "text": "what is 6 * 7?"}).to_string();
    let note = TABLE.say(Language::En, "note");
    let answered = format!("{note} To master: 6 * 7 = 42");
    let said = |text: &str| said(Role::Assistant, text);
    let earlier = vec![user("ask me my name"), said("What?"), user(&line)];
    let turn = World::new(FILES, &[]).continued(earlier);
    assert_eq!(turn.said, [answered.as_str()]);
    let person = vec![user(&line), user("what is 2 + 2")];
    let turn = World::new(FILES, &[]).continued(person);
    assert_eq!(turn.last(), format!("{note} 2 + 2 = 4"));

    let work = vec![call("1", "ask_user", json!({"question": "Which file?"}))];
    let answer = outcome("1", "ask_user", &Outcome::done("notes.txt"));
    let (asked, work) = (user("read the file"), message(Role::Assistant, work));
    let mut messages = vec![asked, work, answer, user(&line)];
    let turn = World::new(FILES, &[]).continued(messages.clone());
    let both = "“notes.txt”:
one
two
three
To master: 6 * 7 = 42";
    assert_eq!(turn.last(), format!("{note} {both}"));

    // What was answered before is not answered again.
    messages.insert(3, said("It was read."));
    assert_eq!(World::new(FILES, &[]).continued(messages).said, [answered]);
}

#[test]
fn the_events_are_those_of_a_model_and_no_longer_than_they_may_be() {
    let events = ask(prompt(TOOLS, vec![user("read b c.txt")]));
    let kinds: Vec<_> = events
        .iter()
        .filter(|event| !matches!(event, ProviderEvent::TextDelta(_)))
        .collect();
    let [ProviderEvent::ToolCallStart { id, .. }, .., end] = &kinds[..] else {
        panic!("{events:?}");
    };
    assert_eq!((id.as_str(), kinds.len()), ("demo-1", 4));
    assert_eq!(
        calls(&events),
        [("read_file".to_owned(), json!({"path": "b c.txt"}))]
    );
    let told = format!("{end:?}");
    assert!(
        told.contains("\"tool_calls\"") && events.len() > 6,
        "{told}"
    );
    let finish = |request: &str, max_tokens| {
        let mut prompt = prompt(TOOLS, vec![user(request)]);
        prompt.max_tokens = max_tokens;
        let events = ask(prompt);
        assert!(text(&events).len() <= 4 * max_tokens as usize && calls(&events).is_empty());
        match events.last() {
            Some(ProviderEvent::MessageComplete { finish_reason, .. }) => finish_reason.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(finish("помощь", 1), "length");
    assert_eq!(finish("help", 4_096), "stop");
    let long = format!("write \"{}\" to a.txt", "x".repeat(1_000));
    assert_eq!(finish(&long, 100), "stop");
    assert_eq!(finish("why is the sky blue?", 4_096), "not_understood");
    assert_eq!(finish("", 4_096), "not_understood");
    assert_eq!(
        finish("ask me one thing and then another", 4_096),
        "not_understood"
    );
    assert_eq!(finish("show me a file", 4_096), "not_understood");
    let nameless = "ask me my name and greet me";
    assert_eq!(finish(nameless, 4_096), "not_understood");
    let told = text(&ask(prompt(TOOLS, vec![user(nameless)])));
    assert!(told.contains("I need the tool ask_user"), "{told}");
}

// proves FC-5
#[test]
fn where_recall_and_forget_are_not_offered_there_is_no_memory() {
    for (request, told) in [
        (
            "what do you remember about tea?",
            "Of “tea” nothing is remembered.",
        ),
        ("вспомни про чай", "В памяти про «чай» ничего нет."),
        (
            "forget the memory m0123456789",
            "There is no memory m0123456789.",
        ),
    ] {
        let said = text(&ask(prompt(&["remember"], vec![user(request)])));
        assert!(said.ends_with(told), "{said}");
    }
}

#[test]
fn results_of_earlier_turns_are_not_taken_for_those_of_this_one() {
    let mut world = World::new(FILES, &[]);
    let first = "list the three largest files here and write their names to l.txt";
    let mut messages = world.turn(first).messages;
    messages.push(message(Role::Assistant, Vec::new()));
    messages.push(user(
        "запиши имена двух самых маленьких файлов в small list.txt",
    ));
    world.continued(messages);
    assert_eq!(world.files["small list.txt"], "small.txt\nmiddle.md\n");
}

/// Requests cut and joined anywhere, with anything between.
fn texts() -> impl Strategy<Value = String> {
    let rows = include_str!("turns.txt");
    let words: Vec<_> = rows.split_inclusive(' ').collect();
    let word = prop_oneof![
        proptest::sample::select(words).prop_map(str::to_owned),
        any::<String>()
    ];
    proptest::collection::vec(word, 0..8).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_turn_ends_the_same_whatever_is_said_and_answered(
        request in texts(),
        row in proptest::sample::select(rows().into_iter().map(|row| row.request).collect::<Vec<_>>()),
        status in proptest::sample::select(vec![Status::Done, Status::Failed, Status::Unknown]),
        answer in any::<String>(),
    ) {
        for request in [request.as_str(), row.as_str()] {
            let turn = || {
                let mut world = World::new(FILES, &[&answer, "x"]);
                world.accident = Some((0, Outcome::new(status, answer.clone())));
                let Turn { said, calls, .. } = world.turn(request);
                (said, calls)
            };
            let (said, calls): (Vec<String>, Vec<(String, Value)>) = turn();
            prop_assert!(!calls.is_empty() || !claims(said.last().unwrap()));
            prop_assert_eq!((said, calls), turn());
        }
    }
}
