//! Vectors of texts from a server.

use crate::asking::{KEY, config_of, registry_of};
use crate::local::{Local, ok, response};

async fn embed(server: &Local) -> Result<Vec<f32>, String> {
    let registry = registry_of(config_of("custom", &server.base));
    let model = registry.embeddings("custom/embed-small").unwrap();
    assert_eq!(model.name(), "custom/embed-small");
    model.embed("who likes tea?").await
}

// proves MD-12
#[tokio::test]
async fn a_server_gives_the_vector_of_a_text() {
    let server = Local::json(
        r#"{"object": "list", "model": "embed-small", "usage": {"prompt_tokens": 5, "total_tokens": 5},
            "data": [{"object": "embedding", "index": 0, "embedding": [0.5, -0.25, 1e-3]}]}"#,
    );
    assert_eq!(embed(&server).await.unwrap(), [0.5, -0.25, 1e-3]);
    let asked = server.asked().remove(0);
    for needs in [
        "POST /v1/embeddings HTTP/1.1",
        r#""input":"who likes tea?""#,
        r#""model":"embed-small""#,
        KEY,
    ] {
        assert!(asked.contains(needs), "{needs} is in {asked}");
    }
}

// proves MD-12
#[tokio::test]
async fn what_is_no_embedding_is_refused_in_a_sentence_without_the_key() {
    let refused = format!("the key {KEY} is not allowed to make embeddings");
    let cases: [(Vec<u8>, &str); 6] = [
        (ok("[]"), "no embedding"),
        (ok(r#"{"data": []}"#), "no embedding"),
        (
            ok(r#"{"data": [{"embedding": [null, 1]}]}"#),
            "no embedding",
        ),
        (
            ok(r#"{"data": [{"embedding": "AACAPw=="}]}"#),
            "no embedding",
        ),
        (
            response("403 Forbidden", "text/plain", &refused),
            "not allowed to make",
        ),
        (
            response("200 OK", "text/html", "<html>sign in</html>"),
            "no embedding",
        ),
    ];
    for (answer, expected) in cases {
        let shown = String::from_utf8_lossy(&answer).into_owned();
        let server = Local::answering(move |_| answer.clone());
        let why = embed(&server).await.unwrap_err();
        assert!(why.contains(expected), "{shown}: {why}");
        assert!(!why.contains(KEY), "{why}");
    }
}

// proves MD-12
#[tokio::test]
async fn only_a_provider_with_a_model_makes_embeddings() {
    let registry = registry_of(config_of("custom", "http://127.0.0.1:9/v1"));
    for name in ["", "embed-small", "nowhere/embed-small", "demo"] {
        let error = registry.embeddings(name).err().unwrap();
        assert!(
            error.message.contains("memory.embeddings"),
            "{name}: {}",
            error.message
        );
    }
}
