//! The chat as server-sent events or over a WebSocket (CH-7). The reader pulls, so a slow client
//! delays no other; a client that disconnects drops its reader.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use samovar_core::{ChatMessage, Code};
use samovar_wire::{chat, sse};

use super::feed::{Batch, Feed};
use crate::pace::Stalled;
use crate::upgrade::{Channel, ClientMessage, CloseReason};

/// Bytes that are written at once, about: what a client that takes nothing holds up.
const CHUNK_BYTES: usize = 64 * 1024;

struct ChatStream {
    feed: Feed,
    /// What was pulled and not written yet.
    left: VecDeque<Arc<ChatMessage>>,
    ping_every: Duration,
    stalled: Stalled,
}

/// Shows it until the chat ends, or the client has taken nothing for too long: it comes back with the
/// id of the last message that it has.
pub(super) fn show(feed: Feed, ping_every: Duration, stalled: Stalled) -> Response<Body> {
    let pings = stalled.pings();
    let showing = ChatStream {
        feed,
        left: VecDeque::new(),
        ping_every,
        stalled,
    };
    let chunks = stream::unfold((showing, pings), |(mut showing, pings)| async move {
        let chunk = showing.next().await?;
        Some((Ok::<_, Infallible>(chunk), (showing, pings)))
    });
    crate::stream::with_headers(Body::from_stream(chunks))
}

impl ChatStream {
    async fn next(&mut self) -> Option<Bytes> {
        if self.stalled.is_set() {
            return None;
        }
        let mut out = Vec::new();
        if self.left.is_empty() {
            // Safe to drop halfway: the feed moves only when it has something.
            match tokio::time::timeout(self.ping_every, self.feed.next()).await {
                Err(_) => out.extend_from_slice(sse::PING.as_bytes()),
                Ok(None) => return None,
                Ok(Some(Batch { marker, messages })) => {
                    if let Some(marker) = marker {
                        chat::marker_frame(&marker, &mut out);
                    }
                    self.left = messages.into();
                }
            }
        }
        while out.len() < CHUNK_BYTES {
            let Some(message) = self.left.pop_front() else {
                break;
            };
            chat::frame(&message, &mut out);
        }
        Some(Bytes::from(out))
    }
}

/// Shows it over a WebSocket until one of the two ends. Each message is one of the socket; the reader
/// has nothing to say there, for the person's words come to `user_message`.
pub(super) async fn show_on_socket(mut line: Channel, mut feed: Feed) {
    let why = shown(&mut line, &mut feed).await;
    line.end(why).await;
}

async fn shown(line: &mut Channel, feed: &mut Feed) -> CloseReason {
    loop {
        // Both are safe to drop halfway: neither moves unless it has something.
        let batch = tokio::select! {
            batch = feed.next() => batch,
            heard = line.hear() => return match heard {
                Ok(ClientMessage::Text(_) | ClientMessage::Binary(_)) => CloseReason::Refused(Code::InvalidParams),
                Err(end) => end,
            },
        };
        let Some(Batch { marker, messages }) = batch else {
            return CloseReason::Stopping;
        };
        let marker = marker.map(|marker| chat::marker_text(&marker));
        let messages = messages.into_iter();
        let messages = messages.map(|message| chat::text(&message));
        if let Err(end) = line.say(marker.into_iter().chain(messages)).await {
            return end;
        }
    }
}
