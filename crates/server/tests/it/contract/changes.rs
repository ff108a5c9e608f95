//! What a session is can be changed: its title, its model.

use samovar_model_server::say;
use samovar_testkit::{App, MODEL};
use serde_json::{Value, json};

async fn update(app: &App, change: Value) -> Value {
    let mut params = json!({"sessionId": "s"});
    let Value::Object(change) = change else {
        panic!()
    };
    params.as_object_mut().unwrap().extend(change);
    app.ok("updateSession", params).await
}

// proves AS-18
#[tokio::test]
async fn a_session_is_renamed_found_by_its_new_title_and_its_title_outlives_a_restart() {
    let app = App::start([say("hi")]).await;
    let made = json!({"sessionId": "s", "metadata": {"title": "Old tea", "user": "u"}});
    let made = app.ok("createSession", made).await;
    assert_eq!(made["title"], "Old tea");

    let changed = update(&app, json!({"model": "custom/other"})).await;
    assert_eq!(changed["model"], "custom/other");
    assert_eq!(changed["metadata"]["model"], "custom/other");
    let renamed = update(&app, json!({"title": "  Новый чай ", "model": MODEL})).await;

    assert_eq!(renamed["title"], "Новый чай");
    assert_eq!(renamed["model"], MODEL);
    assert_eq!(
        renamed["metadata"], made["metadata"],
        "what the client gave stays"
    );
    assert!(renamed["updatedAt"].as_i64() >= made["updatedAt"].as_i64());
    let found = async |app: &App, query: &str| {
        app.ok("listSessions", json!({"query": query})).await["items"].clone()
    };
    assert_eq!(found(&app, "новый ЧАЙ").await, json!([renamed]));
    assert_eq!(found(&app, "old").await, json!([]));

    let app = app.restart().await;
    assert_eq!(
        app.ok("getSession", json!({"sessionId": "s"})).await,
        renamed
    );
    let nameless = update(&app, json!({"title": ""})).await;
    assert_eq!(nameless.get("title"), None);
    assert_eq!(found(&app, "чай").await, json!([]));
    assert_eq!(
        update(&app, json!({})).await,
        nameless,
        "nothing asked, nothing changed"
    );
}

// proves AS-3
#[tokio::test]
async fn a_change_that_cannot_be_is_refused_and_nothing_of_it_is_kept() {
    let app = App::start([say("hi")]).await;
    let made = app.ok("createSession", json!({"sessionId": "s"})).await;
    for (change, status, code) in [
        (
            json!({"title": "t", "model": "custom/"}),
            422,
            "unusable_model",
        ),
        (
            json!({"title": "t", "model": "openai/gpt-4o"}),
            422,
            "unusable_model",
        ),
        (json!({"title": "two\nlines"}), 400, "invalid_params"),
        (json!({"title": "x".repeat(257)}), 400, "invalid_params"),
        (json!({"title": 7}), 400, "invalid_params"),
        (
            json!({"sessionId": "other", "title": "t"}),
            404,
            "unknown_session",
        ),
    ] {
        let mut params = json!({"sessionId": "s"});
        params
            .as_object_mut()
            .unwrap()
            .extend(change.as_object().unwrap().clone());
        let refused = app.call("updateSession", params).await;
        assert_eq!((refused.status, refused.code()), (status, code), "{change}");
    }
    assert_eq!(app.ok("getSession", json!({"sessionId": "s"})).await, made);
}

// proves AS-18
#[tokio::test]
async fn a_session_tells_what_it_has_cost() {
    let app = App::start([say("hi").forever()]).await;
    let fresh = app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        fresh["tokens"],
        json!({"total": 0, "input": 0, "output": 0})
    );
    let mut spent = 0;
    for _ in 0..2 {
        let turn = app
            .ok("sendMessage", json!({"sessionId": "s", "content": "go"}))
            .await;
        spent += turn["usage"]["total"].as_u64().unwrap();
    }
    app.ok("createSession", json!({"sessionId": "other"})).await;
    app.turn("other", "go").await;
    let session = app.ok("getSession", json!({"sessionId": "s"})).await;
    assert!(spent > 0);
    assert_eq!(session["tokens"]["total"], spent);
}
