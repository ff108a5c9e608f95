//! The bare loop: keeps a message, asks the model, streams its text, runs what it calls, keeps the
//! answer.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use axum::routing::post;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::store::Store;
use super::upstream::{Upstream, streamed};
use crate::model::MODEL;

/// What every prompt offers.
const TOOLS: &str = r#"[{"type":"function","function":{"name":"read_file","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]"#;

struct Loop {
    upstream: Upstream,
    store: Store,
    folder: PathBuf,
}

pub(super) fn router(upstream: Upstream, folder: &Path) -> Result<Router> {
    let bare = Loop {
        upstream,
        store: Store::open(folder)?,
        folder: folder.to_owned(),
    };
    Ok(Router::new().fallback_service(post(answer).with_state(Arc::new(bare))))
}

async fn answer(State(bare): State<Arc<Loop>>, body: Bytes) -> Response<Body> {
    let pieces = Turn::begin(bare, &body).await;
    let pieces = pieces.map(|turn| stream::try_unfold(turn, Turn::piece));
    streamed(pieces.map(Body::from_stream))
}

/// A turn between two pieces of its stream.
struct Turn {
    bare: Arc<Loop>,
    session: String,
    /// The messages of its prompt, as JSON.
    messages: String,
    /// `None` after the last piece.
    answer: Option<Incoming>,
    /// What was read of the answer and is no whole line yet.
    unread: Vec<u8>,
    text: String,
    calls: Vec<Value>,
}

/// What the loop reads of a chunk of a Chat Completion.
#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Vec<Choice<'a>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Delta<'a>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow, default)]
    content: Cow<'a, str>,
    #[serde(default)]
    tool_calls: Vec<Value>,
}

/// What the client is sent, in the shape of the agent service.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Said<'a> {
    TextDelta { content: &'a str },
    Completed,
}

impl Turn {
    async fn begin(bare: Arc<Loop>, body: &[u8]) -> Result<Turn> {
        let posted: Value = serde_json::from_slice(body)?;
        let [session, content] = ["sessionId", "content"].map(|key| posted[key].as_str());
        let (session, content) = session.zip(content).context("no message")?;
        bare.store.keep(session, "user", content).await?;
        let mut turn = Turn {
            bare,
            session: session.to_owned(),
            messages: json!({"role": "user", "content": content}).to_string(),
            answer: None,
            unread: Vec::new(),
            text: String::new(),
            calls: Vec::new(),
        };
        turn.ask().await?;
        Ok(turn)
    }

    async fn ask(&mut self) -> Result<()> {
        let messages = &self.messages;
        let prompt = format!(
            r#"{{"model":"{MODEL}","stream":true,"tools":{TOOLS},"messages":[{messages}]}}"#
        );
        self.answer = Some(self.bare.upstream.ask(prompt.into()).await?);
        Ok(())
    }

    async fn piece(mut self) -> Result<Option<(Bytes, Turn)>> {
        while let Some(answer) = &mut self.answer {
            match answer.frame().await {
                Some(frame) => {
                    let Ok(data) = frame?.into_data() else {
                        continue;
                    };
                    self.unread.extend_from_slice(&data);
                    let piece = self.read()?;
                    if !piece.is_empty() {
                        return Ok(Some((piece.into(), self)));
                    }
                }
                None if self.calls.is_empty() => {
                    let text = &self.text;
                    let kept = self.bare.store.keep(&self.session, "assistant", text);
                    kept.await?;
                    self.answer = None;
                    let mut piece = Vec::new();
                    say(&Said::Completed, &mut piece)?;
                    piece.extend_from_slice(b"data: [DONE]\n\n");
                    return Ok(Some((piece.into(), self)));
                }
                None => self.call().await?,
            }
        }
        Ok(None)
    }

    /// What the client is sent of the lines that are there.
    fn read(&mut self) -> Result<Vec<u8>> {
        let (mut piece, mut read) = (Vec::new(), 0);
        while let Some(end) = self.unread[read..].iter().position(|byte| *byte == b'\n') {
            let line = &self.unread[read..read + end];
            read += end + 1;
            let Some(data) = line.strip_prefix(b"data: ") else {
                continue;
            };
            if data == b"[DONE]" {
                continue;
            }
            let chunk: Chunk<'_> = serde_json::from_slice(data)?;
            for Choice { delta } in chunk.choices {
                if !delta.content.is_empty() {
                    self.text.push_str(&delta.content);
                    let content = &delta.content;
                    say(&Said::TextDelta { content }, &mut piece)?;
                }
                self.calls.extend(delta.tool_calls);
            }
        }
        self.unread.drain(..read);
        Ok(piece)
    }

    /// Keeps the calls, runs them, keeps their results, and asks again.
    async fn call(&mut self) -> Result<()> {
        let calls = std::mem::take(&mut self.calls);
        let text = std::mem::take(&mut self.text);
        let message = json!({"role": "assistant", "content": text, "tool_calls": calls});
        self.add("call", &message).await?;
        for call in &calls {
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let arguments: Value = serde_json::from_str(arguments)?;
            let path = arguments["path"]
                .as_str()
                .context("a call without a path")?;
            let content = fs::read_to_string(self.bare.folder.join(path))?;
            let result = json!({"role": "tool", "tool_call_id": call["id"], "content": content});
            self.add("result", &result).await?;
        }
        self.ask().await
    }

    async fn add(&mut self, role: &'static str, message: &Value) -> Result<()> {
        let message = message.to_string();
        self.bare.store.keep(&self.session, role, &message).await?;
        self.messages.push(',');
        self.messages.push_str(&message);
        Ok(())
    }
}

fn say(said: &Said<'_>, piece: &mut Vec<u8>) -> Result<()> {
    piece.extend_from_slice(b"data: ");
    serde_json::to_writer(&mut *piece, said)?;
    piece.extend_from_slice(b"\n\n");
    Ok(())
}
