//! A WebSocket to a server, as an agent or a host of the relay has one: whole envelopes both ways.

use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http::{Request, header};
use http_body_util::Full;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::client::{Address, Client, Refusal, ServerGone};
use crate::observed::Envelope;

/// Where agents and hosts meet.
const PATH: &str = "/agent/ws";

/// 16 bytes that need not be secret.
const KEY: &str = "c2Ftb3ZhciBwcm92ZSAhIQ==";

/// How long a server may take to upgrade a connection before it counts as gone.
const PATIENCE: Duration = Duration::from_secs(20);

/// Dropped, it closes its connection without a word.
pub(crate) struct Socket(WebSocketStream<TokioIo<Upgraded>>);

impl Socket {
    pub(crate) async fn open(
        client: &Client,
        at: &Address,
    ) -> Result<Result<Self, Refusal>, ServerGone> {
        let request = Request::builder()
            .uri(format!("http://{}{PATH}", at.socket))
            .header(header::AUTHORIZATION, format!("Bearer {}", at.token))
            .header(header::CONNECTION, "Upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, KEY)
            .body(Full::new(Bytes::new()))
            .map_err(|_| ServerGone)?;
        let opened = async {
            let upgraded = match client.upgrade(request).await? {
                Ok(upgraded) => TokioIo::new(upgraded),
                Err(refusal) => return Ok(Err(refusal)),
            };
            let stream = WebSocketStream::from_raw_socket(upgraded, Role::Client, None);
            Ok(Ok(Self(stream.await)))
        };
        tokio::time::timeout(PATIENCE, opened)
            .await
            .map_err(|_| ServerGone)?
    }

    /// Says an envelope.
    pub(crate) async fn say(&mut self, envelope: &Value) -> Result<(), ServerGone> {
        let message = Message::text(envelope.to_string());
        self.0.send(message).await.map_err(|_| ServerGone)
    }

    /// The next envelope; what is none as one of the kind `""`. Safe to drop halfway.
    pub(crate) async fn next(&mut self) -> Result<Envelope, ServerGone> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(envelope(&text)),
                // The next read answers them.
                Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Close(_))) => {}
                Some(Ok(Message::Binary(_) | Message::Frame(_)) | Err(_)) | None => {
                    return Err(ServerGone);
                }
            }
        }
    }

    /// Leaves with a word.
    pub(crate) async fn leave(mut self) {
        // Who is not there any more needs none.
        let _heard = self.0.close(None).await.is_ok();
    }
}

/// What is said of this kind.
pub(crate) fn spell(kind: &str, id: Option<&str>, payload: &Value) -> Value {
    let mut envelope = json!({ "v": "mvp-0.2", "type": kind, "payload": payload });
    if let Some(id) = id {
        envelope["id"] = id.into();
    }
    envelope
}

fn envelope(text: &str) -> Envelope {
    let said: Value = serde_json::from_str(text).unwrap_or_default();
    let text = |name: &str| said[name].as_str().map(str::to_owned);
    Envelope {
        kind: text("type").unwrap_or_default(),
        reply_to: text("replyTo"),
        payload: said["payload"].clone(),
        id: text("id"),
    }
}
