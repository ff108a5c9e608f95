//! A stream of frames as a client sees it.

use std::pin::Pin;

use futures_util::{Stream, StreamExt};
use serde_json::Value;
use sse_stream::{Sse, SseByteStream};

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// What stands in its `id:` line.
    pub id: Option<String>,
    /// What stands in its `event:` line.
    pub event: Option<String>,
    /// Its JSON; a string for `[DONE]`.
    pub data: Value,
}

impl Frame {
    /// Its `type`.
    pub fn kind(&self) -> &str {
        self.data["type"].as_str().unwrap_or_default()
    }

    /// Whether it is the last.
    pub fn is_done(&self) -> bool {
        self.data == "[DONE]"
    }
}

type Frames = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

/// A stream that is read frame by frame. Dropping it closes the connection.
pub struct EventStream {
    frames: Frames,
}

impl EventStream {
    /// Reads the body of an answer.
    pub fn new(response: reqwest::Response) -> Self {
        Self {
            frames: Box::pin(SseByteStream::new(response.bytes_stream())),
        }
    }

    /// The next frame; none when the connection has ended.
    pub async fn next(&mut self) -> Option<Frame> {
        let sse = self.frames.next().await?.ok()?;
        let data = sse.data.unwrap_or_default();
        let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
        Some(Frame {
            id: sse.id,
            event: sse.event,
            data,
        })
    }

    /// Everything up to and with `[DONE]`, or up to the end of the connection.
    pub async fn rest(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            let is_done = frame.is_done();
            frames.push(frame);
            if is_done {
                break;
            }
        }
        frames
    }

    /// Reads until a frame of this type has come.
    pub async fn until(&mut self, kind: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        while let Some(frame) = self.next().await {
            let is_it = frame.kind() == kind;
            frames.push(frame);
            if is_it {
                break;
            }
        }
        frames
    }
}
