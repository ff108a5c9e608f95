//! The chain: how a record becomes a line, and what is wrong with lines. Pure.
//!
//! A line is the record as JSON with `hash` as its last field: SHA-256, in hex, of everything before
//! `,"hash":`. The record has the hash of the one before it. So the hash covers the bytes as they
//! are written, and a second spelling of the same JSON is another record.

use std::io::{self, BufRead, Read};

use samovar_core::audit::{Head, Record};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Bytes of a line, at most: a record is far shorter.
pub(super) const MAX_LINE_BYTES: usize = 16 * 1024;

/// Problems that are named, at most; further ones are counted.
pub const MAX_PROBLEMS: usize = 100;

/// What stands before a line's hash, and after it.
const BEFORE: &str = ",\"hash\":\"";
const AFTER: &str = "\"}";
const HEX_CHARS: usize = 64;

/// A record with its hash.
#[derive(Clone, Debug, PartialEq)]
pub struct Sealed {
    /// The record.
    pub record: Record,
    /// Its hash.
    pub hash: String,
}

/// What is wrong at a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The number of the record; of a line that cannot be read, the number that it should have.
    pub record: u64,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What can be wrong with a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The line is no record.
    Unreadable,
    /// The line's hash is not that of its bytes.
    Changed,
    /// Another number was due: records are missing, added or in another order.
    Number(u64),
    /// It does not continue the record before it.
    Link,
    /// Records at the end are missing, up to this one.
    Cut(u64),
    /// It is not the record that the head outside the file names.
    Head,
    /// No record has the hash that was asked for.
    Anchor,
}

impl ProblemKind {
    /// The word for programs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Changed => "changed",
            Self::Number(_) => "number",
            Self::Link => "link",
            Self::Cut(_) => "cut",
            Self::Head => "head",
            Self::Anchor => "anchor",
        }
    }
}

/// What a chain was found to be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Its last record.
    pub head: Head,
    /// How many records it has.
    pub records: u64,
    /// What is wrong, in order; at most [`MAX_PROBLEMS`].
    pub problems: Vec<Problem>,
    /// How many problems there are.
    pub problem_count: u64,
    /// Whether it ends in the middle of a line, as a power cut leaves it. The next start removes it.
    pub is_torn: bool,
}

impl Verdict {
    /// Whether it is whole.
    pub fn is_whole(&self) -> bool {
        self.problem_count == 0
    }

    fn add(&mut self, record: u64, kind: ProblemKind) {
        self.problem_count += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(Problem { record, kind });
        }
    }
}

/// The line of a record, with its end, and the record's hash.
///
/// # Errors
/// It cannot be written as JSON.
pub(super) fn line(record: &impl Serialize) -> serde_json::Result<(String, String)> {
    let mut line = serde_json::to_string(record)?;
    line.pop();
    let hash = hash(line.as_bytes());
    for part in [BEFORE, &hash, AFTER, "\n"] {
        line.push_str(part);
    }
    Ok((line, hash))
}

/// The record of a line without its end, and whether the hash is that of the bytes; `None` for a
/// line that is no record.
pub(super) fn read(line: &[u8]) -> Option<(Sealed, bool)> {
    let tail = BEFORE.len() + HEX_CHARS + AFTER.len();
    let (body, tail) = line.split_at_checked(line.len().checked_sub(tail)?)?;
    let tail = std::str::from_utf8(tail).ok()?;
    let hash = tail.strip_prefix(BEFORE)?.strip_suffix(AFTER)?;
    let mut text = std::str::from_utf8(body).ok()?.to_owned();
    text.push('}');
    let record = serde_json::from_str(&text).ok()?;
    let is_right = self::hash(body) == hash;
    let hash = hash.to_owned();
    Some((Sealed { record, hash }, is_right))
}

fn hash(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digest = Sha256::digest(bytes);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves
        .map(|half| char::from(DIGITS[usize::from(half)]))
        .collect()
}

/// Reads a chain from its beginning and holds it against what is known of it from elsewhere: the
/// `head` that the history stored, and the hash of a record that a person wrote down.
///
/// # Errors
/// The reader's.
pub fn verify(
    chain: impl BufRead,
    head: Option<&Head>,
    anchor: Option<&str>,
) -> io::Result<Verdict> {
    verify_after(&Head::default(), chain, head, anchor)
}

/// The same of the lines after a record.
fn verify_after(
    start: &Head,
    mut chain: impl BufRead,
    head: Option<&Head>,
    anchor: Option<&str>,
) -> io::Result<Verdict> {
    let mut verdict = Verdict {
        head: start.clone(),
        ..Verdict::default()
    };
    // What is due next; no hash after a line that cannot be read.
    let (mut number, mut prev) = (start.count.saturating_add(1), Some(start.hash.clone()));
    let zero = head.is_none_or(|head| head.count == 0);
    let (mut has_head, mut has_anchor) = (zero, anchor.is_none());
    let mut line = Vec::new();
    loop {
        line.clear();
        let bytes = (&mut chain)
            .take(MAX_LINE_BYTES as u64)
            .read_until(b'\n', &mut line)?;
        if bytes == 0 {
            break;
        }
        let is_ended = line.pop_if(|byte| *byte == b'\n').is_some();
        if !is_ended && bytes < MAX_LINE_BYTES {
            verdict.is_torn = true;
            break;
        }
        let Some((sealed, is_right)) = read(&line) else {
            verdict.add(number, ProblemKind::Unreadable);
            (number, prev) = (number.saturating_add(1), None);
            continue;
        };
        let Sealed { record, hash } = sealed;
        verdict.records += 1;
        // What a changed record says of its own number counts for nothing.
        let own = if is_right { record.n } else { number };
        if !is_right {
            verdict.add(own, ProblemKind::Changed);
        } else if own != number {
            verdict.add(own, ProblemKind::Number(number));
        } else if prev.is_some_and(|prev| prev != record.prev) {
            verdict.add(own, ProblemKind::Link);
        }
        has_head |= head.is_some_and(|head| head.count == own && head.hash == hash);
        has_anchor |= anchor == Some(hash.as_str());
        number = own.saturating_add(1);
        prev = Some(hash.clone());
        (verdict.head.count, verdict.head.hash) = (own, hash);
    }
    if let Some(head) = head.filter(|_| !has_head) {
        let last = verdict.head.count;
        if head.count > last {
            verdict.add(last.saturating_add(1), ProblemKind::Cut(head.count));
        } else {
            verdict.add(head.count, ProblemKind::Head);
        }
    }
    if !has_anchor {
        verdict.add(verdict.head.count, ProblemKind::Anchor);
    }
    Ok(verdict)
}

#[cfg(test)]
mod tests;
