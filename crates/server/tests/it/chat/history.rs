//! What was said, and behind which message.

use samovar_core::ChatMeta;
use samovar_testkit::App;
use serde_json::{Value, json};

use super::{app, app_with, boot, fill, get, header, history, ids, parameter, post, refused};
use crate::raw::Request;

// proves CH-2, CH-5, CH-6
#[tokio::test]
async fn messages_are_shown_as_they_were_said_by_whom_and_when() {
    let app = app().await;
    let chat = app.server().home().chat();
    let meta = ChatMeta {
        reply_to: None,
        tags: vec!["x".to_owned()],
    };
    chat.post_agent("master", "Ready.", meta).unwrap();
    chat.post_agent("master", " again\n", ChatMeta::reply_to(1))
        .unwrap();
    chat.note("a note", ChatMeta::default());
    let posted = post(&app, &json!({"text": "\u{3000} hello \n"})).await;
    assert_eq!((posted.status, posted.body), (200, json!({"id": 4})));

    let shown = history(&app, "").await.body;

    let times = shown.as_array().unwrap().iter();
    let times: Vec<_> = times.map(|one| one["ts"].as_str().unwrap()).collect();
    assert!(times.is_sorted(), "{times:?}");
    for time in &times {
        let shape: String = time
            .chars()
            .map(|c| if c.is_ascii_digit() { '9' } else { c })
            .collect();
        assert_eq!(shape, "9999-99-99T99:99:99.999Z");
    }
    let expected = json!([
        {"id": 1, "ts": times[0], "role": "agent", "author": "master", "text": "Ready.",
            "meta": {"tags": ["x"]}},
        {"id": 2, "ts": times[1], "role": "agent", "author": "master", "text": "again",
            "meta": {"reply_to": 1}},
        {"id": 3, "ts": times[2], "role": "system", "author": "ChatAgent", "text": "a note"},
        {"id": 4, "ts": times[3], "role": "user", "author": "user", "text": "hello"},
    ]);
    assert_eq!(shown, expected);
}

// proves CH-5
#[tokio::test]
async fn history_is_what_is_behind_an_id_and_without_one_the_last_hundred() {
    let app = app().await;
    assert_eq!(history(&app, "").await.body, json!([]));
    assert_eq!(history(&app, "?after=0").await.body, json!([]));
    fill(&app, 1_500);

    for (query, expected) in [
        ("", 1_401..=1_500),
        ("?limit=1", 1_500..=1_500),
        ("?limit=1000", 501..=1_500),
        ("?after=0", 1..=1_500),
        ("?after=1", 2..=1_500),
        ("?after=0&limit=3", 1..=3),
        ("?after=700&limit=1000", 701..=1_500),
        ("?after=1499", 1_500..=1_500),
    ] {
        let answer = history(&app, query).await;
        assert_eq!(answer.status, 200, "{query}");
        assert_eq!(ids(&answer.body), expected.collect::<Vec<_>>(), "{query}");
        assert_eq!(header(&answer, "x-chat-truncated"), None, "{query}");
        assert_eq!(header(&answer, "content-type"), Some("application/json"));
    }
    for beyond in ["1500", "1501", "18446744073709551615"] {
        let answer = history(&app, &format!("?after={beyond}")).await;
        assert_eq!((answer.status, answer.body), (200, json!([])), "{beyond}");
    }
}

// proves CH-5
#[tokio::test]
async fn a_bad_after_or_limit_is_refused_by_its_name() {
    let app = app().await;
    fill(&app, 3);
    // What a client sends that has read nothing yet.
    assert_eq!(ids(&history(&app, "?after=").await.body), [1, 2, 3]);
    for name in ["after", "limit"] {
        for bad in [
            "-1",
            "%2B1",
            "+1",
            "%201",
            "1%20",
            "1%0A",
            "01",
            "1.0",
            "1e0",
            "x",
            "null",
            "true",
            "[1]",
            "%D9%A1",
            "18446744073709551616",
        ] {
            let answer = history(&app, &format!("?{name}={bad}")).await;
            assert_eq!(refused(&answer), (400, "invalid_params"), "{name}={bad}");
            assert_eq!(answer.body["details"], parameter(name), "{name}={bad}");
        }
        let twice = history(&app, &format!("?{name}=1&{name}=1")).await;
        assert_eq!(refused(&twice), (400, "invalid_params"));
    }
    for bad in ["0", "1001"] {
        let answer = history(&app, &format!("?limit={bad}")).await;
        assert_eq!(refused(&answer), (400, "invalid_params"), "{bad}");
    }
}

// proves CH-5
#[tokio::test]
async fn every_answer_names_the_boot_and_an_after_of_another_one_is_refused() {
    let app = app().await;
    fill(&app, 3);
    let first = boot(&app).await;
    let good = history(&app, &format!("?after=2&boot={first}")).await;
    assert_eq!(ids(&good.body), [3]);
    assert_eq!(header(&good, "x-chat-boot"), Some(first.as_str()));
    for answer in [
        app.get("/chat/state").await,
        post(&app, &json!({"text": "hello"})).await,
        post(&app, &json!({"text": " "})).await,
        history(&app, "?after=x").await,
    ] {
        assert_eq!(header(&answer, "x-chat-boot"), Some(first.as_str()));
    }
    let say = Request::new(&app, "POST", "/chat/user_message");
    let much = format!(r#"{{"text": "{}"}}"#, "x".repeat(2 * 1024 * 1024));
    for (request, status) in [
        (say.clone().json("{"), 400),
        (say.json(much), 413),
        (Request::new(&app, "DELETE", "/chat/history"), 405),
    ] {
        let answer = request.send().await;
        assert_eq!(answer.status, status, "{}", answer.body);
        assert_eq!(
            answer.header("x-chat-boot"),
            Some(first.as_str()),
            "{status}"
        );
    }

    let app = app.restart().await;
    fill(&app, 9);
    let second = boot(&app).await;
    assert_ne!(first, second);
    for path in ["history", "stream"] {
        for query in [
            format!("?after=2&boot={first}"),
            format!("?boot={first}"),
            "?after=2&boot=".to_owned(),
        ] {
            let answer = get(&app, &format!("/chat/{path}{query}")).await;
            assert_eq!(refused(&answer), (409, "chat_restarted"), "{path}{query}");
            assert_eq!(answer.body["details"], json!({"boot_id": second}));
            assert_eq!(header(&answer, "x-chat-boot"), Some(second.as_str()));
        }
    }
}

// proves CH-12
#[tokio::test]
async fn the_greeting_is_the_first_message_of_every_run_and_an_agents() {
    let greeting = Some(" Good morning.\n".to_owned());
    let mut app = app_with(|config| config.chat.greeting = greeting).await;
    for _ in 0..2 {
        let shown = history(&app, "").await.body;
        let expected = json!([{
            "id": 1, "ts": shown[0]["ts"], "role": "agent", "author": "ChatAgent",
            "text": "Good morning.",
        }]);
        assert_eq!(shown, expected);
        assert_eq!(post(&app, &json!({"text": "hello"})).await.body["id"], 2);
        app = app.restart().await;
    }
}

// proves CH-8
#[tokio::test]
async fn who_asks_for_what_is_gone_gets_what_is_left_and_is_told_what_that_is() {
    let app = app_with(|config| config.chat.max_messages = 10).await;
    fill(&app, 30);
    for (query, first, told) in [
        ("?after=0", 21, Some("21")),
        ("?after=19", 21, Some("21")),
        ("?after=5&limit=2", 21, Some("21")),
        ("?after=20", 21, None),
        ("?after=25", 26, None),
        ("", 21, None),
    ] {
        let answer = history(&app, query).await;
        assert_eq!(ids(&answer.body)[0], first, "{query}");
        assert_eq!(header(&answer, "x-chat-truncated"), told, "{query}");
    }
}

// proves CH-1
#[tokio::test]
async fn the_chat_is_none_of_the_sessions_and_leaves_nothing_behind() {
    let app = app().await;
    let before = files(&app);
    let word = "a-word-that-stands-nowhere-else";
    let chat = app.server().home().chat();
    chat.post_agent("master", word, ChatMeta::default())
        .unwrap();
    assert_eq!(post(&app, &json!({"text": word})).await.status, 200);

    let shown = history(&app, "").await.body;
    let state = app.get("/chat/state").await.body;
    for answer in [&shown[0], &shown[1], &state] {
        let names = answer.as_object().unwrap().keys();
        let of_session = |name: &&String| name.to_lowercase().contains("session");
        assert_eq!(names.clone().find(of_session), None, "{answer}");
    }
    assert_eq!(app.ok("listSessions", json!({})).await["items"], json!([]));
    assert_eq!(app.ok("getStats", json!({})).await["messages"], 0);
    assert_eq!(files(&app), before);

    let app = app.restart().await;
    assert_eq!(history(&app, "?after=0").await.body, json!([]));
    for (path, bytes) in contents(&app) {
        let is_there = bytes.windows(word.len()).any(|at| at == word.as_bytes());
        assert!(!is_there, "{path}");
    }
}

/// The names of all files of the data directory.
fn files(app: &App) -> Vec<String> {
    contents(app).into_iter().map(|(path, _)| path).collect()
}

fn contents(app: &App) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![app.data_dir()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let bytes = std::fs::read(&path).unwrap_or_default();
                found.push((path.display().to_string(), bytes));
            }
        }
    }
    found.sort();
    found
}

// proves CH-4
#[tokio::test]
async fn a_question_stands_in_the_state_until_the_person_has_answered_it() {
    let app = app().await;
    let none = json!({"pending_input": null, "waiting": 0, "boot_id": boot(&app).await});
    assert_eq!(app.get("/chat/state").await.body, none);
    let chat = app.server().home().chat();
    let first = chat.ask_user("master", "When?").unwrap();
    let second = chat.ask_user("other", "Where?").unwrap();
    let pending =
        |question: u64, by: &str| json!({"requested_by": by, "question_msg_id": question});

    let state = app.get("/chat/state").await.body;
    assert_eq!(state["pending_input"], pending(first, "master"));
    assert_eq!(state["waiting"], 1);
    let answer = post(&app, &json!({"text": "at five"})).await;
    assert_eq!(answer.status, 200);
    assert_eq!(chat.wait_user("master").await.unwrap(), "at five");
    let shown = history(&app, "?limit=1").await.body;
    assert_eq!(shown[0]["meta"], json!({"reply_to": first}));
    let state = app.get("/chat/state").await.body;
    assert_eq!(state["pending_input"], pending(second, "other"));
    assert_eq!(state["waiting"], 0);

    post(&app, &json!({"text": "here"})).await;
    assert_eq!(
        app.get("/chat/state").await.body["pending_input"],
        Value::Null
    );
}
