//! Requests of which a server refuses a part: that is left out, and the rest is asked once more.

use futures_util::StreamExt as _;
use samovar_core::error::FaultCode;
use samovar_core::{Models as _, ProviderEvent};
use samovar_doubles::talk::user;
use samovar_providers::Registry;
use serde_json::Value;

use crate::asking::{config, prompt, registry_of};
use crate::server::{Answer, Server, response};

const OK: &str = r#"{"choices":[{"message":{"content":"fine"},"finish_reason":"stop"}]}"#;

fn refused(words: &str) -> Answer {
    let body = serde_json::json!({ "error": { "message": words } }).to_string();
    Answer::Keep(response("400 Bad Request", "", &body))
}

fn fine() -> Answer {
    Answer::Keep(response("200 OK", "", OK))
}

async fn ask(registry: &Registry) -> ProviderEvent {
    let model = registry.resolve("gpt-test").unwrap();
    let prompt = prompt(&model.endpoint_name, vec![user("hi")]);
    let mut items: Vec<_> = model.provider.stream(prompt).collect().await;
    items.pop().unwrap().pop().unwrap()
}

/// The parts of the next request that a server may refuse.
fn parts(server: &Server) -> Vec<String> {
    let Value::Object(body) = server.request().body else {
        panic!("no object");
    };
    let parts = body.into_iter().map(|(name, _)| name);
    parts
        .filter(|name| !["model", "messages", "stream"].contains(&name.as_str()))
        .collect()
}

// proves MD-20
#[tokio::test]
async fn a_part_that_is_refused_is_left_out_at_once_and_from_then_on() {
    let server = Server::start(vec![
        refused("temperature does not support 0.7"),
        refused("stream_options: extra inputs are not permitted"),
        fine(),
        fine(),
    ]);
    let registry = registry_of(config(&server.base));
    for _ in 0..2 {
        let end = ask(&registry).await;
        assert!(
            matches!(end, ProviderEvent::MessageComplete { .. }),
            "{end:?}"
        );
    }
    let wanted: [&[&str]; 4] = [
        &["stream_options", "temperature", "max_tokens"],
        &["stream_options", "max_tokens"],
        &["max_tokens"],
        &["max_tokens"],
    ];
    for parts in wanted {
        assert_eq!(self::parts(&server), parts);
    }
}

// proves MD-20
#[tokio::test]
async fn what_is_refused_again_or_was_not_sent_ends_the_call_in_the_servers_words() {
    for (words, requests) in [
        ("temperature is not supported", 2),
        ("top_k is not supported", 1),
        ("no", 1),
    ] {
        let server = Server::start(vec![refused(words), refused(words), fine()]);
        let registry = registry_of(config(&server.base));
        match ask(&registry).await {
            ProviderEvent::Failed { code, message, .. } => {
                assert_eq!(code, FaultCode::ProviderRejected);
                assert!(message.contains(words), "{message}");
            }
            end => panic!("{end:?}"),
        }
        assert_eq!(server.others(), requests, "{words}");
    }
}
