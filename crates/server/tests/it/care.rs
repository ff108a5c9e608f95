//! What is kept of the stores beside turns: backups that nobody waits for, damage that a reader meets.

use std::path::Path;
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use futures_util::poll;
use reqwest::Method;
use samovar_model_server::say;
use samovar_testkit::App;
use serde_json::{Value, json};
use tower::ServiceExt;

/// How long what happens by itself may take before the test gives up on it.
const PATIENCE: Duration = Duration::from_mins(1);

fn names(folder: &Path, begin: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with(begin)).collect()
}

// proves DU-13
#[tokio::test]
async fn a_backup_whose_client_goes_away_is_made_all_the_same() {
    let app = App::start([say("an answer").forever()]).await;
    let session = app.session().await;
    app.turn(&session, "hello").await;
    let folder = app.data_dir().parent().unwrap().to_owned();
    let body = json!({"path": folder.join("saved")}).to_string();
    let way = app.server().home().way_in();
    let request = Request::post("/api/backup")
        .header("host", &way.authority)
        .header("authorization", format!("Bearer {}", way.token.expose()))
        .header("content-type", "application/json")
        .body(Body::from(body))
        .unwrap();

    let mut asked = Box::pin(way.router.oneshot(request));
    while names(&folder, "saved").is_empty() {
        assert!(poll!(&mut asked).is_pending());
        tokio::task::yield_now().await;
    }
    drop(asked);

    let whole = async {
        while names(&folder, "saved") != ["saved"] {
            tokio::task::yield_now().await;
        }
    };
    let whole = tokio::time::timeout(PATIENCE, whole).await;
    assert!(whole.is_ok(), "{:?}", names(&folder, "saved"));
    assert!(folder.join("saved/manifest.json").exists());
    app.stop().await;
}

/// A stopped server whose journal has a damaged row in each finished turn: a piece of the answer, which
/// no start needs.
async fn with_damaged_answers(sessions: &[&str]) -> App {
    let mut app = App::start([say("abcdefgh").deltas_of(4).forever()]).await;
    for session in sessions {
        app.ok("createSession", json!({"sessionId": session})).await;
        let post = json!({"sessionId": session, "messageId": session, "content": "go"});
        app.stream(post).await.rest().await;
        app.ok("getMessages", json!({"sessionId": session})).await;
    }
    app.stop_now().await;
    let journal = app.data_dir().join("journal/data.mdb");
    let mut bytes = std::fs::read(&journal).unwrap();
    let needle = b"\"efgh\"";
    let mut flipped = 0;
    for at in 0..bytes.len() - needle.len() {
        if bytes[at..].starts_with(needle) {
            bytes[at + 1] ^= 1;
            flipped += 1;
        }
    }
    assert!(flipped >= sessions.len());
    std::fs::write(&journal, bytes).unwrap();
    app.restart().await
}

async fn reported(app: &App) -> Vec<Value> {
    let damage = app.request(Method::GET, "/api/damage");
    let damage = app.answer(damage).await.body;
    damage["items"].as_array().unwrap().clone()
}

// proves DU-13
#[tokio::test]
async fn damage_that_only_a_stream_meets_is_reported_and_ends_with_its_session() {
    let app = Box::pin(with_damaged_answers(&["again", "back"])).await;
    assert_eq!(reported(&app).await, [] as [Value; 0]);

    // One says it again, the other comes back to it.
    let post = json!({"sessionId": "again", "messageId": "again", "content": "go"});
    let frames = app.stream(post).await.rest().await;
    assert!(
        frames
            .iter()
            .any(|frame| frame.data["code"] == "session_damaged"),
        "{frames:?}"
    );
    let path = "/services/agent/sendMessage/stream?sessionId=back";
    let refused = app.answer(app.request(Method::GET, path)).await;
    assert_eq!((refused.status, refused.code()), (409, "session_damaged"));

    let reports = reported(&app).await;
    let told: Vec<_> = reports.iter().map(|report| &report["sessionId"]).collect();
    assert_eq!(told, ["again", "back"], "{reports:#?}");
    for session in ["again", "back"] {
        let params = json!({"sessionId": session});
        for method in ["getSession", "getMessages", "undo", "createSession"] {
            let refused = app.call(method, params.clone()).await;
            assert_eq!(
                (refused.status, refused.code()),
                (409, "session_damaged"),
                "{method}"
            );
        }
        app.ok("deleteSession", params.clone()).await;
        app.ok("createSession", params.clone()).await;
        app.turn(session, "anew").await;
        let rows = app.ok("getMessages", params).await;
        assert_eq!(rows.as_array().unwrap().len(), 2, "{rows}");
    }
    assert_eq!(reported(&app).await, [] as [Value; 0]);
    let app = app.restart().await;
    assert_eq!(reported(&app).await, [] as [Value; 0]);
    app.stop().await;
}
