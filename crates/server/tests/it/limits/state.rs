//! What cannot be had as things are: the session, the model, the queue, the id.

use std::time::Duration;

use samovar_model_server::{Gate, say};
use samovar_server::providers::Secret;
use samovar_testkit::{App, AppBuilder};
use serde_json::json;

use super::{app, check, methods, post, stored};
use crate::raw::Request;
use crate::shown::{last, text};

// proves AS-3
#[tokio::test]
async fn a_session_that_is_not_there_is_unknown_to_every_method() {
    let app = app().await;
    app.ok("createSession", json!({"sessionId": "deleted"}))
        .await;
    app.ok("deleteSession", json!({"sessionId": "deleted"}))
        .await;
    let before = stored(&app).await;
    let without_session = [
        "createSession",
        "listSessions",
        "listTools",
        "listSkills",
        "getSkill",
        "getMemory",
        "updateMemory",
        "searchMemory",
        "getStats",
    ];
    let mut tried = 0;
    for method in methods() {
        if without_session.contains(&method.as_str()) {
            continue;
        }
        // A session's name is taken letter for letter.
        for id in ["nobody", "deleted", "S", "s ", "s\u{301}"] {
            let message = json!({"role": "user", "content": "hello"});
            let body = json!({
                "sessionId": id, "content": "hello", "message": message, "input": 1, "output": 1,
            });
            let body = body.to_string();
            let response = post(&app, &method, &body).await;
            check(
                &response,
                404,
                "unknown_session",
                &format!("{method} {body}"),
            );
            let named = format!("{id:?}");
            assert!(
                response.json()["error"].as_str().unwrap().contains(&named),
                "{method}"
            );
            tried += 1;
        }
    }
    assert_eq!(tried, 55);
    assert_eq!(stored(&app).await, before);
}

/// A server that knows two addresses of others, so that a name that no row claims is neither's.
async fn with_two_addresses() -> App {
    let builder = AppBuilder::new().with(|config| {
        let urls = &mut config.providers.base_urls;
        urls.insert("vllm".to_owned(), "http://127.0.0.1:0/v1".to_owned());
        let key = Secret::new("a-key").unwrap();
        config.providers.keys.insert("deepseek".to_owned(), key);
    });
    builder.start([say("hi")]).await
}

// proves AS-3, AS-18
#[tokio::test]
async fn a_model_that_cannot_be_used_is_written_down_and_refused_when_it_is_to_speak() {
    let app = with_two_addresses().await;
    let models = [
        ("gpt-4o", "OPENAI_API_KEY"),
        ("openai/gpt-4o", "OPENAI_API_KEY"),
        (" qwen-max ", "DASHSCOPE_API_KEY"),
    ];
    for (model, word) in models {
        let params = json!({"sessionId": format!("s-{model}"), "model": model});
        let session = app.ok("createSession", params).await;
        assert_eq!(session["model"], model);
        let message = json!({"sessionId": session["id"], "content": "hello"}).to_string();
        for method in ["sendMessage", "sendMessage/stream"] {
            let response = post(&app, method, &message).await;
            check(&response, 422, "unusable_model", model);
            let sentence = response.json()["error"].as_str().unwrap().to_owned();
            assert!(sentence.contains(word), "{model}: {sentence}");
        }
        let rows = app
            .ok("getMessages", json!({"sessionId": session["id"]}))
            .await;
        assert_eq!(rows, json!([]), "{model}");
    }
    let stats = app.ok("getStats", json!({})).await;
    assert_eq!(
        (&stats["sessions"], &stats["messages"]),
        (&json!(models.len()), &json!(0))
    );
    assert_eq!(app.model.requests().len(), 0);
}

// proves AS-3, AS-18, MD-20
#[tokio::test]
async fn a_model_that_nobody_claims_makes_no_session() {
    let app = with_two_addresses().await;
    for (model, word) in [
        ("nobody-knows-this", "nobody-knows-this"),
        ("deepsek-chat", "deepseek/deepseek-chat"),
        ("", "is not a model name"),
        ("custom/", "is not a model name"),
        ("demo/7b", "demo"),
    ] {
        let params = json!({"sessionId": "s", "model": model}).to_string();
        let response = post(&app, "createSession", &params).await;
        check(&response, 422, "unusable_model", model);
        let sentence = response.json()["error"].as_str().unwrap().to_owned();
        assert!(sentence.contains(word), "{model}: {sentence}");
    }
    assert_eq!(app.ok("getStats", json!({})).await["sessions"], 0);
}

// proves AS-3, AS-11
#[tokio::test]
async fn a_message_for_a_full_queue_is_refused_until_there_is_room() {
    let gate = Gate::new("first");
    let app = AppBuilder::new()
        .with(|config| config.settings.max_queue = 1)
        .start([say("one").hold_head(&gate), say("two"), say("three")])
        .await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let mut first = app.say("s", "first").await;
    let mut second = app.say("s", "second").await;
    let before = stored(&app).await;

    for method in ["sendMessage", "sendMessage/stream"] {
        let body = json!({"sessionId": "s", "content": "third"}).to_string();
        let response = post(&app, method, &body).await;
        check(&response, 429, "busy", method);
        let wait: u32 = response.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }

    assert_eq!(stored(&app).await, before);
    app.ok("createSession", json!({"sessionId": "other"})).await;
    app.model.open(&gate).unwrap();
    assert_eq!(text(&first.rest().await), "one");
    assert_eq!(text(&second.rest().await), "two");
    assert_eq!(text(&app.turn("s", "third").await), "three");
}

// proves AS-3
#[tokio::test]
async fn a_message_id_that_was_used_for_something_else_is_a_conflict() {
    let app = app().await;
    app.ok("createSession", json!({"sessionId": "other"})).await;
    let message = json!({"sessionId": "s", "content": "hello", "messageId": "m"});
    app.ok("sendMessage", message).await;
    let before = stored(&app).await;
    for (session, content) in [("s", "goodbye"), ("s", "hello "), ("other", "hello")] {
        let body = json!({"sessionId": session, "content": content, "messageId": "m"}).to_string();
        for method in ["sendMessage", "sendMessage/stream"] {
            check(
                &post(&app, method, &body).await,
                409,
                "message_conflict",
                &body,
            );
        }
    }
    assert_eq!(stored(&app).await, before);
    assert_eq!(app.model.prompts().len(), 2);
}

#[tokio::test]
async fn a_server_that_is_stopping_takes_nothing_new_and_lets_the_running_turn_end() {
    let gate = Gate::new("mid");
    let app = App::start([say("to the end").hold_after(1, &gate)]).await;
    app.ok("createSession", json!({"sessionId": "s"})).await;
    let mut running = app.say("s", "hello").await;
    let mut frames = running.until("text_delta").await;

    let stop = app
        .server()
        .home()
        .engine()
        .shutdown(Duration::from_hours(1));
    let meanwhile = async {
        let probe = Request::new(&app, "GET", "/readyz").send().await;
        let made = post(&app, "createSession", "{}").await;
        let body = json!({"sessionId": "s", "content": "more"}).to_string();
        let said = post(&app, "sendMessage", body).await;
        for response in [probe, made, said] {
            check(&response, 503, "unavailable", "stopping");
            assert_eq!(response.header("retry-after"), Some("1"));
        }
        let lives = Request::new(&app, "GET", "/healthz").send().await;
        assert_eq!(lives.status, 200);
        app.model.open(&gate).unwrap();
        frames.extend(running.rest().await);
    };
    tokio::join!(stop, meanwhile);

    assert_eq!(text(&frames), "to the end");
    assert_eq!(last(&frames)["finishReason"], "stop");
}
