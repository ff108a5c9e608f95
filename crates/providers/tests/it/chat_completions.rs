//! A whole call: the request on the wire, the answer's events, and everything that goes wrong
//! between the two.

use std::net::TcpListener;
use std::time::Duration;

use futures_util::StreamExt as _;
use samovar_core::error::FaultCode;
use samovar_core::{Models as _, Prompt, ProviderEvent, Usage};
use samovar_providers::{ProviderConfig, Registry, Timeouts};
use serde_json::json;

use crate::asking::{KEY, config, config_of, failure, prompt, registry_of};
use crate::server::{Answer, Server, begun, chunks, response, stream};
use samovar_doubles::talk::user;

pub(crate) const HELLO: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Привет\"}}]}\n\n";

pub(crate) const STOP: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
                    \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\n";

pub(crate) const DONE: &str = "data: [DONE]\n\n";

fn hello_prompt(model: &str) -> Prompt {
    prompt(model, vec![user("Say hello")])
}

/// Asks, and gives every item of the answer.
async fn ask(registry: &Registry) -> Vec<Vec<ProviderEvent>> {
    let model = registry.resolve("gpt-test").unwrap();
    let answer = model.provider.stream(hello_prompt(&model.endpoint_name));
    answer.collect().await
}

/// The events of an answer to which the server sends these bytes, and then closes.
async fn events(bytes: Vec<u8>) -> Vec<ProviderEvent> {
    let server = Server::start(vec![Answer::Close(bytes)]);
    let items = ask(&registry_of(config(&server.base))).await;
    assert!(items.iter().all(|item| !item.is_empty()), "{items:?}");
    items.concat()
}

fn hello() -> ProviderEvent {
    ProviderEvent::TextDelta("Привет".to_owned())
}

fn complete() -> ProviderEvent {
    let usage = Usage {
        input: 3,
        output: 2,
        ..Usage::default()
    };
    ProviderEvent::MessageComplete {
        finish_reason: "stop".to_owned(),
        usage,
    }
}

// proves MD-2
#[tokio::test]
async fn azure_gets_its_key_in_a_header_of_its_own_and_the_name_of_the_deployment() {
    let body = [HELLO, STOP, DONE].concat();
    let server = Server::start(vec![Answer::Keep(stream(&[body.as_bytes()]))]);
    let base = format!("{}?api-version=preview", server.base);
    let registry = registry_of(config_of("azure-openai", &base));
    let model = registry.resolve("azure-openai/chat").unwrap();
    assert_eq!(model.name, "azure-openai/chat");
    let answer = model.provider.stream(hello_prompt(&model.endpoint_name));
    let items: Vec<_> = answer.collect().await;
    assert_eq!(items.concat(), [hello(), complete()]);
    let request = server.request();
    let path = "POST /v1/chat/completions?api-version=preview HTTP/1.1";
    assert_eq!(request.line, path);
    assert_eq!(request.header("api-key"), Some(KEY));
    assert_eq!(request.header("authorization"), None);
    assert_eq!(request.body["model"], "chat");
}

// proves MD-5, MD-20
#[tokio::test]
async fn a_prompt_goes_out_and_its_answer_comes_back() {
    let body = [HELLO, STOP, DONE].concat();
    let server = Server::start(vec![Answer::Keep(stream(&[body.as_bytes()]))]);
    let items = ask(&registry_of(config(&server.base))).await;
    assert_eq!(items.concat(), [hello(), complete()]);
    let request = server.request();
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(
        request.header("authorization"),
        Some("Bearer sk-secret-123")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    let wanted = json!({
        "model": "gpt-test",
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Say hello"},
        ],
        "stream": true,
        "stream_options": {"include_usage": true},
        "temperature": 0.5,
        "max_tokens": 100,
    });
    assert_eq!(request.body, wanted);
}

// proves MD-3
#[tokio::test]
async fn an_answer_in_tiny_chunks_is_the_same_answer() {
    let body = [HELLO, STOP, DONE].concat();
    let bytes: Vec<_> = body.as_bytes().chunks(1).collect();
    assert_eq!(events(stream(&bytes)).await, [hello(), complete()]);
}

// proves MD-5
#[tokio::test]
async fn all_that_one_read_brought_is_told_at_once() {
    let mut pieces = vec![HELLO.as_bytes(); 30];
    pieces.extend([STOP.as_bytes(), DONE.as_bytes()]);
    let server = Server::start(vec![Answer::Keep(stream(&pieces))]);
    let items = ask(&registry_of(config(&server.base))).await;
    let sizes: Vec<_> = items.iter().map(Vec::len).collect();
    assert_eq!(sizes, [31]);
}

// proves MD-3
#[tokio::test]
async fn a_cut_anywhere_is_told_as_one_cut_behind_what_came() {
    let inside_a_letter = HELLO.find('П').unwrap() + 1;
    for (came, wanted) in [
        (HELLO.as_bytes(), 1),
        (&HELLO.as_bytes()[..inside_a_letter], 0),
        (b"", 0),
        (b": still here\n\n", 0),
    ] {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
        let until_close = [head.as_bytes(), b"\r\n", came].concat();
        let too_short = [head.as_bytes(), b"content-length: 999\r\n\r\n", came].concat();
        for bytes in [begun(&[came]), stream(&[came]), until_close, too_short] {
            let events = events(bytes).await;
            let (code, message) = failure(&events);
            assert_eq!(code, FaultCode::StreamCut, "{message}");
            assert!(message.starts_with("openai (127.0.0.1:"), "{message}");
            assert_eq!(events.len(), wanted + 1, "{events:?}");
        }
    }
    let said_all = begun(&[HELLO.as_bytes(), STOP.as_bytes()]);
    assert_eq!(events(said_all).await, [hello(), complete()]);
}

#[tokio::test]
async fn a_refusal_is_told_with_its_code_its_words_and_without_the_key() {
    let echo = format!(r#"{{"error":{{"message":"wrong key {KEY}, sorry"}}}}"#);
    for (status, body, code, needs) in [
        (
            "401 Unauthorized",
            echo.as_str(),
            FaultCode::ProviderAuth,
            "check OPENAI_API_KEY",
        ),
        (
            "403 Forbidden",
            &echo,
            FaultCode::ProviderAuth,
            "wrong key ***, sorry",
        ),
        (
            "404 Not Found",
            "no such model",
            FaultCode::ModelNotFound,
            "\"gpt-test\"",
        ),
        (
            "400 Bad Request",
            "bad\u{1b}[2J",
            FaultCode::ProviderRejected,
            "(400): bad [2J",
        ),
        ("500 Oops", "", FaultCode::ProviderError, "(500)"),
        ("529 Overloaded", "", FaultCode::ProviderError, "(529)"),
    ] {
        let events = events(response(status, "", body)).await;
        let (found, message) = failure(&events);
        assert_eq!((found, events.len()), (code, 1), "{message}");
        assert!(message.contains(needs), "{needs} is in {message}");
        assert!(!message.contains(KEY), "{message}");
    }
    let headers = "retry-after: 3\r\n";
    let events = events(response("429 Too Many Requests", headers, "slow down")).await;
    let wanted = Some(Duration::from_secs(3));
    assert!(
        matches!(
            &events[..],
            [ProviderEvent::Failed { code: FaultCode::ProviderRateLimited, retry_after, .. }]
                if *retry_after == wanted
        ),
        "{events:?}"
    );
}

// proves MD-3
#[tokio::test]
async fn a_body_is_read_by_its_first_bytes_whatever_its_header_says() {
    let body = [HELLO, STOP, DONE].concat();
    for headers in [
        "content-type: text/html; charset=utf-8\r\n",
        "content-type: application/json\r\n",
        "content-type: application/octet-stream\r\n",
        "content-type: Text/Event-Stream;charset=utf-8\r\n",
        "",
    ] {
        let events = events(response("200 OK", headers, &body)).await;
        assert_eq!(events, [hello(), complete()], "{headers}");
    }
    let page = "<!doctype html><title>Sign in</title>";
    for headers in ["content-type: text/event-stream\r\n", ""] {
        let events = events(response("200 OK", headers, page)).await;
        let (code, message) = failure(&events);
        assert_eq!((code, events.len()), (FaultCode::BadResponse, 1));
        assert!(message.contains("Sign in"), "{message}");
        assert!(!message.contains("OPENAI_BASE_URL"), "{message}");
    }
}

// proves MD-3
#[tokio::test]
async fn a_compressed_answer_is_not_asked_for_and_named_when_it_comes() {
    let server = Server::start(vec![Answer::Close(response(
        "200 OK",
        "content-encoding: gzip\r\n",
        "\u{1f}",
    ))]);
    let events = ask(&registry_of(config(&server.base))).await.concat();
    let (code, message) = failure(&events);
    assert_eq!(code, FaultCode::BadResponse);
    assert!(message.contains("gzip"), "{message}");
    assert_eq!(server.request().header("accept-encoding"), Some("identity"));
}

#[tokio::test]
async fn an_answer_in_one_piece_is_taken_from_a_server_that_does_not_stream() {
    let body = r#"{"choices":[{"message":{"content":"Привет"},"finish_reason":"stop"}],
        "usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
    let headers = "content-type: application/json\r\n";
    assert_eq!(
        events(response("200 OK", headers, body)).await,
        [hello(), complete()]
    );
    let body = r#"{"error":{"message":"busy","code":503}}"#;
    let events = events(response("200 OK", headers, body)).await;
    assert_eq!(failure(&events).0, FaultCode::ProviderError);
}

#[tokio::test]
async fn a_server_that_is_down_is_unreachable_and_named() {
    let address = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let events = ask(&registry_of(config(&format!("http://{address}/v1"))))
        .await
        .concat();
    let (code, message) = failure(&events);
    assert_eq!((code, events.len()), (FaultCode::ProviderUnreachable, 1));
    for needs in [address.to_string().as_str(), "refused", "OPENAI_BASE_URL"] {
        assert!(message.contains(needs), "{needs} is in {message}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_up_without_an_answer_cut_the_answer() {
    let events = events(Vec::new()).await;
    assert_eq!(
        (failure(&events).0, events.len()),
        (FaultCode::StreamCut, 1)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_says_nothing_without_a_pause_is_given_up_at_the_limit_of_the_call() {
    let nothing = chunks(&[b"data: {}\n\n".as_slice(); 512]);
    let server = Server::start(vec![Answer::Flood(begun(&[HELLO.as_bytes()]), nothing)]);
    let config = ProviderConfig {
        timeouts: Timeouts {
            whole_call: Duration::from_millis(500),
            ..Timeouts::default()
        },
        ..config(&server.base)
    };

    let events = ask(&registry_of(config)).await.concat();

    let (code, message) = failure(&events);
    assert_eq!(code, FaultCode::ProviderTimeout);
    assert!(message.contains("did not finish"), "{message}");
    server.left();
}

// proves MD-5
#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_dropped_answer_closes_its_connection() {
    let server = Server::start(vec![Answer::Hold(begun(&[HELLO.as_bytes()]))]);
    let model = registry_of(config(&server.base))
        .resolve("gpt-test")
        .unwrap();
    let mut answer = model.provider.stream(hello_prompt("gpt-test"));
    assert_eq!(answer.next().await, Some(vec![hello()]));
    drop(answer);
    server.left();
}

#[tokio::test]
async fn nothing_is_asked_before_the_answer_is_wanted() {
    let server = Server::start(Vec::new());
    let model = registry_of(config(&server.base))
        .resolve("gpt-test")
        .unwrap();
    drop(model.provider.stream(hello_prompt("gpt-test")));
    assert_eq!(server.others(), 0);
}
