//! Servers that say nothing, or nothing to us.

use std::time::Duration;

use samovar_model_server::{ExchangeEnd, Failure, Gate, fail, say, silent};
use samovar_server::providers::{Secret, Timeouts};
use samovar_testkit::AppBuilder;
use serde_json::json;

use super::{check_all, check_messages, row};
use crate::shown::{last, text};

/// A server that is patient with one thing only.
fn waiting(change: impl FnOnce(&mut Timeouts)) -> AppBuilder {
    AppBuilder::new().with(|config| change(&mut config.providers.timeouts))
}

// proves MD-3
#[tokio::test]
async fn a_server_that_falls_silent_is_given_up_and_hung_up_on() {
    let short = Duration::from_millis(200);
    let never = Gate::new("never");
    let first = vec![
        row("silent", silent(), "provider_timeout", "", "0.2 s"),
        row(
            "no-head",
            say("hi").hold_head(&never),
            "provider_timeout",
            "",
            "0.2 s",
        ),
        row(
            "no-token",
            say("hi").hold_after(0, &never),
            "provider_timeout",
            "",
            "0.2 s",
        ),
    ];
    check_all(waiting(|timeouts| timeouts.first_token = short), first).await;
    let half = say("so far so good").hold_after(2, &never);
    let between = vec![row("half", half, "provider_timeout", "so far s", "0.2 s")];
    check_all(waiting(|timeouts| timeouts.between_tokens = short), between).await;
    // One that never stops talking does not get around the limit on the whole.
    let chatter = say("la ".repeat(10_000))
        .deltas_of(3)
        .pace(Duration::from_millis(5));
    let app = waiting(|timeouts| timeouts.whole_call = short)
        .start([chatter])
        .await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["code"], "provider_timeout");
    check_messages(&app, &session, &["go", &text(&frames)]).await;
    let prompt = app.model.prompt(0).await.unwrap();
    assert_eq!(prompt.end().await, ExchangeEnd::ClientLeft);
}

// proves AS-14
#[tokio::test]
async fn a_server_that_sends_a_byte_now_and_then_is_given_up() {
    let drip = say("so far so good").deltas_of(1).byte_by_byte();
    let drip = drip
        .pace(Duration::from_millis(60))
        .hold_after(40, &Gate::new("never"));
    let app = waiting(|timeouts| timeouts.whole_call = Duration::from_millis(300))
        .start([drip])
        .await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    assert_eq!(last(&frames)["code"], "provider_timeout");
    let shown = text(&frames);
    let mut said = vec!["go"];
    said.extend(Some(shown.as_str()).filter(|shown| !shown.trim().is_empty()));
    check_messages(&app, &session, &said).await;
}

// proves FC-6
#[tokio::test]
async fn a_server_that_is_down_is_named_with_what_to_check() {
    let app = AppBuilder::new()
        .with(|config| {
            // Nobody can listen on port 0.
            let nowhere = "http://127.0.0.1:0/v1".to_owned();
            config
                .providers
                .base_urls
                .insert("ollama".to_owned(), nowhere);
        })
        .start([say("fine")])
        .await;
    app.ok(
        "createSession",
        json!({"sessionId": "s", "model": "ollama/m"}),
    )
    .await;
    let frames = app.turn("s", "go").await;
    let error = last(&frames);
    assert_eq!(error["code"], "provider_unreachable");
    let message = error["message"].as_str().unwrap();
    for word in ["ollama", "127.0.0.1:0", "OLLAMA_BASE_URL"] {
        assert!(message.contains(word), "{word}: {message}");
    }
    check_messages(&app, "s", &["go"]).await;
    assert_eq!(
        text(&app.turn(&app.session().await, "go").await),
        "fine",
        "others go on"
    );
}

// proves FC-6
#[tokio::test]
async fn a_refused_key_is_never_repeated() {
    let key = "sk-0123456789abcdef";
    let echo = Failure::new(401, format!("Incorrect API key provided: {key}."));
    let app = AppBuilder::new()
        .with(|config| {
            let key = Secret::new(key).unwrap();
            config.providers.keys.insert("custom".to_owned(), key);
        })
        .start([fail(echo)])
        .await;
    let session = app.session().await;
    let frames = app.turn(&session, "go").await;
    let sent = app.model.prompt(0).await.unwrap();
    assert_eq!(sent.headers()["authorization"], format!("Bearer {key}"));
    let message = last(&frames)["message"].as_str().unwrap();
    assert!(
        message.contains("***") && message.contains("CUSTOM_API_KEY"),
        "{message}"
    );
    assert!(!format!("{frames:?}").contains(key), "{message}");
}
