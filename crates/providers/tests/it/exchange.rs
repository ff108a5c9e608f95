//! What a call does with its connection, whatever dialect it speaks.

use std::time::Duration;

use samovar_core::ProviderEvent;
use samovar_core::error::FaultCode;
use samovar_providers::{ProviderConfig, Registry, Timeouts};

use crate::anthropic::{MODEL, exchange as messages};
use crate::asking::{ask, config_of, failure, prompt, registry_of};
use crate::chat_completions as chat;
use crate::server::{Answer, Server, begun, response, stream};
use samovar_doubles::talk::user;

/// A row of each dialect, a model of it, and an answer in pieces.
const ROWS: [(&str, &str, &[&str]); 2] = [
    ("openai", "gpt-test", &[chat::HELLO, chat::STOP, chat::DONE]),
    (
        "anthropic",
        MODEL,
        &[
            messages::START,
            messages::HELLO,
            messages::END,
            messages::STOP,
        ],
    ),
];

async fn hello_from(registry: &Registry, model: &str) -> Vec<ProviderEvent> {
    ask(registry, prompt(model, vec![user("Say hello")])).await
}

// proves MD-5
#[tokio::test]
async fn one_connection_serves_call_after_call() {
    for (row, model, pieces) in ROWS {
        let body = pieces.concat();
        let pieces: Vec<_> = pieces.iter().map(|piece| piece.as_bytes()).collect();
        let late_end = [begun(&[body.as_bytes()]), b"0\r\n\r\n".to_vec()].concat();
        let answers = [
            stream(&[body.as_bytes()]),
            response("200 OK", "content-type: text/event-stream\r\n", &body),
            response("429 Too Many Requests", "", "slow down"),
            response("529 Overloaded", "", "busy"),
            stream(&pieces),
            late_end,
        ];
        let count = answers.len();
        let server = Server::start(answers.into_iter().map(Answer::Keep).collect());
        let registry = registry_of(config_of(row, &server.base));
        for _ in 0..count {
            hello_from(&registry, model).await;
            assert_eq!(server.request().connection, 0, "{row}");
        }
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start(Vec::new());
    let headers = format!("location: {}/messages\r\n", elsewhere.base);
    for (row, model, _) in ROWS {
        for status in ["301 Moved Permanently", "307 Temporary Redirect"] {
            let server = Server::start(vec![Answer::Close(response(status, &headers, ""))]);
            let registry = registry_of(config_of(row, &server.base));
            let events = hello_from(&registry, model).await;
            let (code, message) = failure(&events);
            assert_eq!(code, FaultCode::BadResponse, "{row}");
            assert!(message.contains(&elsewhere.base), "{message}");
        }
    }
    assert_eq!(elsewhere.others(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_silent_server_is_given_up_at_the_limit_that_is_set() {
    // Long enough for a busy machine to connect before it has passed.
    let soon = Duration::from_millis(500);
    let patient = Timeouts::default();
    let nothing = Vec::new();
    let comments = begun(&[b": still here\n\n"]);
    let progress = begun(&[b"data: {\"prompt_progress\":{\"total\":9,\"processed\":3}}\n\n"]);
    let text = begun(&[chat::HELLO.as_bytes()]);
    let message = begun(&[messages::START.as_bytes(), messages::HELLO.as_bytes()]);
    let refusal = b"HTTP/1.1 500 Oops\r\ncontent-length: 9\r\n\r\nbro".to_vec();
    let first = Timeouts {
        first_token: soon,
        ..patient
    };
    let between = Timeouts {
        between_tokens: soon,
        ..patient
    };
    let whole = Timeouts {
        whole_call: soon,
        ..patient
    };
    let [openai, anthropic] = ROWS;
    for ((row, model, _), bytes, timeouts, said, needs) in [
        (openai, &nothing, first, 0, "no part of the answer"),
        (openai, &comments, first, 0, "no part of the answer"),
        (openai, &progress, first, 1, "no part of the answer"),
        (openai, &text, between, 1, "stopped sending"),
        (openai, &nothing, whole, 0, "did not finish"),
        (openai, &refusal, first, 0, "(500): bro"),
        (anthropic, &nothing, first, 0, "no part of the answer"),
        (anthropic, &message, between, 1, "stopped sending"),
    ] {
        let server = Server::start(vec![Answer::Hold(bytes.clone())]);
        let config = ProviderConfig {
            timeouts,
            ..config_of(row, &server.base)
        };
        let events = hello_from(&registry_of(config), model).await;
        let (code, message) = failure(&events);
        assert!(message.contains(needs), "{needs} is in {message}");
        assert_eq!(events.len(), said + 1);
        let is_late = bytes != &refusal;
        assert_eq!(code == FaultCode::ProviderTimeout, is_late, "{message}");
        server.left();
    }
}
