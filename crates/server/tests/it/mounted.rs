//! The server as a library (AS-22).

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use samovar_server::{Config, Opening, Token};
use serde_json::{Value, json};
use tower::ServiceExt;

const TOKEN: &str = "a-token-for-tests-of-32-letters-";

fn config(root: &tempfile::TempDir) -> Config {
    let workspace = root.path().join("workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let mut config = Config::new(root.path().join("data"), workspace);
    config.token = Token::new(TOKEN);
    config
}

/// Asks through another program's router.
async fn ask(app: &Router, host: &str, path: &str) -> (StatusCode, Value) {
    let request = Request::get(path)
        .header("host", host)
        .header("authorization", format!("Bearer {TOKEN}"))
        .body(Body::empty())
        .unwrap();
    let response = app.clone().oneshot(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

// proves AS-22
#[tokio::test]
async fn another_program_mounts_the_routes_below_a_prefix_of_its_own() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let agents = opening.router(["agents.example:8080"]);
    let app = Router::new().nest("/agents", agents);
    let home = opening.finish().await.unwrap();

    let get_stats = "/agents/services/agent/getStats";
    let (status, body) = ask(&app, "agents.example:8080", get_stats).await;
    assert_eq!(
        (status, &body["sessions"]),
        (StatusCode::OK, &Value::from(0))
    );
    let (status, body) = ask(&app, "evil.example", get_stats).await;
    assert_eq!(status, StatusCode::FORBIDDEN, "{body}");
    let (status, _) = ask(&app, "agents.example:8080", "/agents/healthz").await;
    assert_eq!(status, StatusCode::OK);
    let bare = Request::get(get_stats)
        .header("host", "agents.example:8080")
        .body(Body::empty())
        .unwrap();
    let refused = app.clone().oneshot(bare).await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    // A ticket counts where the routes are, not where they would be without the prefix.
    let wanted = Request::post("/agents/api/tickets")
        .header("host", "agents.example:8080")
        .header("authorization", format!("Bearer {TOKEN}"))
        .header("content-type", "application/json")
        .body(Body::empty())
        .unwrap();
    let made = app.clone().oneshot(wanted).await.unwrap();
    let made = made.into_body().collect().await.unwrap().to_bytes();
    let made: Value = serde_json::from_slice(&made).unwrap();
    let ticket = made["ticket"].as_str().unwrap();
    for status in [StatusCode::OK, StatusCode::UNAUTHORIZED] {
        let stream = Request::get(format!("/agents/chat/stream?ticket={ticket}"))
            .header("host", "agents.example:8080")
            .body(Body::empty())
            .unwrap();
        assert_eq!(app.clone().oneshot(stream).await.unwrap().status(), status);
    }
    home.close_now().await;
}

// proves AS-22
#[tokio::test(start_paused = true)]
async fn what_is_asked_before_everything_is_open_waits_four_seconds_and_is_told_to_come_again() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let app = opening.router(["here"]);
    let began = tokio::time::Instant::now();

    let (status, body) = ask(&app, "here", "/services/agent/getStats").await;

    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(body["code"], "unavailable");
    assert_eq!(began.elapsed().as_secs(), 4);
    // A probe does not wait, and the server lives.
    let (status, _) = ask(&app, "here", "/readyz").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let (status, _) = ask(&app, "here", "/healthz").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(began.elapsed().as_secs(), 4);
}

// proves AS-4
#[tokio::test]
async fn a_silent_stream_has_a_comment_without_an_empty_line_every_fifteen_seconds() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let app = opening.router(["here"]);
    let home = opening.finish().await.unwrap();
    let post = async |path: &str, params: Value| {
        let request = Request::post(format!("/services/agent/{path}"))
            .header("host", "here")
            .header("authorization", format!("Bearer {TOKEN}"))
            .header("content-type", "application/json")
            .body(Body::from(params.to_string()))
            .unwrap();
        app.clone().oneshot(request).await.unwrap().into_body()
    };
    let session = json!({"sessionId": "s", "model": "demo"});
    post("createSession", session)
        .await
        .collect()
        .await
        .unwrap();
    let message = json!({"sessionId": "s", "content": "ask me my name"});
    let mut stream = post("sendMessage/stream", message).await;
    let mut next = async || {
        let frame = stream.frame().await.unwrap().unwrap();
        String::from_utf8(frame.into_data().unwrap().to_vec()).unwrap()
    };
    while !next().await.contains(": waits for ") {}

    tokio::time::pause();
    for _ in 0..2 {
        let began = tokio::time::Instant::now();
        let comment = next().await;
        assert_eq!(began.elapsed().as_secs(), 15);
        assert!(comment.starts_with(": ping\n: waits for "), "{comment}");
        assert!(!comment.contains("\n\n"), "{comment}");
    }
    tokio::time::resume();
    home.close_now().await;
}

// proves AS-22
#[tokio::test]
async fn what_is_asked_while_everything_opens_is_answered_as_soon_as_it_is_open() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let app = opening.router(["here"]);

    let asked = ask(&app, "here", "/services/agent/getStats");
    let ((status, _), home) = tokio::join!(asked, opening.finish());

    assert_eq!(status, StatusCode::OK);
    home.unwrap().close_now().await;
}

// proves AS-22
#[tokio::test]
async fn parts_of_the_path_that_the_routes_are_mounted_below_are_none_of_theirs() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let agents = opening.router(["here"]);
    let app = Router::new()
        .nest("/u/{name}", agents.clone())
        .nest("/s/{sessionId}", agents);
    let home = opening.finish().await.unwrap();

    let (status, body) = ask(&app, "here", "/u/list_dir/api/tools/read_file").await;
    assert_eq!(
        (status, &body["name"]),
        (StatusCode::OK, &"read_file".into())
    );
    let (status, body) = ask(&app, "here", "/s/mine/api/tools/read_file").await;
    assert_eq!(
        (status, &body["name"]),
        (StatusCode::OK, &"read_file".into())
    );
    let injected = "/s/mine/services/agent/getSession";
    let (status, body) = ask(&app, "here", injected).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
    assert_eq!(body["code"], "invalid_params", "{body}");
    home.close_now().await;
}

// proves AS-1
#[tokio::test]
async fn a_part_of_the_path_counts_as_it_is_or_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let opening = Opening::begin(&config(&root)).unwrap();
    let app = opening.router(["here"]);
    let home = opening.finish().await.unwrap();

    for path in [
        "/api/tools/%FF?name=read_file",
        "/api/tools/%FF",
        "/api/tools/read_file?name=read_file",
        "/api/tools/list_dir?name=read_file",
    ] {
        let (status, body) = ask(&app, "here", path).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{path}: {body}");
        assert_eq!(body["code"], "invalid_params", "{path}: {body}");
    }
    let (status, body) = ask(&app, "here", "/api/tools/read%5Ffile").await;
    assert_eq!(
        (status, &body["name"]),
        (StatusCode::OK, &"read_file".into())
    );
    home.close_now().await;
}

// proves AS-22
#[tokio::test]
async fn a_start_that_fails_tells_those_who_wait_and_lets_go_of_the_data_directory() {
    let root = tempfile::tempdir().unwrap();
    let mut config = config(&root);
    config.workspace = root.path().join("not-there");
    let opening = Opening::begin(&config).unwrap();
    let app = opening.router(["here"]);

    let asked = ask(&app, "here", "/services/agent/getStats");
    let ((status, _), home) = tokio::join!(asked, opening.finish());

    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(home.is_err());
    drop(app);
    assert!(Opening::begin(&config).is_ok());
}
