//! The lines of a file, none of them held whole if it is long.

use std::io::{self, BufRead, BufReader, Read};

/// Bytes that are read from the file at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Reads line by line.
pub(super) struct Lines<R> {
    reader: BufReader<R>,
}

/// One line.
pub(super) struct Line {
    /// Its beginning.
    pub(super) head: Vec<u8>,
    /// Its length in bytes, without its end.
    pub(super) bytes: u64,
    /// What it ends with.
    pub(super) end: End,
}

/// What a line ends with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// `\n`.
    Feed,
    /// `\r\n`.
    ReturnAndFeed,
    /// The end of the file.
    OfFile,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(file: R) -> Self {
        Self {
            reader: BufReader::with_capacity(BUFFER_BYTES, file),
        }
    }

    /// The next line, of which at most `keep` bytes are kept; none at the end of the file.
    pub(super) fn next(&mut self, keep: usize) -> io::Result<Option<Line>> {
        let mut head = Vec::new();
        let mut bytes = 0;
        let mut is_after_return = false;
        loop {
            let buffer = self.reader.fill_buf()?;
            let feed = buffer.iter().position(|byte| *byte == b'\n');
            let piece = &buffer[..feed.unwrap_or(buffer.len())];
            let room = keep.saturating_sub(head.len());
            head.extend_from_slice(&piece[..piece.len().min(room)]);
            bytes += piece.len() as u64;
            is_after_return = piece.last().map_or(is_after_return, |byte| *byte == b'\r');
            let is_at_end = buffer.is_empty();
            let used = piece.len() + usize::from(feed.is_some());
            self.reader.consume(used);
            if feed.is_some() {
                return Ok(Some(Line::new(head, bytes, is_after_return)));
            }
            if is_at_end {
                let end = End::OfFile;
                return Ok((bytes > 0).then_some(Line { head, bytes, end }));
            }
        }
    }
}

impl Line {
    /// A line that ends with a feed; a return just before it belongs to the end.
    fn new(mut head: Vec<u8>, mut bytes: u64, is_after_return: bool) -> Self {
        let mut end = End::Feed;
        if is_after_return {
            bytes -= 1;
            head.truncate(usize::try_from(bytes).unwrap_or(usize::MAX));
            end = End::ReturnAndFeed;
        }
        Self { head, bytes, end }
    }
}
