//! What a command writes: the beginning and the end for the model, all of it in a file.

use std::collections::VecDeque;
use std::io::Write;

use crate::outputs::Output;

use super::screen::plain;

/// Bytes of each channel that a model is shown: half from the beginning, half from the end.
const MAX_SHOWN: usize = 64 * 1024;
const HALF: usize = MAX_SHOWN / 2;

/// One channel's output.
#[derive(Default)]
pub(super) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    bytes: u64,
}

impl Kept {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(HALF - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(HALF)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(HALF);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Whether more was written than is shown.
    pub(super) fn is_cut(&self) -> bool {
        self.bytes > MAX_SHOWN as u64
    }

    /// What a model reads; a note stands where something is left out.
    pub(super) fn shown(mut self) -> String {
        let left_out = self.bytes.saturating_sub(MAX_SHOWN as u64);
        let tail = self.tail.make_contiguous();
        if left_out == 0 {
            self.head.extend_from_slice(tail);
            let whole = plain(&self.head);
            if whole.len() <= MAX_SHOWN {
                return whole;
            }
            // What is no text got longer.
            let (head, tail) = (beginning(&whole), end(&whole));
            let left_out = whole.len() - head.len() - tail.len();
            return format!("{head}\n[{left_out} bytes are left out here]\n{tail}");
        }
        let (head, tail) = (plain(&self.head), plain(tail));
        let (head, tail) = (beginning(&head), end(&tail));
        format!("{head}\n[{left_out} bytes are left out here]\n{tail}")
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(HALF)]
}

fn end(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(HALF))..]
}

/// Both channels as they come, in a file that is made when they get too long to be shown.
pub(super) struct Whole {
    output: Option<Output>,
    /// What came before there was a file.
    before: Vec<u8>,
    max_bytes: u64,
    bytes: u64,
}

impl Whole {
    pub(super) fn new(max_bytes: u64) -> Self {
        Self {
            output: None,
            before: Vec::new(),
            max_bytes,
            bytes: 0,
        }
    }

    pub(super) fn add(&mut self, bytes: &[u8], make: impl FnOnce() -> Option<Output>) {
        let left = self.max_bytes.saturating_sub(self.bytes);
        let bytes = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
        self.bytes += bytes.len() as u64;
        if self.output.is_none() {
            self.before.extend_from_slice(bytes);
            if self.before.len() <= MAX_SHOWN {
                return;
            }
            self.output = make();
            let before = std::mem::take(&mut self.before);
            self.write(&before);
            return;
        }
        self.write(bytes);
    }

    fn write(&mut self, bytes: &[u8]) {
        if let Some(output) = &mut self.output
            && let Err(error) = output.file.write_all(bytes)
        {
            tracing::warn!(%error, "the output of a command is not kept whole");
            self.output = None;
            // Nothing is tried again for this command.
            self.max_bytes = 0;
        }
    }

    /// The name under which it can be read, and whether all of it is there.
    pub(super) fn finish(self) -> Option<(String, bool)> {
        let is_whole = self.bytes < self.max_bytes;
        self.output.map(|output| (output.name, is_whole))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // proves TL-2
    #[test]
    fn what_is_no_text_is_shown_at_no_greater_length() {
        for bytes in [10_000, 60_000, 200_000] {
            let mut kept = Kept::default();
            kept.add(&vec![0xff; bytes]);
            let shown = kept.shown();
            assert!(shown.len() < MAX_SHOWN + 64, "{bytes}: {}", shown.len());
        }
    }
}
