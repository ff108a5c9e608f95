//! What is no message.

use std::time::Duration;

use serde_json::{Value, json};

use super::{app, header, history, parameter, post, refused};
use crate::raw::Request;

/// Characters that leave no ink, besides white space.
const INKLESS: &str = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}\u{180c}\
    \u{180d}\u{180e}\u{180f}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\
    \u{202d}\u{202e}\u{2060}\u{2061}\u{2062}\u{2063}\u{2064}\u{2066}\u{2069}\u{206a}\u{206f}\
    \u{3164}\u{fe00}\u{fe0f}\u{feff}\u{ffa0}\u{1bca0}\u{1d173}\u{1d17a}\u{e0001}\u{e0020}\
    \u{e007f}\u{e0100}\u{e01ef}\u{0}\u{1}\u{8}\u{1b}\u{7f}\u{9f}";

// proves CH-6
#[tokio::test]
async fn a_blank_text_is_refused_in_every_form_and_nobody_hears_it() {
    let app = app().await;
    let chat = app.server().home().chat();
    chat.ask_user("master", "When?").unwrap();
    let white: Vec<char> = ('\0'..=char::MAX).filter(|c| c.is_whitespace()).collect();
    assert!(white.len() > 20);
    let mut blanks: Vec<String> = white
        .iter()
        .chain(&INKLESS.chars().collect::<Vec<_>>())
        .map(char::to_string)
        .collect();
    blanks.push(String::new());
    blanks.push(white.iter().collect());
    blanks.push(format!(" {INKLESS}\n{INKLESS}"));
    blanks.push(" ".repeat(100_000));

    for blank in blanks {
        let answer = post(&app, &json!({"text": blank})).await;
        assert_eq!(refused(&answer), (400, "blank_content"), "{blank:?}");
    }

    assert_eq!(history(&app, "?after=1").await.body, json!([]));
    let state = app.get("/chat/state").await.body;
    assert_eq!(state["pending_input"]["question_msg_id"], 1);
    let waits = tokio::time::timeout(Duration::ZERO, chat.wait_user("master"));
    assert!(waits.await.is_err(), "nobody is woken");
}

// proves CH-6
#[tokio::test]
async fn a_body_that_is_no_message_is_refused_with_its_code() {
    let app = app().await;
    for (body, code, named) in [
        ("", "invalid_params", Some("text")),
        ("null", "invalid_params", Some("text")),
        ("{}", "invalid_params", Some("text")),
        (r#"{"Text": "x"}"#, "invalid_params", Some("text")),
        (r#"{"text": null}"#, "invalid_params", Some("text")),
        (r#"{"text": 7}"#, "invalid_params", Some("text")),
        (r#"{"text": true}"#, "invalid_params", Some("text")),
        (r#"{"text": ["x"]}"#, "invalid_params", Some("text")),
        (r#"{"text": {"text": "x"}}"#, "invalid_params", Some("text")),
        (r#""x""#, "invalid_params", None),
        (r#"["x"]"#, "invalid_params", None),
        ("7", "invalid_params", None),
        ("x", "invalid_json", None),
        (r#"{"text": "x""#, "invalid_json", None),
        (r#"{"text": "x"} {}"#, "invalid_json", None),
        (r#"{"text": 'x'}"#, "invalid_json", None),
        ("{\"text\": \"a\nb\"}", "invalid_json", None),
        (r#"{"text": "\ud800"}"#, "invalid_json", None),
        (r#"{"text": "\udc00x"}"#, "invalid_json", None),
        (r#"{"text": "\ud800\ud800"}"#, "invalid_json", None),
        (r#"{"text": "\u00"}"#, "invalid_json", None),
    ] {
        check(&app, body.as_bytes(), code, named).await;
    }
    check(&app, b"{\"text\": \"\xff\"}", "invalid_json", None).await;
    check(&app, b"{\"text\": \"\xed\xa0\x80\"}", "invalid_json", None).await;
    let deep = format!("{}{}", r#"{"text":"#.repeat(100), "1");
    check(&app, deep.as_bytes(), "invalid_json", None).await;
    let bomb = format!("\u{feff}{}", r#"{"text": "x"}"#);
    check(&app, bomb.as_bytes(), "invalid_json", None).await;

    assert_eq!(history(&app, "").await.body, json!([]));
    let good = post(
        &app,
        &json!({"text": "x", "session": "s", "author": "AdaptiveAgent"}),
    )
    .await;
    assert_eq!((good.status, good.body), (200, json!({"id": 1})));
    assert_eq!(history(&app, "").await.body[0]["author"], "user");
}

async fn check(app: &samovar_testkit::App, body: &[u8], code: &str, named: Option<&str>) {
    let answer = Request::new(app, "POST", "/chat/user_message");
    let answer = answer.json(body).send().await;
    let shown = String::from_utf8_lossy(body);
    assert_eq!(
        (answer.status, answer.code().as_str()),
        (400, code),
        "{shown}"
    );
    let details = &answer.json()["details"];
    let expected = named.map_or(Value::Null, parameter);
    assert_eq!(details, &expected, "{shown}");
}

// proves CH-6
#[tokio::test]
async fn only_the_verbs_of_the_chat_are_taken() {
    let app = app().await;
    for (verb, path) in [
        ("GET", "/chat/user_message?text=x"),
        ("POST", "/chat/history"),
        ("POST", "/chat/state"),
        ("POST", "/chat/stream"),
        ("DELETE", "/chat/history"),
    ] {
        let answer = Request::new(&app, verb, path).send().await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (405, "wrong_verb"),
            "{verb} {path}"
        );
    }
    for path in ["/chat", "/chat/", "/chat/history/1", "/chat/messages"] {
        let answer = app.get(path).await;
        assert_eq!(refused(&answer), (404, "unknown_method"), "{path}");
        assert_eq!(header(&answer, "x-chat-boot"), None);
    }
}
