//! Memories by their meaning, and what stands before a message, through the whole server.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use samovar_core::Vectors as _;
use samovar_model_server::say;
use samovar_stores::SqliteVectors;
use samovar_testkit::AppBuilder;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

// proves MD-11, MD-12, MD-15
#[tokio::test]
async fn a_memory_is_found_by_its_meaning_in_another_language() {
    let app = AppBuilder::new().start([say("done")]).await;
    let fact = "Пользователь не ест мясо и рыбу.";
    app.ok(
        "updateMemory",
        json!({"facts": [fact, "The port is 5433."]}),
    )
    .await;
    let meant = async || app.ok("getMemory", json!({})).await["vectors"]["count"].clone();
    while meant().await != json!(2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let query = json!({"query": "is there any food that the person avoids?"});
    let found = app.ok("searchMemory", query).await;
    assert_eq!(found[0]["text"], fact, "{found:#}");
    assert!(found[0]["meaning"].as_f64().unwrap() > 0.25, "{found:#}");
    assert!(app.data_dir().join("vectors.db").exists());
    let counted = async || app.get("/api/server").await.body["memory"]["usedBytes"].as_u64();
    while counted().await < Some(4_000_000) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

// proves MD-12, MD-15
#[tokio::test]
async fn without_a_model_words_find_memories_and_a_person_is_told_why() {
    for (set, expected) in [("off", None), ("nowhere/embed", Some("nowhere/embed"))] {
        let with = move |config: &mut samovar_server::Config| {
            config.memory.embeddings = set.to_owned();
        };
        let app = AppBuilder::new().with(with).start([say("done")]).await;
        app.ok("updateMemory", json!({"facts": ["The port is 5433."]}))
            .await;
        let found = app.ok("searchMemory", json!({"query": "port"})).await;
        assert_eq!(found[0]["text"], "The port is 5433.");
        assert_eq!(found[0].get("meaning"), None);
        let problems = app.get("/api/memory").await.body["problems"].to_string();
        match expected {
            Some(name) => assert!(problems.contains(name), "{problems}"),
            None => assert_eq!(problems, "null"),
        }
        assert!(!app.data_dir().join("vectors.db").exists(), "{set}");
    }
}

// proves MD-7, MD-8, MD-23
#[tokio::test]
async fn notes_of_earlier_days_stand_before_the_message_that_they_are_about() {
    let app = AppBuilder::new().start([say("one"), say("two")]).await;
    let notes = app.data_dir().join("memory");
    fs::create_dir_all(&notes).unwrap();
    fs::write(
        notes.join("2020-02-03.md"),
        "- The portal's deploy key is k7.\n",
    )
    .unwrap();

    let session = app.session().await;
    app.turn(&session, "portal deploy key?").await;
    let message = app.model.prompts()[0].last_user().to_owned();
    let block = "<earlier>\n- The portal's deploy key is k7. [";
    assert!(message.contains(block), "{message}");
    assert!(message.ends_with("portal deploy key?"), "{message}");
    let context = app
        .get(&format!("/api/sessions/{session}/context"))
        .await
        .body;
    assert!(
        context["messages"]["tokens"].as_u64() > Some(40),
        "{context:#}"
    );
    assert!(
        !context.to_string().contains("\"changed\":true"),
        "{context:#}"
    );

    app.turn(&session, "what is for dinner?").await;
    let message = app.model.prompts()[1].last_user().to_owned();
    assert_eq!(message, "what is for dinner?");
}

/// Answers each request for a vector of so many numbers: texts about tea have one direction, all others
/// another.
async fn embeddings(listener: TcpListener, dimensions: Arc<AtomicUsize>) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let mut asked = Vec::new();
        // The body comes in one piece with the end of its JSON.
        while !asked.ends_with(b"}") {
            let read = stream.read_buf(&mut asked).await;
            if read.is_ok_and(|read| read == 0) {
                break;
            }
        }
        let asked = String::from_utf8_lossy(&asked);
        let is_tea = asked.contains("tea") || asked.contains("sencha");
        let mut vector = vec!["0"; dimensions.load(Ordering::Relaxed)];
        vector[usize::from(!is_tea)] = "1";
        let vector = format!("[{}]", vector.join(", "));
        let body = format!(r#"{{"data": [{{"embedding": {vector}}}]}}"#);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        stream.write_all(answer.as_bytes()).await.ok();
    }
}

// proves MD-12
#[tokio::test]
async fn a_providers_model_finds_memories_by_their_meaning() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    let dimensions = Arc::new(AtomicUsize::new(8));
    tasks.spawn(embeddings(listener, dimensions.clone()));
    let with = move |config: &mut samovar_server::Config| {
        config.memory.embeddings = "vllm/embed".to_owned();
        config.providers.base_urls.insert("vllm".to_owned(), base);
    };
    let app = AppBuilder::new().with(with).start([say("done")]).await;
    let facts = json!({"facts": ["The person likes tea.", "The port is 5433."]});
    app.ok("updateMemory", facts).await;
    let meant = async || app.ok("getMemory", json!({})).await["vectors"]["count"].clone();
    while meant().await != json!(2) {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let found = app.ok("searchMemory", json!({"query": "sencha"})).await;
    assert_eq!(found[0]["text"], "The person likes tea.", "{found:#}");
    assert!(found[0]["meaning"].as_f64() > Some(0.9), "{found:#}");

    // The server has another model of that name now: meanwhile words find what they can.
    dimensions.store(4, Ordering::Relaxed);
    let found = app.ok("searchMemory", json!({"query": "tea"})).await;
    assert_eq!(found[0]["text"], "The person likes tea.", "{found:#}");
    let mut tries = 0;
    loop {
        let found = app.ok("searchMemory", json!({"query": "sencha"})).await;
        if found[0]["meaning"].as_f64() > Some(0.9) {
            break;
        }
        tries += 1;
        assert!(tries < 1_000, "{found:#}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let kept = SqliteVectors::new(app.data_dir().join("vectors.db"));
    let mut tries = 0;
    loop {
        let kept = kept.load("vllm/embed").await.unwrap();
        // Their scale has four bytes, and each number one.
        if kept.len() == 2 && kept.iter().all(|(_, bytes)| bytes.len() == 8) {
            break;
        }
        tries += 1;
        assert!(tries < 1_000, "{kept:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
