//! Anthropic Messages.

mod caching;
mod door;
mod faults;
mod order;
mod refusals;
mod routing;
mod wire;

use samovar_model_server::ModelServer;
use serde_json::{Value, json};

use crate::client::{Client, Response};

pub(crate) const MESSAGES: &str = "/v1/messages";

/// The headers of a good request.
pub(crate) const HEADERS: [(&str, &str); 3] = [
    ("content-type", "application/json"),
    ("anthropic-version", "2023-06-01"),
    ("x-api-key", "sk-right"),
];

/// A prompt that asks for a stream.
pub(crate) fn prompt(user: &str) -> Value {
    let mut prompt = plain(user);
    prompt["stream"] = true.into();
    prompt
}

/// A prompt that asks for one message.
pub(crate) fn plain(user: &str) -> Value {
    json!({
        "model": "m",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": user}],
    })
}

/// Sends `body` on a connection of its own and reads all that comes.
pub(crate) async fn ask(server: &ModelServer, body: &Value) -> Response {
    send(server, &HEADERS, &body.to_string()).await
}

async fn send(server: &ModelServer, headers: &[(&str, &str)], body: &str) -> Response {
    let mut client = Client::connect(server).await;
    client.send("POST", MESSAGES, headers, body).await;
    client.response().await
}

/// Name and data of every event of a stream; the name must be the data's type.
pub(crate) fn events(response: &Response) -> Vec<(String, Value)> {
    let events = response.text().split_terminator("\n\n");
    let events = events
        .filter(|event| !event.starts_with(": "))
        .map(|event| {
            let event = event.strip_prefix("event: ").unwrap();
            let (name, data) = event.split_once("\ndata: ").unwrap();
            let data: Value = serde_json::from_str(data).unwrap();
            assert_eq!(data["type"], name);
            (name.to_owned(), data)
        });
    events.collect()
}

/// The content that a client gathers from a stream by the indexes of its blocks.
pub(crate) fn gathered(response: &Response) -> Vec<Value> {
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for (name, event) in events(response) {
        let index = event["index"]
            .as_u64()
            .map(|index| usize::try_from(index).unwrap());
        match name.as_str() {
            "content_block_start" => {
                assert_eq!(index, Some(blocks.len()));
                blocks.push((event["content_block"].clone(), String::new()));
            }
            "content_block_delta" => {
                let (block, input) = &mut blocks[index.unwrap()];
                let delta = &event["delta"];
                for field in ["text", "thinking", "signature"] {
                    if let Some(more) = delta[field].as_str() {
                        block[field] = (block[field].as_str().unwrap().to_owned() + more).into();
                    }
                }
                input.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }
    let finished = blocks.into_iter().map(|(mut block, input)| {
        if !input.is_empty() {
            block["input"] = serde_json::from_str(&input).unwrap();
        }
        block
    });
    finished.collect()
}
