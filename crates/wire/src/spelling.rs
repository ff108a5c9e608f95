//! What a streamed protocol is to the server that streams it.

use samovar_core::{Error, Event, Seq};

use crate::sse::FrameId;

/// How a protocol spells one reader's stream: a fold of the log's events, in order, that appends
/// frames. Pure, so the same events give the same bytes.
pub trait Spelling: Send + 'static {
    /// Takes the next event of the log.
    fn take(&mut self, event: &Event, out: &mut Vec<u8>);

    /// All events that could be read were taken, up to this one.
    fn settle(&mut self, _last: Seq, _out: &mut Vec<u8>) {}

    /// Nothing was said for a while, and a ping is.
    fn idle(&mut self, _out: &mut Vec<u8>) {}

    /// The last frame that the reader has and can name.
    fn at(&self) -> Option<FrameId> {
        None
    }

    /// Ends the stream for a reason outside the log; the turn itself may continue.
    fn abort(&mut self, error: &Error, out: &mut Vec<u8>);

    /// The same because the server stops.
    fn leave(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.abort(error, out);
    }

    /// Whether the last frame was written.
    fn is_over(&self) -> bool;
}
