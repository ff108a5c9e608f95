//! Parses server-sent events from bytes that the caller has read.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_core::Stream;
use samovar_locale as locale;
use sse_stream::{Sse, SseByteStream};

use crate::fault::Fault;

/// The longest event that is taken, in bytes.
pub(crate) const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// Bytes in, events out, without waiting for anything: each read of the socket is [fed](Self::feed)
/// and gives [all its events](Self::take) at once.
pub(crate) struct Frames {
    slot: ParserInput,
    parser: SseByteStream<ParserInput>,
    /// Bytes that came since a read brought an event: what the parser may hold of the next one.
    unfinished: usize,
    /// The beginning of a character whose end has not come.
    tail: Vec<u8>,
}

impl Frames {
    pub(crate) fn new() -> Self {
        let slot = ParserInput::default();
        Self {
            parser: SseByteStream::new(slot.clone()),
            slot,
            unfinished: 0,
            tail: Vec::new(),
        }
    }

    /// Takes what one read brought. The events of the read before must have been taken out.
    pub(crate) fn feed(&mut self, bytes: Bytes) {
        self.unfinished += bytes.len();
        let text = self.text(bytes);
        self.slot.put(text);
    }

    /// The bytes as text. The parser ends at what is no UTF-8; here a wrong byte costs itself alone.
    fn text(&mut self, bytes: Bytes) -> Bytes {
        let bytes = if self.tail.is_empty() {
            bytes
        } else {
            let mut whole = std::mem::take(&mut self.tail);
            whole.extend_from_slice(&bytes);
            Bytes::from(whole)
        };
        let Err(error) = std::str::from_utf8(&bytes) else {
            return bytes;
        };
        let (before, broken) = bytes.split_at(error.valid_up_to());
        if error.error_len().is_none() {
            self.tail = broken.to_vec();
            return bytes.slice(..before.len());
        }
        let mut text = String::with_capacity(bytes.len());
        let mut chunks = bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            match std::str::from_utf8(chunk.invalid()) {
                // The end of the last one may come with the next read.
                Err(error) if error.error_len().is_none() && chunks.peek().is_none() => {
                    self.tail = chunk.invalid().to_vec();
                }
                Err(_) => text.push(char::REPLACEMENT_CHARACTER),
                Ok(_) => {}
            }
        }
        Bytes::from(text)
    }

    /// The next event of what was fed, if it is whole.
    ///
    /// # Errors
    /// The bytes are not UTF-8, or an event is longer than [`MAX_EVENT_BYTES`].
    pub(crate) fn take(&mut self) -> Result<Option<Sse>, Fault> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(&mut self.parser).poll_next(&mut context) {
            Poll::Ready(Some(Ok(event))) => {
                self.unfinished = 0;
                let length = event.data.as_ref().map_or(0, String::len);
                bound(length)?;
                Ok(Some(event))
            }
            Poll::Ready(Some(Err(error))) => {
                Err(Fault::bad(locale::provider::no_event_stream(error)))
            }
            Poll::Ready(None) => Ok(None),
            Poll::Pending => {
                bound(self.unfinished)?;
                Ok(None)
            }
        }
    }
}

fn bound(length: usize) -> Result<(), Fault> {
    if length > MAX_EVENT_BYTES {
        let why = locale::provider::event_too_large(MAX_EVENT_BYTES as u64);
        return Err(Fault::bad(why));
    }
    Ok(())
}

/// The parser's input: at most one piece, put there by the caller.
#[derive(Clone, Default)]
struct ParserInput(Arc<Mutex<Option<Bytes>>>);

impl ParserInput {
    fn put(&self, bytes: Bytes) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(bytes);
    }
}

impl Stream for ParserInput {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match taken {
            Some(bytes) => Poll::Ready(Some(Ok(bytes))),
            None => Poll::Pending,
        }
    }
}
