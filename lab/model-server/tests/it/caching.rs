//! What the usage of Messages tells about the prompt cache.

use samovar_model_server::{Failure, ModelServer, fail, say};
use serde_json::{Value, json};

use crate::client::ANTHROPIC;

/// Tokens of a prompt: written to the cache, read from it, and the rest.
#[derive(Debug, PartialEq)]
struct Input {
    written: u64,
    read: u64,
    rest: u64,
}

async fn input(server: &ModelServer, body: &Value) -> Input {
    let message = ANTHROPIC.ask(server, body).await.json();
    let count = |name: &str| message["usage"][name].as_u64().unwrap();
    Input {
        written: count("cache_creation_input_tokens"),
        read: count("cache_read_input_tokens"),
        rest: count("input_tokens"),
    }
}

async fn server() -> ModelServer {
    ModelServer::start([say("fine").forever()]).await.unwrap()
}

/// A prompt with a marked system prompt, a tool, and the last of these messages marked.
fn marked(messages: &[(&str, &str)]) -> Value {
    let mark = json!({"type": "ephemeral"});
    let mut body = ANTHROPIC.plain("");
    body["tools"] = json!([{
        "name": "read_file",
        "description": "Reads a file of the workspace.",
        "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
    }]);
    body["system"] = json!([{"type": "text", "text": "Be brief.", "cache_control": mark}]);
    let messages = messages
        .iter()
        .map(|(role, text)| json!({"role": role, "content": [{"type": "text", "text": text}]}));
    body["messages"] = messages.collect();
    let messages = body["messages"].as_array_mut().unwrap();
    messages.last_mut().unwrap()["content"][0]["cache_control"] = mark;
    body
}

#[tokio::test]
async fn a_prompt_that_repeats_its_prefix_reads_what_it_wrote() {
    let server = server().await;
    let first = marked(&[("user", "Where is my tea?")]);
    let second = marked(&[
        ("user", "Where is my tea?"),
        ("assistant", "In the kitchen, I think."),
        ("user", "It is not."),
    ]);

    let cold = input(&server, &first).await;
    assert!(cold.written > 0 && cold.read == 0, "{cold:?}");
    let warm = input(&server, &second).await;
    assert_eq!(warm.read, cold.written);
    assert!(warm.written > 0);
    let again = input(&server, &second).await;
    assert_eq!((again.read, again.written), (warm.read + warm.written, 0));
    let all = |input: &Input| input.written + input.read + input.rest;
    assert_eq!(all(&again), all(&warm));
}

#[tokio::test]
async fn a_changed_byte_before_a_mark_is_a_write_again() {
    let first = marked(&[("user", "a"), ("assistant", "b"), ("user", "c")]);
    let table: [(&str, Value, bool); 8] = [
        (
            "/tools/0/description",
            json!("Reads a file of the workspacE."),
            false,
        ),
        (
            "/tools/0/input_schema",
            json!({"properties": {"path": {"type": "string"}}, "type": "object"}),
            false,
        ),
        ("/model", json!("n"), false),
        ("/system/0/text", json!("Be brieF."), false),
        ("/messages/0/content/0/text", json!("A"), true),
        ("/messages/1/role", json!("user"), true),
        ("/tool_choice", json!({"type": "none"}), true),
        ("/thinking", json!({"type": "adaptive"}), true),
    ];
    for (pointer, value, keeps_system) in table {
        let server = server().await;
        let cold = input(&server, &first).await;
        let mut changed = first.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        match changed.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[key.parse::<usize>().unwrap()] = value,
            parent => parent[key] = value,
        }

        let after = input(&server, &changed).await;

        assert_eq!(after.read > 0, keeps_system, "{pointer}: {after:?}");
        assert!(after.written > 0 && after.read < cold.written, "{pointer}");
    }
}

#[tokio::test]
async fn marks_and_spellings_that_mean_the_same_change_nothing() {
    let server = server().await;
    let first = marked(&[("user", "a"), ("user", "b")]);
    let cold = input(&server, &first).await;

    let mut moved = first.clone();
    let system = moved["system"][0].as_object_mut().unwrap();
    system.shift_remove("cache_control");
    moved["system"] = json!("Be brief.");
    moved["max_tokens"] = 7.into();
    moved["messages"] = json!([{"role": "user", "content": [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]}]);
    moved["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});

    let warm = input(&server, &moved).await;
    assert_eq!((warm.read, warm.written), (cold.written, 0));
}

#[tokio::test]
async fn without_marks_nothing_is_kept_or_read() {
    let server = server().await;
    let mut unmarked = marked(&[("user", "a")]);
    let body = unmarked.to_string();
    input(&server, &unmarked).await;
    for pointer in ["/system/0", "/messages/0/content/0"] {
        let block = unmarked.pointer_mut(pointer).unwrap();
        block.as_object_mut().unwrap().shift_remove("cache_control");
    }
    let none = input(&server, &unmarked).await;
    assert_eq!((none.read, none.written), (0, 0));
    assert_ne!(body, unmarked.to_string());
}

#[tokio::test]
async fn only_a_prompt_that_is_answered_is_kept() {
    let script = [fail(Failure::server_error()), say("one"), say("two")];
    let server = ModelServer::start(script).await.unwrap();
    let mut body = marked(&[("user", "a")]);
    assert_eq!(ANTHROPIC.ask(&server, &body).await.head.status, 500);
    body["stream"] = true.into();
    let counts = |events: Vec<Value>| {
        let finish = &events[events.len() - 2]["usage"];
        let start = &events[0]["message"]["usage"];
        let count = |usage: &Value, name: &str| usage[name].as_u64().unwrap();
        let both = ["cache_creation_input_tokens", "cache_read_input_tokens"];
        both.map(|name| {
            assert_eq!(count(start, name), count(finish, name));
            count(start, name)
        })
    };

    let [written, read] = counts(ANTHROPIC.ask(&server, &body).await.data());
    assert!(written > 0 && read == 0);
    assert_eq!(
        counts(ANTHROPIC.ask(&server, &body).await.data()),
        [0, written]
    );
}

#[tokio::test]
async fn output_is_counted_up_to_its_end() {
    let server = server().await;
    let response = ANTHROPIC.ask(&server, &ANTHROPIC.prompt("hi")).await;
    let events = response.data();
    let usage = |place: usize| {
        let event = &events[place];
        let usage = event.get("usage").or(event.pointer("/message/usage"));
        usage.unwrap()["output_tokens"].as_u64()
    };
    assert_eq!((usage(0), usage(events.len() - 2)), (Some(1), Some(1)));
    let server = ModelServer::start([say("more than four bytes")])
        .await
        .unwrap();
    let response = ANTHROPIC.ask(&server, &ANTHROPIC.plain("hi")).await.json();
    assert_eq!(response["usage"]["output_tokens"], 5);
}
