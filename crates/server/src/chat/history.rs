//! Messages as one array, which is written piece by piece: all of a chat can be longer than what may
//! be held for a client that takes nothing (DU-8).

use std::convert::Infallible;
use std::sync::Arc;
use std::vec::IntoIter;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use bytes::Bytes;
use futures_util::stream;
use samovar_core::ChatMessage;
use samovar_wire::chat;

/// Bytes that are written at once, about.
const CHUNK_BYTES: usize = 64 * 1024;

/// An answer with these messages.
pub(super) fn array(messages: Vec<Arc<ChatMessage>>) -> Response<Body> {
    let mut array = Array {
        left: messages.into_iter(),
        before: b"[",
        is_over: false,
    };
    let chunks = std::iter::from_fn(move || array.chunk());
    let chunks = stream::iter(chunks.map(Ok::<_, Infallible>));
    let mut response = Response::new(Body::from_stream(chunks));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

struct Array {
    left: IntoIter<Arc<ChatMessage>>,
    /// What stands before the next message.
    before: &'static [u8],
    is_over: bool,
}

impl Array {
    fn chunk(&mut self) -> Option<Bytes> {
        if self.is_over {
            return None;
        }
        let mut out = Vec::new();
        while out.len() < CHUNK_BYTES {
            let Some(message) = self.left.next() else {
                let opened = if self.before == b"[" {
                    b"[]".as_slice()
                } else {
                    b"]"
                };
                out.extend_from_slice(opened);
                self.is_over = true;
                break;
            };
            out.extend_from_slice(self.before);
            self.before = b",";
            chat::json(&message, &mut out);
        }
        Some(Bytes::from(out))
    }
}
