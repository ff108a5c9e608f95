//! Parameters: blank, missing, of another type.

use samovar_testkit::App;
use serde_json::{Value, json};

use super::{app, at, check, post, stored};
use crate::raw::Request;

// proves AS-3
#[tokio::test]
async fn a_message_without_any_visible_character_is_refused_and_not_kept() {
    let app = app().await;
    let before = stored(&app).await;
    let blanks = [
        "",
        " ",
        "\t\r\n",
        "\u{a0}",
        "\u{3000}",
        "\u{2003}\u{2028}\u{205f}\u{1680}",
        "\u{85}\u{b}\u{c}",
    ];
    for content in blanks {
        for method in ["sendMessage", "sendMessage/stream"] {
            let body = json!({"sessionId": "s", "content": content}).to_string();
            check(
                &post(&app, method, &body).await,
                400,
                "blank_content",
                &body,
            );
        }
    }
    // Of a blank message nobody asks where it should have gone.
    let body = json!({"sessionId": "nobody", "content": " "}).to_string();
    check(
        &post(&app, "sendMessage", &body).await,
        400,
        "blank_content",
        &body,
    );
    assert_eq!(stored(&app).await, before);
    assert_eq!(app.model.prompts().len(), 1);
}

/// What a parameter must not be, unless it may be missing: then null is as good as nothing.
fn no_text() -> Vec<Value> {
    vec![
        json!(null),
        json!(7),
        json!(true),
        json!(["x"]),
        json!({"x": 1}),
    ]
}

// proves AS-3
#[tokio::test]
async fn parameters_that_are_missing_or_of_another_type_are_named() {
    let app = app().await;
    let before = stored(&app).await;
    let no_map = vec![json!("x"), json!(7), json!([1])];
    let required = [
        ("sendMessage", "sessionId"),
        ("sendMessage", "content"),
        ("sendMessage/stream", "sessionId"),
        ("sendMessage/stream", "content"),
        ("getSession", "sessionId"),
        ("getMessages", "sessionId"),
        ("deleteSession", "sessionId"),
        ("cancel", "sessionId"),
    ];
    let optional = [
        ("createSession", "model", no_text()),
        ("createSession", "sessionId", no_text()),
        ("createSession", "metadata", no_map),
        ("sendMessage", "messageId", no_text()),
        (
            "sendMessage",
            "delivery",
            vec![json!("Queue"), json!("at once"), json!(1)],
        ),
        ("getMessages", "before", no_text()),
        ("cancel", "turnId", no_text()),
        ("listSessions", "query", no_text()),
        ("deleteSession", "ifEmpty", vec![json!("yes"), json!(1)]),
    ];
    for (method, name) in required {
        named(&app, method, name, None).await;
        for value in no_text() {
            named(&app, method, name, Some(&value)).await;
        }
    }
    for (method, name, values) in optional {
        for value in values.iter().filter(|value| !value.is_null()) {
            named(&app, method, name, Some(value)).await;
        }
    }
    assert_eq!(stored(&app).await, before);
}

/// Calls with one parameter that is wrong, or missing, among good ones; its name is in the answer.
async fn named(app: &App, method: &str, name: &str, value: Option<&Value>) {
    let mut params = json!({"sessionId": "s", "content": "hello"});
    let given = params.as_object_mut().unwrap();
    match value {
        Some(value) => given.insert(name.to_owned(), value.clone()),
        None => given.remove(name),
    };
    for body in [params.to_string(), json!({"params": params}).to_string()] {
        let response = post(app, method, &body).await;
        check(&response, 400, "invalid_params", &body);
        let error = response.json();
        assert_eq!(error["details"]["parameter"], name, "{method} {body}");
        assert!(error["error"].as_str().unwrap().contains(name), "{error}");
    }
}

// proves AS-3
#[tokio::test]
async fn ids_of_messages_have_the_bounds_of_other_ids() {
    let app = app().await;
    let before = stored(&app).await;
    for id in ["", "  ", "a\nb", &"x".repeat(257)] {
        named(&app, "sendMessage", "messageId", Some(&json!(id))).await;
    }
    assert_eq!(stored(&app).await, before);
}

// proves AS-3
#[tokio::test]
async fn a_query_without_what_it_needs_or_with_it_twice_is_refused() {
    let app = app().await;
    for query in [
        "",
        "?sessionId",
        "?sessionId=",
        "?sessionid=s",
        "?sessionId=s&sessionId=s",
    ] {
        let target = format!("{}{query}", at("getSession"));
        let response = Request::new(&app, "GET", &target).send().await;
        check(&response, 400, "invalid_params", query);
        assert_eq!(
            response.json()["details"]["parameter"],
            "sessionId",
            "{query}"
        );
    }
}
