//! What a file of rows ends with after a crash, and what is cut off there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::row::Row;

/// Bytes at the end of a file in which a row must be found.
const MAX_TAIL_BYTES: u64 = 4 << 20;
/// Bytes that are read first: usually they have the last row.
const FIRST_BYTES: u64 = 64 << 10;

/// What was found at the end of a file.
pub(crate) struct LogTail {
    /// Bytes up to the end of its last whole row.
    pub(crate) len: u64,
    pub(crate) last: Option<Row>,
    /// Bytes behind that, which were cut off.
    pub(crate) torn: u64,
}

/// Finds the last whole row, and cuts off what stands behind it: what a crash has torn, or a power cut
/// has left of it.
///
/// # Errors
/// What the system said; or there is no row in the last 4 MiB of the file, which is then left as it is.
pub(super) fn recover(file: &File) -> io::Result<LogTail> {
    let size = file.metadata()?.len();
    let mut tail = FIRST_BYTES;
    let (len, last) = loop {
        let begin = size.saturating_sub(tail);
        let mut bytes = vec![0; usize::try_from(size - begin).unwrap_or(usize::MAX)];
        file.read_exact_at(&mut bytes, begin)?;
        match last_row(&bytes, begin == 0) {
            Some((end, row)) => break (begin + end as u64, Some(row)),
            None if begin == 0 => break (0, None),
            None if tail >= MAX_TAIL_BYTES => {
                let why = format!("its last {MAX_TAIL_BYTES} bytes have no row that can be read");
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            None => tail = MAX_TAIL_BYTES,
        }
    };
    if len < size {
        file.set_len(len)?;
    }
    Ok(LogTail {
        len,
        last,
        torn: size - len,
    })
}

/// The last whole row in the end of a file, and where it ends. The first line there is whole only when
/// the file begins with it.
fn last_row(bytes: &[u8], is_all: bool) -> Option<(usize, Row)> {
    let mut end = bytes.len();
    while let Some(newline) = bytes[..end].iter().rposition(|byte| *byte == b'\n') {
        let begin = bytes[..newline].iter().rposition(|byte| *byte == b'\n');
        if begin.is_none() && !is_all {
            return None;
        }
        let begin = begin.map_or(0, |before| before + 1);
        if let Ok(row) = serde_json::from_slice(&bytes[begin..newline]) {
            return Some((newline + 1, row));
        }
        end = newline;
    }
    None
}
