//! What a streamed protocol is to the server that streams it.

use samovar_core::Error;

use crate::sse::FrameId;

/// How a protocol spells one reader's stream: a fold of what is read, in order, that appends
/// frames. Pure, so the same items give the same bytes.
pub trait Spelling: Send + 'static {
    /// What is read, such as an event of a session's log.
    type Item;

    /// Takes the next item.
    fn take(&mut self, item: &Self::Item, out: &mut Vec<u8>);

    /// All that could be read was taken, up to this one.
    fn settle(&mut self, _last: &Self::Item, _out: &mut Vec<u8>) {}

    /// Nothing was said for a while, and a ping is.
    fn idle(&mut self, _out: &mut Vec<u8>) {}

    /// The last frame that the reader has and can name.
    fn at(&self) -> Option<FrameId> {
        None
    }

    /// Ends the stream for a reason outside what is read; a turn itself may continue.
    fn abort(&mut self, error: &Error, out: &mut Vec<u8>);

    /// The same because the server stops.
    fn leave(&mut self, error: &Error, out: &mut Vec<u8>) {
        self.abort(error, out);
    }

    /// Whether the last frame was written.
    fn is_over(&self) -> bool;
}
