//! How many requests a token may make.

use reqwest::Method;
use samovar_model_server::Rule;
use samovar_testkit::{Answer, App, AppBuilder};
use serde_json::json;

use super::STATS;
use super::named::{client, make};
use crate::raw::Request;

async fn app() -> App {
    let builder = AppBuilder::new().with(|config| config.server.requests_per_minute = 3);
    builder.start(Vec::<Rule>::new()).await
}

fn is_refused(answer: &Answer) -> bool {
    if answer.status != 429 {
        return false;
    }
    assert_eq!(answer.code(), "rate_limited");
    // One of three in a minute.
    let wait = answer.body["details"]["retryAfterMs"].as_u64().unwrap();
    assert!((1..=20_000).contains(&wait), "{wait}");
    let seconds = wait.div_ceil(1000).to_string();
    assert_eq!(answer.headers["retry-after"], *seconds);
    true
}

// proves TL-13
#[tokio::test]
async fn a_named_token_has_so_many_requests_and_leaves_the_others_theirs() {
    let app = app().await;
    for scope in ["admin", "read", "relay:default:agent"] {
        let guest = client(&app, scope).await;
        let mut answers = Vec::new();
        for path in [STATS, "/nothing", "/agent/ws", STATS, "/chat/history"] {
            answers.push(is_refused(&guest.get(path).await));
        }
        assert_eq!(answers, [false, false, false, true, true], "{scope}");
        // Probes are for everybody.
        assert_eq!(guest.get("/healthz").await.status, 200);
    }
    for _ in 0..10 {
        assert_eq!(app.get(STATS).await.status, 200, "the owner has no limit");
    }
}

// proves TL-13
#[tokio::test]
async fn a_ticket_is_a_request_of_its_token_and_a_refused_stranger_is_none() {
    let app = app().await;
    let guest = client(&app, "read").await;
    for _ in 0..10 {
        let stranger = Request::new(&app, "GET", STATS).set("authorization", "Bearer wrong");
        assert_eq!(stranger.send().await.status, 401);
        let foreign = Request::new(&app, "GET", STATS).with("origin", "null");
        assert_eq!(foreign.send().await.status, 403);
    }
    let wanted = || guest.request(Method::POST, "/api/tickets").json(&json!({}));
    let made = guest.answer(wanted()).await;
    let ticket = made.body["ticket"].as_str().unwrap();
    let path = format!("/chat/history?ticket={ticket}");
    let elsewhere = Request::new(&app, "GET", &path).without("authorization");
    assert_eq!(elsewhere.send().await.status, 401);
    let path = format!("/chat/stream?after=none&ticket={ticket}");
    let opened = Request::new(&app, "GET", &path).without("authorization");
    assert_eq!(opened.send().await.status, 400, "let in, with a bad cursor");
    assert!(!is_refused(&guest.answer(wanted()).await));
    assert!(is_refused(&guest.answer(wanted()).await));

    // A token with the name of another has its own.
    let revoke = app.request(Method::DELETE, "/api/tokens/for-read");
    assert_eq!(app.answer(revoke).await.status, 200);
    assert_eq!(make(&app, "for-read", "read").await.status, 200);
    let app = app
        .restart_with(|config| config.server.requests_per_minute = 0)
        .await;
    let guest = client(&app, "use").await;
    for _ in 0..10 {
        assert_eq!(guest.get(STATS).await.status, 200);
    }
}
