//! What the person says.

use std::sync::Arc;

use reqwest::Method;
use serde_json::json;
use tokio::task::JoinSet;

use super::{app, history, ids, post, texts};
use crate::raw::Request;

// proves CH-2, CH-6
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_posts_at_once_get_a_thousand_consecutive_ids() {
    let app = Arc::new(app().await);
    let mut posts = JoinSet::new();
    for n in 0..1_000 {
        let app = app.clone();
        posts.spawn(async move {
            let posted = post(&app, &json!({"text": format!("t{n}")})).await;
            assert_eq!(posted.status, 200, "{}", posted.body);
            (posted.body["id"].as_u64().unwrap(), format!("t{n}"))
        });
    }
    let mut answered = posts.join_all().await;
    answered.sort_unstable();

    let given: Vec<_> = answered.iter().map(|(id, _)| *id).collect();
    assert_eq!(given, (1..=1_000).collect::<Vec<_>>());
    assert_eq!(ids(&history(&app, "?after=0").await.body), given);
    let said: Vec<_> = answered.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts(&app).await, said);
}

// proves CH-6
#[tokio::test]
async fn a_text_of_64_kib_is_taken_and_one_byte_more_is_not() {
    let app = app().await;
    let most = "й".repeat(32 * 1024);
    let controls = format!("x{}x", "\u{1}".repeat(64 * 1024 - 2));
    for fits in [most.clone(), format!(" \n{most}\u{3000}"), controls.clone()] {
        assert_eq!(post(&app, &json!({"text": fits})).await.status, 200);
    }
    assert_eq!(texts(&app).await, [most.clone(), most.clone(), controls]);

    for over in [
        format!("{most}x"),
        "x".repeat(64 * 1024 + 1),
        "x".repeat(1_000_000),
        // The body alone is too large.
        "x".repeat(1024 * 1024),
        "x".repeat(3 * 1024 * 1024),
    ] {
        let bytes = over.len();
        let answer = Request::new(&app, "POST", "/chat/user_message");
        let answer = answer.json(json!({"text": over}).to_string()).send().await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (413, "body_too_large"),
            "{bytes}"
        );
    }
    assert_eq!(texts(&app).await.len(), 3);
}

// proves CH-6
#[tokio::test]
async fn the_persons_words_need_a_token_that_may_use_the_server() {
    let app = app().await;
    let made = app.request(Method::POST, "/api/tokens");
    let made = made.json(&json!({"name": "looks", "scope": "read"}));
    let token = app.answer(made).await.body["token"].clone();
    let bearer = format!("Bearer {}", token.as_str().unwrap());
    let body = r#"{"text": "hello"}"#;
    let say = Request::new(&app, "POST", "/chat/user_message").json(body);

    let reads = say.clone().set("authorization", &bearer).send().await;
    let nobody = say.clone().without("authorization").send().await;
    let foreign = say.with("origin", "http://evil.example").send().await;

    assert_eq!((reads.status, reads.code().as_str()), (403, "forbidden"));
    assert_eq!(
        (nobody.status, nobody.code().as_str()),
        (401, "unauthorized")
    );
    assert_eq!(
        (foreign.status, foreign.code().as_str()),
        (403, "origin_refused")
    );
    let look = Request::new(&app, "GET", "/chat/history").set("authorization", &bearer);
    assert_eq!(look.send().await.body, "[]");
}
