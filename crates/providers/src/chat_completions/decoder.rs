//! The event stream of an answer: bytes in, events out, no waiting.

use bytes::Bytes;
use samovar_core::ProviderEvent;
use sse_stream::Sse;

use super::chunk::Chunk;
use super::reply::Reply;
use crate::fault::Fault;
use crate::frames::Frames;
use crate::specs::ProviderSpec;

/// Reads one answer. After an error, and when it [is over](Self::is_over), nothing more is read.
pub(super) struct Decoder {
    frames: Frames,
    reply: Reply,
    is_over: bool,
    /// Events of the stream so far, those that say nothing too; comments are none.
    heard: u64,
}

impl Decoder {
    pub(super) fn new(spec: &'static ProviderSpec) -> Self {
        Self {
            frames: Frames::new(),
            reply: Reply::new(spec),
            is_over: false,
            heard: 0,
        }
    }

    /// Whether the answer is complete.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// How many events of the stream came.
    pub(super) fn heard(&self) -> u64 {
        self.heard
    }

    /// Takes what one read brought, and adds all that it says.
    ///
    /// # Errors
    /// It is an error of the server's, or not what this kind of server sends. What was said before
    /// it stands in `events`.
    pub(super) fn read(
        &mut self,
        bytes: Bytes,
        events: &mut Vec<ProviderEvent>,
    ) -> Result<(), Fault> {
        self.frames.feed(bytes);
        while let Some(frame) = self.frames.take()? {
            self.heard += 1;
            self.frame(&frame, events)?;
            if self.is_over {
                break;
            }
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Sse, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        let data = frame.data.as_deref().unwrap_or_default().trim();
        match (frame.event.as_deref(), data) {
            (Some("error"), data) => Err(Fault::inside(data)),
            (_, "") => Ok(()),
            (_, "[DONE]") => self.finish(events),
            (_, data) => self.reply.take(Chunk::read(data)?, events),
        }
    }

    /// The stream has ended, well or by a cut: an answer whose model said why it stopped is whole.
    ///
    /// # Errors
    /// It is not.
    pub(super) fn end(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        if self.is_over {
            return Ok(());
        }
        self.finish(events)
    }

    /// Whether the model said why it stopped.
    pub(super) fn is_finished(&self) -> bool {
        self.reply.is_finished()
    }

    fn finish(&mut self, events: &mut Vec<ProviderEvent>) -> Result<(), Fault> {
        self.is_over = true;
        self.reply.finish(events)
    }
}

/// Reads an answer that came in one piece, from a server that does not stream.
///
/// # Errors
/// It is an error, or no answer.
pub(super) fn whole(
    spec: &'static ProviderSpec,
    body: &[u8],
    events: &mut Vec<ProviderEvent>,
) -> Result<(), Fault> {
    let body = std::str::from_utf8(body)
        .map_err(|error| Fault::bad(format!("sent what is not UTF-8: {error}")))?;
    let mut reply = Reply::new(spec);
    reply.take(Chunk::read(body)?, events)?;
    if !reply.is_finished() {
        return Err(Fault::bad("sent JSON that is no answer"));
    }
    reply.finish(events)
}

#[cfg(test)]
mod tests;
