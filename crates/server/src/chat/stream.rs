//! The chat as server-sent events (CH-7). The reader pulls, so a slow one costs nobody anything; a
//! client that goes away drops it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use bytes::Bytes;
use futures_util::stream;
use samovar_core::ChatMessage;
use samovar_wire::{chat, sse};

use super::feed::{Batch, Feed};
use crate::pace::Stalled;

/// Bytes that are written at once, about: what a client that takes nothing holds up.
const CHUNK_BYTES: usize = 64 * 1024;

struct Showing {
    feed: Feed,
    /// What was pulled and not written yet.
    left: VecDeque<Arc<ChatMessage>>,
    ping_every: Duration,
    stalled: Stalled,
}

/// Shows it until the chat ends, or the client has taken nothing for too long: it comes back with the
/// id of the last message that it has.
pub(super) fn show(feed: Feed, ping_every: Duration, stalled: Stalled) -> Response<Body> {
    let showing = Showing {
        feed,
        left: VecDeque::new(),
        ping_every,
        stalled,
    };
    let chunks = stream::unfold(showing, |mut showing| async move {
        let chunk = showing.next().await?;
        Some((Ok::<_, Infallible>(chunk), showing))
    });
    crate::stream::with_headers(Body::from_stream(chunks))
}

impl Showing {
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
