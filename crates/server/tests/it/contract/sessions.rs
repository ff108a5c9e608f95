//! Sessions: made, found, counted, deleted.

use std::path::{Path, PathBuf};

use futures_util::future::join_all;
use samovar_model_server::{TokenCounts, say};
use samovar_testkit::{App, MODEL};
use serde_json::{Value, json};

use crate::raw::{Request, encoded};

// proves AS-2
#[tokio::test]
async fn a_session_without_an_id_gets_one_that_sorts_by_time() {
    let app = App::start([say("hi")]).await;
    let first = app.ok("createSession", json!({})).await;
    let second = app.ok("createSession", json!({})).await;
    for session in [&first, &second] {
        let id = session["id"].as_str().unwrap();
        assert_eq!(
            (id.len(), &id[14..15]),
            (36, "7"),
            "{id} is a UUID of version 7"
        );
        assert_eq!(session["sessionId"], id);
        assert_eq!(session["model"], MODEL);
        assert_eq!(session["metadata"], json!({"model": MODEL}));
        assert_eq!(session["messageCount"], 0);
        assert!(session["createdAt"].is_i64() && session["updatedAt"].is_i64());
        // Milliseconds, not seconds or microseconds: between 2020 and 2100.
        let made = session["createdAt"].as_i64().unwrap();
        assert!(
            (1_577_836_800_000..4_102_444_800_000).contains(&made),
            "{made}"
        );
    }
    assert!(first["id"].as_str() < second["id"].as_str());
}

// proves AS-18
#[tokio::test]
async fn a_session_keeps_its_model_as_it_was_asked_for_and_what_its_client_gave() {
    let app = App::start([say("hi")]).await;
    let given = json!({"title": "Чай", "user": "u1", "source": "web", "n": {"deep": [1, null]}});
    let params = json!({"sessionId": "s", "model": "custom/other", "metadata": given});
    let made = app.ok("createSession", params).await;
    assert_eq!(
        (&made["id"], &made["model"]),
        (&json!("s"), &json!("custom/other"))
    );
    let mut kept = given.clone();
    kept["model"] = json!("custom/other");
    assert_eq!(made["metadata"], kept);
    assert_eq!(app.ok("getSession", json!({"sessionId": "s"})).await, made);

    app.turn("s", "hello").await;
    let prompt = app.model.prompt(0).await.unwrap();
    assert_eq!(
        prompt.body()["model"],
        "other",
        "the endpoint is asked for its own name"
    );
    let used = app.ok("getSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        (&used["messageCount"], &used["metadata"]),
        (&json!(2), &kept)
    );
    assert!(used["updatedAt"].as_i64() >= made["updatedAt"].as_i64());
    assert_eq!(used["createdAt"], made["createdAt"]);
}

// proves AS-2
#[tokio::test]
async fn making_a_session_again_gives_the_one_that_is_there() {
    let app = App::start([say("hi")]).await;
    let at_once = (0..8).map(|_| app.ok("createSession", json!({"sessionId": "s"})));
    let made = join_all(at_once).await;
    assert!(made.iter().all(|session| *session == made[0]), "{made:?}");

    app.turn("s", "hello").await;
    let again = app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        (&again["model"], &again["messageCount"]),
        (&json!(MODEL), &json!(2))
    );
    assert_eq!(again["metadata"], json!({"model": MODEL}));
    assert_eq!(app.ok("listSessions", json!({})).await["totalCount"], 1);
}

// proves AS-2, AS-3
#[tokio::test]
async fn making_a_session_again_with_something_else_is_refused_and_changes_nothing() {
    let app = App::start([say("hi")]).await;
    let given = json!({"title": "t", "user": {"id": 1}});
    let ask = |model: Option<&str>, metadata: Value| {
        let mut params = json!({"sessionId": "s", "metadata": metadata});
        if let Some(model) = model {
            params["model"] = json!(model);
        }
        params
    };
    let made = app
        .ok("createSession", ask(Some("custom/other"), given.clone()))
        .await;

    for same in [
        ask(Some("custom/other"), given.clone()),
        ask(Some(" custom/other "), json!({})),
        ask(None, made["metadata"].clone()),
        ask(None, json!({"user": {"id": 1}, "more": null})),
        ask(None, Value::Null),
    ] {
        assert_eq!(app.ok("createSession", same).await, made);
    }
    for (parameter, other) in [
        ("model", ask(Some("custom/third"), Value::Null)),
        ("model", ask(Some("no such model"), Value::Null)),
        ("metadata", ask(None, json!({"title": "u"}))),
        ("metadata", ask(None, json!({"title": null}))),
        ("metadata", ask(None, json!({"title": "t", "more": 1}))),
        ("metadata", ask(None, json!({"model": "custom/third"}))),
    ] {
        let refused = app.call("createSession", other.clone()).await;
        assert_eq!((refused.status, refused.code()), (409, "session_conflict"));
        assert_eq!(refused.body["details"]["parameter"], parameter, "{other}");
    }
    let model = json!({"sessionId": "s", "model": MODEL});
    app.ok("updateSession", model.clone()).await;
    assert_eq!(app.ok("createSession", model).await["model"], MODEL);
    assert_eq!(
        app.ok("getSession", json!({"sessionId": "s"})).await["title"],
        "t"
    );
}

// proves AS-19
#[tokio::test]
async fn a_session_that_is_deleted_if_it_is_empty_stays_when_it_has_a_message() {
    let app = App::start([say("hi")]).await;
    for id in ["s", "empty"] {
        app.ok("createSession", json!({"sessionId": id})).await;
    }
    app.turn("s", "hello").await;
    let params = |id| json!({"sessionId": id, "ifEmpty": true});
    let refused = app.call("deleteSession", params("s")).await;
    assert_eq!((refused.status, refused.code()), (409, "session_conflict"));
    assert_eq!(app.ok("deleteSession", params("empty")).await, Value::Null);
    assert_eq!(app.ok("listSessions", json!({})).await["totalCount"], 1);
}

/// Everything below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.push(path);
    }
    found.sort();
    found
}

// proves AS-2
#[tokio::test]
async fn a_session_is_called_what_its_client_likes() {
    let app = App::start([say("hi").forever()]).await;
    let longest = "ы".repeat(128);
    let ids = [
        "a",
        " two words ",
        "a/b/c",
        "../../../etc/passwd",
        "..",
        "C:\\x\\y",
        "чат №1 — 😀",
        "e\u{301} is not \u{e9}",
        "\u{e9}",
        "e\u{301}",
        "null",
        "'; DROP TABLE sessions; --",
        "%2F%00",
        "a?b=c&d#e",
        "\"quoted\"",
        longest.as_str(),
    ];
    assert_eq!(longest.len(), 256);
    for id in ids {
        let params = json!({"sessionId": id});
        assert_eq!(app.ok("createSession", params.clone()).await["id"], id);
        let message = json!({"sessionId": id, "content": "hello"});
        assert_eq!(app.ok("sendMessage", message).await["text"], "hi");
        let rows = app.ok("getMessages", params.clone()).await;
        assert_eq!(
            (&rows[0]["sessionId"], &rows[1]["content"]),
            (&json!(id), &json!("hi"))
        );
        let target = format!("/services/agent/getSession?sessionId={}", encoded(id));
        let got = Request::new(&app, "GET", &target).send().await.json();
        assert_eq!(
            (&got["id"], &got["messageCount"]),
            (&json!(id), &json!(2)),
            "{target}"
        );
    }
    assert_eq!(
        app.ok("listSessions", json!({})).await["totalCount"],
        ids.len()
    );
    let telling = || ids.iter().filter(|id| id.len() > 2);
    for file in files(&app.data_dir()) {
        let name = file.file_name().unwrap().to_string_lossy();
        assert!(!telling().any(|id| name.contains(id)), "{name}");
    }
    for id in ids {
        app.ok("deleteSession", json!({"sessionId": id})).await;
        let gone = app.call("getSession", json!({"sessionId": id})).await;
        assert_eq!(gone.status, 404, "{id:?}");
    }
}

// proves AS-2, AS-3
#[tokio::test]
async fn an_id_that_is_blank_too_long_or_holds_control_characters_is_refused() {
    let app = App::start([say("hi")]).await;
    let (long, wide) = ("x".repeat(257), "ы".repeat(129));
    let bad = [
        "",
        " ",
        "\u{200b}\u{202e}",
        "a\nb",
        "\u{0}",
        "tab\t",
        "\u{7f}",
        "\u{85}",
        "\u{1b}[2J",
        &long,
        &wide,
    ];
    for id in bad {
        for method in [
            "createSession",
            "getSession",
            "getMessages",
            "deleteSession",
            "cancel",
        ] {
            let answer = app.call(method, json!({"sessionId": id})).await;
            assert_eq!(
                (answer.status, answer.code()),
                (400, "invalid_params"),
                "{method} {id:?}"
            );
            assert_eq!(answer.body["details"]["parameter"], "sessionId");
        }
        let fork = json!({"sessionId": "s", "newSessionId": id});
        let fork = app.call("forkSession", fork).await;
        assert_eq!(
            (fork.status, fork.code()),
            (400, "invalid_params"),
            "{id:?}"
        );
        assert_eq!(fork.body["details"]["parameter"], "newSessionId");
        let message = json!({"sessionId": id, "content": "hello"});
        assert_eq!(
            app.call("sendMessage", message).await.code(),
            "invalid_params",
            "{id:?}"
        );
        let target = format!("/services/agent/getSession?sessionId={}", encoded(id));
        assert_eq!(
            Request::new(&app, "GET", &target).send().await.status,
            400,
            "{id:?}"
        );
    }
    assert_eq!(app.ok("listSessions", json!({})).await["totalCount"], 0);
}

// proves AS-19
#[tokio::test]
async fn a_deleted_session_is_gone_with_all_that_was_in_it_and_its_id_is_free() {
    let counts = TokenCounts {
        input: 10,
        output: 2,
        ..TokenCounts::default()
    };
    let app = App::start([say("a secret").usage(counts).forever()]).await;
    for id in ["kept", "s"] {
        app.ok(
            "createSession",
            json!({"sessionId": id, "metadata": {"title": id}}),
        )
        .await;
        app.turn(id, "hello").await;
    }
    let all = app.ok("getStats", json!({})).await;
    assert_eq!((&all["sessions"], &all["messages"]), (&json!(2), &json!(4)));

    assert_eq!(
        app.ok("deleteSession", json!({"sessionId": "s"})).await,
        Value::Null
    );

    for method in ["getSession", "getMessages", "deleteSession", "cancel"] {
        let answer = app.call(method, json!({"sessionId": "s"})).await;
        assert_eq!(
            (answer.status, answer.code()),
            (404, "unknown_session"),
            "{method}"
        );
    }
    let left = app.ok("getStats", json!({})).await;
    assert_eq!(
        (&left["sessions"], &left["messages"]),
        (&json!(1), &json!(2))
    );
    let page = app.ok("listSessions", json!({})).await;
    assert_eq!(
        (&page["totalCount"], &page["items"][0]["id"]),
        (&json!(1), &json!("kept"))
    );

    let anew = app.ok("createSession", json!({"sessionId": "s"})).await;
    assert_eq!(
        (&anew["messageCount"], &anew["metadata"]),
        (&json!(0), &json!({"model": MODEL}))
    );
    assert_eq!(
        app.ok("getMessages", json!({"sessionId": "s"})).await,
        json!([])
    );
    app.turn("s", "hello again").await;
    let prompts = app.model.prompts();
    let prompt = prompts.last().unwrap().body();
    assert!(
        !prompt.to_string().contains("secret"),
        "the model is not reminded: {prompt}"
    );
}
