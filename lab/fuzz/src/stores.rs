//! What the stores read back: rows, frames and lines that a disk may have changed.

use std::fmt::Write as _;
use std::io::BufReader;
use std::sync::Arc;

use samovar_core::Event;
use samovar_core::Seq;
use samovar_core::journal::LogNo;
use samovar_movie_host::MovieHost;
use samovar_relay::replay;
use samovar_stores::audit::{Verdict, verify};
use samovar_stores::codec;
use sha2::{Digest as _, Sha256};

use crate::pieces::place;

const LOG: LogNo = LogNo(1);

/// A row of the journal: its position in eight bytes, then what its checksum covers. Its events are
/// written to rows, and read from these the same.
pub(crate) fn journal_row(data: &[u8]) {
    let Some((seq, content)) = data.split_first_chunk() else {
        return;
    };
    let seq = Seq(u64::from_le_bytes(*seq));
    // As it came, with a checksum that is almost never right.
    assert!(codec::row_events(LOG, seq, &data[..data.len().min(3)]).is_err());
    let key = (u128::from(LOG.0) << 64 | u128::from(seq.0)).to_be_bytes();
    let crc = crc32fast::hash(&[&key, content].concat());
    let row = [&crc.to_le_bytes(), content].concat();
    let Ok(events) = codec::row_events(LOG, seq, &row) else {
        return;
    };
    let events: Vec<_> = events.into_iter().map(Arc::new).collect();
    let rows = codec::rows(LOG, &events).expect("what was read can be written");
    let mut again = Vec::new();
    for (seq, row) in &rows {
        let read = codec::row_events(LOG, *seq, row).expect("what was written can be read");
        again.extend(read.into_iter().map(Arc::new));
    }
    assert_eq!(again, events);
    assert_eq!(codec::rows(LOG, &again).ok(), Some(rows));
}

/// A segment of the spool: as it came, and as the content of a frame with the right checksum. The
/// short way to read an event finds what the long way finds, and a cut leaves the frames before it.
pub(crate) fn spool_frame(data: &[u8]) {
    codec::spooled(data);
    let event = serde_json::from_slice::<Event>(data).ok();
    let mut content = u32::try_from(data.len())
        .unwrap_or_default()
        .to_le_bytes()
        .to_vec();
    for number in [LOG.0, 1, 1] {
        content.extend(number.to_le_bytes());
    }
    content.extend(data);
    let segment = [&crc32fast::hash(&content).to_le_bytes(), content.as_slice()].concat();
    assert_eq!(codec::spooled(&segment), [(LOG, event.clone())]);

    let Some(event) = event else { return };
    let mut segment = Vec::new();
    codec::spool(&mut segment, LOG, &event).expect("what was read can be written");
    let first = segment.len();
    codec::spool(&mut segment, LOG, &event).expect("what was read can be written");
    let cut = place(&segment);
    let whole = cut / first;
    assert_eq!(
        codec::spooled(&segment[..cut]),
        vec![(LOG, Some(event)); whole]
    );
}

/// The chain of the audit: as it came, and made of lines with what stands in a record after its
/// link. A change of any byte of a whole chain is found by its head, and the reader's buffer makes no
/// difference.
pub(crate) fn audit_chain(data: &[u8]) {
    verdict(data);
    let mut chain = Vec::new();
    let mut prev = "0".repeat(64);
    for (before, fields) in data.split(|byte| *byte == b'\n').enumerate() {
        let head = format!("{{\"n\":{},\"prev\":\"{prev}\",", before + 1);
        let body = [head.as_bytes(), fields].concat();
        prev.clear();
        for byte in Sha256::digest(&body) {
            write!(prev, "{byte:02x}").expect("a string takes every byte");
        }
        chain.extend(body);
        chain.extend(format!(",\"hash\":\"{prev}\"}}\n").bytes());
    }
    let whole = verdict(&chain);
    if !whole.is_whole() {
        return;
    }
    let again = verify(chain.as_slice(), Some(&whole.head), Some(&whole.head.hash));
    assert!(again.is_ok_and(|again| again.is_whole()));
    let at = place(&chain).min(chain.len() - 1);
    chain[at] ^= 1;
    let changed = verify(chain.as_slice(), Some(&whole.head), None);
    let changed = changed.expect("memory can be read");
    assert!(!changed.is_whole(), "byte {at} was changed");
}

fn verdict(chain: &[u8]) -> Verdict {
    let verdict = verify(chain, None, None).expect("memory can be read");
    let slowly = verify(BufReader::with_capacity(1, chain), None, None);
    assert_eq!(slowly.ok().as_ref(), Some(&verdict));
    assert!(verdict.problems.len() as u64 <= verdict.problem_count);
    verdict
}

/// The log of a study: it is replayed against a host to its end or to its first difference, the same
/// each time.
pub(crate) fn study_log(data: &[u8]) {
    let play = || replay::replay(data, || Box::new(MovieHost::new()));
    let report = play().expect("memory can be read");
    assert_eq!(play().ok().as_ref(), Some(&report));
    let lines = data.split_inclusive(|byte| *byte == b'\n').count() as u64;
    assert!(report.rows <= lines);
    if let Some(difference) = &report.difference {
        assert!(difference.line <= lines + 1);
        assert!(!difference.sentence().is_empty());
    }
}
