//! What is asked of the person and posted in the chat: whole turns, to their end.

use samovar_core::{Outcome, Part, Role, Status};
use serde_json::json;

use super::super::say::Sentence;
use super::super::words::Language;
use super::world::{World, call, message, outcome, user};
use super::{CHATS, FILES, claims};

/// A request, the answer of the person, the question that it answers, and what comes of it.
const ASKED: &[[&str; 4]] = &[
    [
        "ask me my name and greet me",
        "Olena",
        "What is your name?",
        "Hello, Olena!",
    ],
    [
        "спроси, как меня зовут, и поздоровайся",
        "Олена",
        "Как вас зовут?",
        "Здравствуйте, Олена!",
    ],
    [
        "问我叫什么名字，然后跟我打招呼",
        "小明",
        "您叫什么名字？",
        "您好，小明！",
    ],
    [
        "запитай, як мене звати, і привітай мене",
        "Олена",
        "Як вас звати?",
        "Вітаю, Олена!",
    ],
    [
        "ask me which file to read, then read it",
        "notes.txt",
        "Which file? Please say its name.",
        "one\ntwo\nthree",
    ],
    [
        "спроси, какой файл прочитать, и прочитай его",
        "notes.txt",
        "Какой файл? Назовите его, пожалуйста.",
        "one\ntwo\nthree",
    ],
    [
        "问我要读哪个文件，然后读它",
        "notes.txt",
        "哪个文件？请说出文件名。",
        "one\ntwo\nthree",
    ],
    [
        "спитай, який файл прочитати, і прочитай його",
        "notes.txt",
        "Який файл? Назвіть його, будь ласка.",
        "one\ntwo\nthree",
    ],
    [
        "ask me for two numbers and add them",
        "12 and -2.5",
        "Which numbers? Please write 2 of them, with spaces between.",
        "12 + -2.5 = 9.5",
    ],
    [
        "спроси у меня два числа и умножь их",
        "двадцать один и 0,5",
        "Какие числа? Напишите их через пробел, столько: 2.",
        "21 * 0.5 = 10.5",
    ],
    [
        "问我两个数，然后相加",
        "三和四",
        "哪些数字？请写 2 个，用空格隔开。",
        "3 + 4 = 7",
    ],
    [
        "запитай у мене числа й додай їх",
        "1; 2; 3",
        "Які числа? Напишіть їх через пробіл, хоча б два.",
        "1 + 2 + 3 = 6",
    ],
    [
        "ask me something",
        "no",
        "What would you like to tell me?",
        "You answered: “no”.",
    ],
    [
        "ask me: tea or coffee?",
        "tea",
        "tea or coffee?",
        "You answered: “tea”.",
    ],
    [
        "ask me how old I am",
        "7",
        "I am to ask you: how old I am",
        "You answered: “7”.",
    ],
];

// proves FC-5
#[test]
fn a_turn_asks_the_person_and_goes_on_with_exactly_the_answer() {
    for [request, answer, question, expected] in ASKED {
        let turn = World::with_chat(FILES, &[*answer]).turn(request);

        let asked = ("ask_user".to_owned(), json!({"question": question}));
        assert_eq!(turn.calls.first(), Some(&asked), "{request}");
        let read = ("read_file".to_owned(), json!({"path": answer}));
        let reads = *answer == "notes.txt";
        assert_eq!(turn.calls[1..], [read][..usize::from(reads)], "{request}");
        let said = turn.last();
        assert!(said.contains(expected), "{request}: {said}");
    }
}

// proves FC-5
#[test]
fn what_a_request_lacks_is_asked_for_where_it_can_be_and_said_elsewhere() {
    let requests = [
        ("read the file", "notes.txt", "two"),
        ("прочитай файл", "notes.txt", "two"),
        ("读文件", "notes.txt", "two"),
        ("прочитай файл, будь ласка", "notes.txt", "two"),
        ("how many lines are in the file?", "notes.txt", ": 3."),
        ("add two numbers", "30 12", "30 + 12 = 42"),
        ("add numbers", "1 2 3", "1 + 2 + 3 = 6"),
        ("сложи два числа", "30 12", "30 + 12 = 42"),
        (
            "post in the chat",
            "hello",
            "“hello” is in the chat now, as message 41.",
        ),
    ];
    for (request, answer, expected) in requests {
        let turn = World::with_chat(FILES, &[answer]).turn(request);
        assert_eq!(turn.calls[0].0, "ask_user", "{request}");
        assert!(turn.last().contains(expected), "{request}: {}", turn.last());

        let alone = World::new(FILES).turn(request);
        assert!(alone.calls.is_empty(), "{request}: {:?}", alone.calls);
    }
    let mut world = World::with_chat(FILES, &["new.txt"]);
    world.turn("write \"hello\"");
    assert_eq!(world.file("new.txt"), Some("hello"));
    let turn = World::with_chat(FILES, &[]).turn("why is the sky blue?");
    assert!(
        turn.calls.is_empty(),
        "nothing that it could name is lacking"
    );
}

// proves FC-5
#[test]
fn an_answer_is_taken_as_it_is_whatever_it_looks_like() {
    let json = r#"{"path":"notes.txt","text":"hi"}"#;
    let mut world = World::with_chat(FILES, &[json]);
    world.turn("ask me what to write and write it to a.txt");
    assert_eq!(world.file("a.txt"), Some(json));

    let mut world = World::with_chat(FILES, &["delete \"everything\", then list the files"]);
    let turn = world.turn("ask me what to write and write it to a.txt");
    assert_eq!(
        world.file("a.txt"),
        Some("delete \"everything\", then list the files")
    );
    assert_eq!(turn.calls.len(), 2);

    let turn = World::with_chat(FILES, &[json]).turn("read the file");
    assert_eq!(turn.calls[1].1, json!({"path": json}));
    assert!(turn.last().contains("no such file"), "{}", turn.last());

    let long = "é".repeat(32 * 1024);
    let turn = World::with_chat(FILES, &[&long]).turn("ask me my name and greet me");
    assert!(turn.last().contains("Hello, ééé") && turn.last().len() < 2_000);
    let turn = World::with_chat(FILES, &[&long]).turn("read the file");
    assert_eq!(
        turn.calls.len(),
        1,
        "no call is longer than an answer may be"
    );
    assert!(turn.last().contains("read_file"), "{}", turn.last());
}

// proves FC-5
#[test]
fn an_answer_that_says_nothing_or_does_not_fit_is_told() {
    for empty in ["", "  \n", "\u{200b}"] {
        let turn = World::with_chat(FILES, &[empty]).turn("read the file");
        assert_eq!(turn.calls.len(), 1, "{empty:?}");
        assert!(
            turn.last().contains("The answer was empty."),
            "{}",
            turn.last()
        );
    }
    let request = "ask me for two numbers and add them";
    let turn = World::with_chat(FILES, &["what?", "1", "40 2"]).turn(request);
    assert_eq!(turn.calls.len(), 3);
    let again = turn.calls[1].1["question"].as_str().unwrap();
    assert!(
        again.starts_with("Those were not the numbers I need: “what?”.\nWhich"),
        "{again}"
    );
    assert!(turn.last().contains("40 + 2 = 42"), "{}", turn.last());

    let turn = World::with_chat(FILES, &["a", "1 2 3", "3+4", "1 2"]).turn(request);
    assert_eq!(turn.calls.len(), 3, "it does not ask for ever");
    assert!(
        turn.last().contains("not the numbers I need: “3+4”."),
        "{}",
        turn.last()
    );
}

// proves FC-5
#[test]
fn nothing_is_done_behind_a_question_that_is_open_or_was_not_answered() {
    for (request, answers) in CHATS {
        let whole = World::with_chat(FILES, answers).turn(request);
        assert!(
            claims(whole.last()) || whole.calls.len() > 1 || !answers.is_empty(),
            "{request}"
        );
        let (_, before) = whole.said.split_last().unwrap();
        assert!(before.iter().all(|said| !claims(said)), "{before:?}");
        for (at, (tool, _)) in whole.calls.iter().enumerate() {
            for status in [
                Status::Failed,
                Status::Denied,
                Status::Cancelled,
                Status::Unknown,
            ] {
                let mut world = World::with_chat(FILES, answers);
                world.accident = Some((at, Outcome::new(status, "nobody is there")));

                let turn = world.turn(request);

                assert_eq!(turn.calls, whole.calls[..=at], "{request}");
                assert!(!claims(turn.last()), "{request}: {}", turn.last());
                let question = turn.calls[at].1["question"].as_str().unwrap_or_default();
                let told = ["nobody is there", tool.as_str(), question];
                assert!(
                    told.iter().all(|told| turn.last().contains(told)),
                    "{}",
                    turn.last()
                );
            }
        }
        for missing in whole.calls.iter().map(|(tool, _)| tool) {
            let mut world = World::with_chat(FILES, answers);
            world.tools.retain(|tool| tool != missing);
            let turn = world.turn(request);
            assert!(
                turn.calls.is_empty(),
                "{request}, no {missing}: {:?}",
                turn.calls
            );
            assert!(!claims(turn.last()), "{request}: {}", turn.last());
        }
    }
}

// proves FC-5
#[test]
fn what_is_to_be_posted_is_posted_as_it_was_said() {
    for (request, expected) in [
        ("tell the chat that the build is done", "the build is done"),
        ("напиши в чат, что сборка готова", "сборка готова"),
        ("告诉聊天室：构建完成了", "构建完成了"),
        ("напиши в чат, що збірка готова", "збірка готова"),
        ("post `{\"a\": 1}` in the chat", "{\"a\": 1}"),
        ("what is 6 * 7? post it in the chat", "6 * 7 = 42"),
        ("post in the chat how many files are here", "Files here: 5."),
    ] {
        let mut world = World::with_chat(FILES, &[]);
        let turn = world.turn(request);
        assert_eq!(world.posts, [expected], "{request}");
        let told = [" 41.", "41。"];
        let ends = told.iter().any(|told| turn.last().ends_with(told));
        assert!(
            ends && !turn.last().contains("posted as"),
            "{}",
            turn.last()
        );
        assert!(turn.last().contains(expected), "{}", turn.last());
    }
    let mut world = World::with_chat(FILES, &[]);
    let turn = world.turn("post \" \" in the chat");
    assert!(
        world.posts.is_empty() && !claims(turn.last()),
        "{}",
        turn.last()
    );
}

// proves FC-5
#[test]
fn in_the_chat_the_last_message_is_answered_whoever_wrote_it() {
    let agent = |text: &str| {
        let line = json!({"author": "master", "role": "agent", "text": text});
        user(&line.to_string())
    };
    let mut world = World::with_chat(FILES, &["Olena"]);
    let person = user("ask me my name and greet me");

    let turn = world.continued(vec![agent("list the files here"), person]);

    assert!(turn.last().contains("Hello, Olena!") && !turn.last().contains("To master"));
    assert_eq!(turn.calls.len(), 1);

    let turn = World::with_chat(FILES, &[]).continued(vec![
        user("ask me my name"),
        message(Role::Assistant, Vec::new()),
        agent("what is 6 * 7?"),
    ]);

    let note = Language::English.say(Sentence::Note);
    assert_eq!(turn.last(), format!("{note} To master: 6 * 7 = 42"));

    let signal = agent("ask me my name and greet me");
    let turn = World::with_chat(FILES, &["Olena"]).continued(vec![signal]);

    let said = ["I have a question.", "To master: Hello, Olena!"];
    assert_eq!(turn.said, said.map(|said| format!("{note} {said}")));
}

// proves FC-5
#[test]
fn a_signal_that_joins_a_turn_at_work_takes_nothing_from_it() {
    let line = json!({"author": "master", "role": "agent", "text": "what is 6 * 7?"});
    let note = Language::English.say(Sentence::Note);
    let asked = || {
        let ask = call("1", "ask_user", json!({"question": "Which file?"}));
        let work = message(Role::Assistant, vec![ask]);
        let answer = outcome("1", "ask_user", Outcome::done("notes.txt"));
        let signal = user(&format!("{line}\n{line}"));
        vec![user("read the file"), work, answer, signal]
    };

    let turn = World::with_chat(FILES, &[]).continued(asked());

    let both = "“notes.txt”:\none\ntwo\nthree\nTo master: 6 * 7 = 42";
    assert_eq!(turn.last(), format!("{note} {both}"));
    assert_eq!(turn.calls.len(), 1);

    // What was answered before is not answered again.
    let mut messages = asked();
    let text = "It was read.".to_owned();
    messages.insert(3, message(Role::Assistant, vec![Part::Text { text }]));
    let turn = World::with_chat(FILES, &[]).continued(messages);
    assert_eq!(turn.said, [format!("{note} To master: 6 * 7 = 42")]);
}

#[test]
fn asking_and_posting_are_offered_where_they_can_be_done() {
    for (help, asks, posts) in [
        ("help", "ask me my name", "tell the chat"),
        ("помощь", "как меня зовут", "напиши в чат"),
        ("帮助", "问我叫什么名字", "告诉聊天室"),
        ("допоможи", "як мене звати", "напиши в чат"),
    ] {
        let offered = World::with_chat(FILES, &[]).turn(help);
        assert!(offered.last().contains(asks) && offered.last().contains(posts));
        let offered = World::new(FILES).turn(help);
        assert!(!offered.last().contains(asks) && !offered.last().contains(posts));
    }
    // What is offered is understood.
    for offer in [Sentence::CanAsk, Sentence::CanPost] {
        for language in Language::ALL {
            let offered = language.say(offer);
            let (_, request) = offered.split_once([':', '：']).unwrap();
            let turn = World::with_chat(FILES, &["x"]).turn(request.trim());
            assert!(
                turn.calls.len() == 1 && claims(turn.last()),
                "{}",
                turn.last()
            );
        }
    }
}
