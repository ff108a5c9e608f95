//! What a power cut does to the spool, done with nobody holding it: emptied, cut short, pages of
//! zeros. What was kept durably stays, and a reader from the start meets what it saw before, or the
//! word that it is lost.

use std::fs;
use std::path::Path;

use samovar_core::journal::LogNo;
use samovar_core::{Event, Seq};
use tempfile::TempDir;

use super::{Data, LogItem, all, finished, lost, told};

/// Smaller than a frame, so that every part of one is hit.
const PAGE: usize = 128;

/// The positions that a commit kept.
const DURABLE: [u64; 5] = [1, 2, 3, 5, 7];

/// A log with live events around two durable ones, in one segment; and what readers saw of it.
async fn shown(data: &Data) -> (LogNo, Vec<Event>) {
    let log = data.session("s").await;
    log.spool(&log.deltas(4..=4));
    log.commit(&[log.fact(5, finished("a"))], &[], Some(2))
        .await;
    log.spool(&log.deltas(6..=6));
    log.commit(&[log.fact(7, finished("b"))], &[], Some(2))
        .await;
    log.spool(&log.deltas(8..=9));
    let seen = all(&data.reborn().journal, log.no);
    assert_eq!(seen.len(), 9);
    (log.no, seen)
}

/// Starts on a killed server's directory, whose spool is this, and looks at all that a reader meets.
fn start(killed: TempDir, spool: &[u8], log: LogNo, seen: &[Event]) -> Vec<LogItem> {
    fs::write(segment(killed.path()), spool).unwrap();
    let reborn = Data::open(killed);
    let left = all(&reborn.journal, log);
    let met = told(&left);
    for event in &left {
        let before = seen.iter().find(|seen| seen.id() == event.id());
        match lost(event) {
            None => assert_eq!(before, Some(event), "the content of an id changed"),
            Some(_) => assert_eq!(before, None, "a hole has an id that was seen"),
        }
    }
    for seq in DURABLE {
        assert!(met.contains(&LogItem::Event(seq)), "{seq} is lost: {met:?}");
    }
    let live = |event: &&Event| lost(event).is_none() && !DURABLE.contains(&event.seq.0);
    let kept = left.iter().filter(live).count();
    assert_eq!(reborn.recovered.folded, kept as u64);
    let head = met.last().map(|last| match last {
        LogItem::Event(seq) | LogItem::Lost(_, seq) => Seq(*seq),
    });
    let entry = samovar_core::Journal::unsettled(&reborn.journal).unwrap();
    assert_eq!(entry[0].1.head, head.unwrap(), "numbers go on behind it");
    met
}

fn segment(dir: &Path) -> std::path::PathBuf {
    dir.join("spool/0000000000000001.spool")
}

// proves DU-18
#[tokio::test]
async fn a_spool_that_is_emptied_leaves_what_was_durable_and_says_what_is_lost() {
    let data = Data::new();
    let (log, seen) = shown(&data).await;
    let met = start(data.killed(), &[], log, &seen);
    let durable = |seqs: &[u64]| seqs.iter().copied().map(LogItem::Event).collect::<Vec<_>>();
    let mut expected = durable(&[1, 2, 3]);
    expected.extend([LogItem::Lost(4, 4), LogItem::Event(5)]);
    expected.extend([LogItem::Lost(6, 6), LogItem::Event(7)]);
    assert_eq!(met, expected);
}

// proves DU-18
#[tokio::test]
async fn a_spool_that_is_cut_short_at_any_byte_leaves_a_run_that_readers_saw() {
    let data = Data::new();
    let (log, seen) = shown(&data).await;
    let whole = fs::read(segment(data.dir.path())).unwrap();
    let mut last = 0;
    for length in 0..=whole.len() {
        let met = start(data.killed(), &whole[..length], log, &seen);
        let kept = met.iter().filter(|told| matches!(told, LogItem::Event(_)));
        let kept = kept.count();
        assert!(kept >= last, "a longer spool keeps no less");
        last = kept;
    }
    assert_eq!(last, 9, "the whole spool keeps everything");
}

// proves DU-18
#[tokio::test]
async fn pages_of_zeros_in_a_spool_lose_what_is_in_and_behind_them_and_nothing_else() {
    let data = Data::new();
    let (log, seen) = shown(&data).await;
    let whole = fs::read(segment(data.dir.path())).unwrap();
    for page in 0..whole.len().div_ceil(PAGE) {
        let mut spool = whole.clone();
        let end = whole.len().min((page + 1) * PAGE);
        spool[page * PAGE..end].fill(0);
        let met = start(data.killed(), &spool, log, &seen);
        let cut = start(data.killed(), &whole[..page * PAGE], log, &seen);
        assert_eq!(met, cut, "page {page}");
    }
}
