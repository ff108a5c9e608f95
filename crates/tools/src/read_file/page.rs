//! What one call shows of a file.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Write as _;

use crate::text::visible;

use super::lines::{End, Line};

/// Bytes that are shown of one line.
pub(crate) const MAX_LINE_BYTES: usize = 16 * 1024;

/// Lines of the end that a page without it shows too.
const END_LINES: usize = 5;
/// Bytes that are shown of one of them.
const MAX_END_LINE_BYTES: usize = 256;

/// The lines from the first that was asked for, as many as fit.
pub(super) struct Page {
    first: u64,
    limit: u64,
    max_bytes: usize,
    text: String,
    shown: u64,
    /// Those of them that are shown in full, each run from its first line to its last.
    in_full: Vec<(u64, u64)>,
    lines: u64,
    is_full: bool,
    /// The last lines after the page, if they are shown too.
    end: Option<VecDeque<String>>,
    seen: ContentTraits,
}

/// What there is to be said of the lines that are shown.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "four facts, each of which can hold without the others"
)]
struct ContentTraits {
    feeds: bool,
    returns: bool,
    invalid: bool,
    control: bool,
}

impl Page {
    /// A page of at most `limit` lines from line `first`, counted from 1, and `max_bytes` bytes.
    pub(super) fn new(first: u64, limit: u64, max_bytes: usize) -> Self {
        Self {
            first,
            limit,
            max_bytes,
            text: String::new(),
            shown: 0,
            in_full: Vec::new(),
            lines: 0,
            is_full: false,
            end: None,
            seen: ContentTraits::default(),
        }
    }

    /// Shows also how the text ends.
    pub(super) fn with_end(mut self) -> Self {
        self.end = Some(VecDeque::new());
        self
    }

    /// How many bytes of the next line the page has a use for.
    pub(super) fn keeps(&self) -> usize {
        match &self.end {
            Some(_) if self.is_full => MAX_END_LINE_BYTES,
            _ if self.is_full || self.lines + 1 < self.first => 0,
            _ => MAX_LINE_BYTES,
        }
    }

    /// Counts the next line of the file, and shows it if it belongs to the page and fits.
    pub(super) fn add(&mut self, line: &Line) {
        self.lines += 1;
        if self.lines < self.first || self.is_full && self.end.is_none() {
            return;
        }
        let content = valid_head(line);
        let text = String::from_utf8_lossy(content);
        let shown = visible(&text);
        let row = row(self.lines, &shown, line, false);
        self.is_full |= self.shown > 0 && self.text.len() + 1 + row.len() > self.max_bytes;
        if self.is_full {
            if let Some(end) = &mut self.end {
                let head = &shown[..shown.floor_char_boundary(MAX_END_LINE_BYTES)];
                end.push_back(self::row(self.lines, head, line, head.len() < shown.len()));
                end.drain(..end.len().saturating_sub(END_LINES));
            }
            return;
        }
        if self.shown > 0 {
            self.text.push('\n');
        }
        self.text.push_str(&row);
        self.seen.invalid |= matches!(text, Cow::Owned(_));
        self.seen.control |= matches!(shown, Cow::Owned(_));
        self.seen.feeds |= line.end == End::Feed;
        self.seen.returns |= line.end == End::ReturnAndFeed;
        if line.bytes <= line.head.len() as u64 {
            match self.in_full.last_mut() {
                Some((_, last)) if *last + 1 == self.lines => *last = self.lines,
                _ => self.in_full.push((self.lines, self.lines)),
            }
        }
        self.shown += 1;
        self.is_full = self.shown == self.limit;
    }

    /// The first line that was asked for.
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// The last line that is shown.
    pub(super) fn last(&self) -> u64 {
        self.first.saturating_add(self.shown).saturating_sub(1)
    }

    /// The lines that are shown in full, each run from its first line to its last.
    pub(super) fn in_full(&self) -> Vec<(u64, u64)> {
        self.in_full.clone()
    }

    /// The lines of the file, as far as they were counted.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// What differs between the file and what is shown of it.
    pub(super) fn notes(&self) -> Vec<String> {
        let notes = [
            (self.seen.returns && !self.seen.feeds, "[CRLF line ends]"),
            (
                self.seen.returns && self.seen.feeds,
                "[CRLF line ends and others]",
            ),
            (
                self.seen.invalid,
                "[not all is UTF-8; what is not is shown as \u{fffd}]",
            ),
            (
                self.seen.control,
                "[control characters are shown as \\u{..}]",
            ),
        ];
        let told = notes.into_iter().filter(|(holds, _)| *holds);
        told.map(|(_, note)| note.to_owned()).collect()
    }

    /// The lines that are shown, and the last ones of the text if they are not among them.
    pub(super) fn into_text(self) -> (String, Vec<String>) {
        (self.text, self.end.unwrap_or_default().into())
    }
}

/// What was kept of a line, without the half of a character at which it was cut.
fn valid_head(line: &Line) -> &[u8] {
    let head = line.head.as_slice();
    if line.bytes <= head.len() as u64 {
        return head;
    }
    match std::str::from_utf8(head) {
        Err(error) if error.error_len().is_none() => &head[..error.valid_up_to()],
        Ok(_) | Err(_) => head,
    }
}

fn row(number: u64, text: &str, line: &Line, is_cut: bool) -> String {
    let mut row = format!("{number:>6}\t{text}");
    if is_cut || line.bytes > line.head.len() as u64 {
        // Writing to a string cannot fail.
        let _infallible = write!(row, " [line cut, it has {} bytes]", line.bytes);
    }
    row
}
