//! Model servers for the measured binary: one that answers as its row says, and one that never does.

use std::convert::Infallible;
use std::future::{pending, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use axum::serve::ListenerExt;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use sse_stream::Sse;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::task::{JoinSet, yield_now};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The name of the model.
pub(crate) const MODEL: &str = "bench";

/// A server with one model; dropped, it accepts no connection any longer.
pub(crate) struct Model {
    pub(crate) address: SocketAddr,
    asked: Arc<AtomicU32>,
    _server: JoinSet<()>,
}

/// A request and the way to answer it; dropped, it ends the answer.
pub(crate) struct Talk {
    asked: Value,
    answer: mpsc::Sender<Bytes>,
}

impl Model {
    /// Starts a server that answers each prompt in a task of its own.
    pub(crate) async fn start<A, F>(answer: A) -> Result<Model>
    where
        A: Fn(Talk) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let asked = Arc::new(AtomicU32::new(0));
        let (count, answers) = (asked.clone(), TaskTracker::new());
        let converse = move |body: Bytes| {
            count.fetch_add(1, Ordering::Relaxed);
            let (sender, mut pieces) = mpsc::channel(1);
            let talk = Talk {
                asked: serde_json::from_slice(&body).unwrap_or_default(),
                answer: sender,
            };
            // It fails when the client hangs up; the row reports what became of its turn.
            answers.spawn(answer(talk));
            let pieces = stream::poll_fn(move |context| pieces.poll_recv(context));
            let body = Body::from_stream(pieces.map(Ok::<_, Infallible>));
            ready(([(CONTENT_TYPE, "text/event-stream")], body))
        };
        let models = json!({"object": "list", "data": [{"id": MODEL, "object": "model"}]});
        let models = ([(CONTENT_TYPE, "application/json")], models.to_string());
        let router = get(models).post(converse);
        let (address, server) = serve(Router::new().fallback_service(router)).await?;
        Ok(Model {
            address,
            asked,
            _server: server,
        })
    }

    /// Starts a server that takes requests and never answers.
    pub(crate) async fn silent() -> Result<Model> {
        let router = Router::new().fallback(pending::<()>);
        let (address, server) = serve(router).await?;
        Ok(Model {
            address,
            asked: Arc::default(),
            _server: server,
        })
    }

    /// How many prompts have arrived.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}

/// Serves on a free port; dropped, the set ends the server.
pub(crate) async fn serve(router: Router) -> Result<(SocketAddr, JoinSet<()>)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let listener = listener.tap_io(|stream| {
        // An option of the socket that makes it faster; without it, it works too.
        stream.set_nodelay(true).ok();
    });
    let mut server = JoinSet::new();
    server.spawn(async {
        // It has no end but that of its task.
        axum::serve(listener, router).await.ok();
    });
    Ok((address, server))
}

impl Talk {
    /// The content of the user's last message.
    pub(crate) fn last_user(&self) -> &str {
        let content = self.by("user").last().map(|message| &message["content"]);
        content.and_then(Value::as_str).unwrap_or_default()
    }

    pub(crate) fn tool_results(&self) -> usize {
        self.results().len()
    }

    /// The texts of the tools' results.
    pub(crate) fn results(&self) -> Vec<&str> {
        let results = self.by("tool").map(|message| &message["content"]);
        results.filter_map(Value::as_str).collect()
    }

    fn by(&self, role: &str) -> impl Iterator<Item = &Value> {
        let messages = self.asked["messages"].as_array().into_iter().flatten();
        messages.filter(move |message| message["role"] == role)
    }

    /// Sends the same delta so many times, as one piece of the body.
    pub(crate) async fn say(&self, text: &str, times: usize) -> Result<()> {
        let delta = event(&json!({"content": text}), None)?;
        self.send(delta.repeat(times).into()).await
    }

    /// Sends one delta in pieces of so many bytes, each after the last one was taken.
    pub(crate) async fn say_in_pieces(&self, text: &str, piece: usize) -> Result<()> {
        let mut delta = event(&json!({"content": text}), None)?;
        while !delta.is_empty() {
            self.send(delta.split_to(piece.min(delta.len()))).await?;
            yield_now().await;
        }
        Ok(())
    }

    /// Ends an answer that is complete.
    pub(crate) async fn end(self) -> Result<()> {
        self.send(event(&json!({}), Some("stop"))?).await?;
        self.done().await
    }

    /// Calls a tool.
    pub(crate) async fn call(self, tool: &str, arguments: &str) -> Result<()> {
        self.calls(&[(tool, arguments.to_owned())]).await
    }

    /// Calls tools, each with its arguments.
    pub(crate) async fn calls(self, calls: &[(&str, String)]) -> Result<()> {
        let calls = calls.iter().enumerate().map(|(index, (tool, arguments))| {
            let function = json!({"name": tool, "arguments": arguments});
            let id = format!("call-{}", index + 1);
            json!({"index": index, "id": id, "type": "function", "function": function})
        });
        let calls: Vec<_> = calls.collect();
        self.send(event(&json!({"tool_calls": calls}), None)?)
            .await?;
        self.send(event(&json!({}), Some("tool_calls"))?).await?;
        self.done().await
    }

    /// Whether the client hangs up within this time.
    pub(crate) async fn is_left_within(&self, time: Duration) -> bool {
        timeout(time, self.left()).await.is_ok()
    }

    /// Waits until the client hangs up.
    pub(crate) async fn left(&self) {
        self.answer.closed().await;
    }

    async fn done(&self) -> Result<()> {
        self.send(Sse::default().data("[DONE]").encode()?).await
    }

    /// Sends events that were made before.
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<()> {
        self.answer.send(bytes).await.context("the client hung up")
    }
}

/// A chunk of a Chat Completion.
pub(crate) fn event(delta: &Value, finish_reason: Option<&str>) -> Result<Bytes> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    let chunk = json!({
        "id": "1", "object": "chat.completion.chunk", "created": 1, "model": MODEL,
        "choices": [choice],
    });
    Ok(Sse::default().data(chunk.to_string()).encode()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Client, ServerAccess};

    #[tokio::test]
    async fn answers_as_its_row_says_and_notices_who_hangs_up() {
        let (sender, mut left) = mpsc::channel(1);
        let model = Model::start(move |talk| {
            let sender = sender.clone();
            async move {
                match talk.last_user() {
                    "say" => {
                        talk.say("word ", 3).await?;
                        talk.end().await
                    }
                    "call" => talk.call("list_dir", r#"{"path":"."}"#).await,
                    _ => {
                        let is_left = talk.is_left_within(Duration::from_millis(1)).await;
                        talk.say("on", 1).await?;
                        talk.left().await;
                        Ok(sender.send(is_left).await?)
                    }
                }
            }
        });
        let model = model.await.unwrap();
        let way_in: ServerAccess =
            serde_json::from_value(json!({"address": model.address, "token": ""})).unwrap();
        let ask = async |content: &str| {
            let messages = json!([{"role": "user", "content": "first"},
                {"role": "user", "content": content}, {"role": "tool", "content": "x"}]);
            let client = Client::connect(&way_in).await.unwrap();
            let asked = json!({"messages": messages});
            client.events("POST", "/", Some(&asked)).await.unwrap()
        };
        let finishes = |reason: &'static str| {
            move |event: &Value| event["choices"][0]["finish_reason"] == reason
        };

        let mut said = ask("say").await;
        let is_word = |event: &Value| event["choices"][0]["delta"]["content"] == "word ";
        said.until_nth(3, is_word).await.unwrap();
        said.until_nth(1, finishes("stop")).await.unwrap();
        assert!(said.next::<Value>().await.unwrap().is_none());

        let mut called = ask("call").await;
        let is_call = |event: &Value| {
            let call = &event["choices"][0]["delta"]["tool_calls"][0]["function"];
            *call == json!({"name": "list_dir", "arguments": "{\"path\":\".\"}"})
        };
        called.until_nth(1, is_call).await.unwrap();
        called.until_nth(1, finishes("tool_calls")).await.unwrap();

        let mut heard = ask("wait").await;
        heard.next::<Value>().await.unwrap();
        drop(heard);
        assert_eq!(left.recv().await, Some(false));
        assert_eq!(model.asked(), 3);
    }
}
