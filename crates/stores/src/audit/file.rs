//! Reading the file of the chain: lines from its end, and the line of a number.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;

use super::chain::{self, MAX_LINE_BYTES, Sealed};

/// Bytes that are read at once from the end.
const STRETCH: u64 = 64 * 1024;

/// A file of lines up to a length; what comes after is not looked at.
#[derive(Clone, Copy)]
pub(super) struct Lines<'a> {
    pub(super) file: &'a File,
    pub(super) bytes: u64,
}

impl Lines<'_> {
    /// Everything from a byte on.
    pub(super) fn from(self, start: u64) -> impl BufRead {
        let bytes = self.bytes.saturating_sub(start);
        let at = At {
            file: self.file,
            at: start,
        };
        BufReader::with_capacity(64 * 1024, at.take(bytes))
    }

    /// Calls `each` with the whole lines, without their ends, from the last to the first, until it
    /// returns false.
    pub(super) fn backward(self, mut each: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
        // The beginning of what was read, which may lack the beginning of its line.
        let (mut end, mut rest) = (self.bytes, Vec::new());
        let mut is_ended = false;
        while end > 0 {
            let start = end.saturating_sub(STRETCH);
            let mut stretch = vec![0; usize::try_from(end - start).unwrap_or_default()];
            self.file.read_exact_at(&mut stretch, start)?;
            stretch.append(&mut rest);
            let mut lines = stretch.rsplitn(usize::MAX, |byte| *byte == b'\n');
            if !is_ended {
                // What stands after the last end is no line.
                lines.next();
                is_ended = stretch.contains(&b'\n');
            }
            let mut lines = lines.peekable();
            let mut first = &[][..];
            while let Some(line) = lines.next() {
                if lines.peek().is_none() && start > 0 {
                    first = line;
                } else if !each(line) {
                    return Ok(());
                }
            }
            if first.len() > MAX_LINE_BYTES {
                // No line that this program wrote is that long: it cannot be read.
                if !each(first) {
                    return Ok(());
                }
                first = &[];
            }
            rest = first.to_vec();
            end = start;
        }
        Ok(())
    }

    /// Bytes up to the end of the last whole line.
    pub(super) fn whole_bytes(self) -> io::Result<u64> {
        let mut end = self.bytes;
        while end > 0 {
            let start = end.saturating_sub(STRETCH);
            let mut stretch = vec![0; usize::try_from(end - start).unwrap_or_default()];
            self.file.read_exact_at(&mut stretch, start)?;
            if let Some(at) = stretch.iter().rposition(|byte| *byte == b'\n') {
                return Ok(start + at as u64 + 1);
            }
            end = start;
        }
        Ok(0)
    }

    /// Where the first line with a number above `number` begins, if nothing is wrong before it: a
    /// search by halves, which reads a line for each.
    pub(super) fn after(self, number: u64) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.bytes);
        while low < high {
            let middle = low + (high - low) / 2;
            let Some((start, end, sealed)) = self.next_line(middle)? else {
                high = middle;
                continue;
            };
            if sealed.is_none_or(|sealed| sealed.record.n > number) {
                // That line, or one before it.
                if middle == low || start >= high {
                    return self.walk(low, number);
                }
                high = middle;
            } else {
                low = end;
            }
        }
        Ok(low)
    }

    /// The first line from `start` on whose number is above `number`.
    fn walk(self, start: u64, number: u64) -> io::Result<u64> {
        let (mut at, mut lines, mut line) = (start, self.from(start), Vec::new());
        loop {
            line.clear();
            let bytes = lines.read_until(b'\n', &mut line)?;
            line.pop_if(|byte| *byte == b'\n');
            let is_before = chain::read(&line).is_some_and(|(one, _)| one.record.n <= number);
            if bytes == 0 || !is_before {
                return Ok(at);
            }
            at += bytes as u64;
        }
    }

    /// The first line that begins at a byte or after it: its beginning, its end, and its record.
    fn next_line(self, from: u64) -> io::Result<Option<(u64, u64, Option<Sealed>)>> {
        let (mut at, mut line) = (from, Vec::new());
        let mut lines = self.from(from);
        let is_beginning = from == 0 || {
            let mut before = [0];
            self.file.read_exact_at(&mut before, from - 1)?;
            before == *b"\n"
        };
        if !is_beginning {
            at += lines.read_until(b'\n', &mut line)? as u64;
            line.clear();
        }
        let bytes = lines.read_until(b'\n', &mut line)?;
        line.pop_if(|byte| *byte == b'\n');
        let sealed = chain::read(&line).map(|(sealed, _)| sealed);
        Ok((bytes > 0).then_some((at, at + bytes as u64, sealed)))
    }
}

/// A file from a position on, whatever its cursor is.
struct At<'a> {
    file: &'a File,
    at: u64,
}

impl Read for At<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(to, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
