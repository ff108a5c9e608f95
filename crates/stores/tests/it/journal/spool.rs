//! Live events: one write on the caller's thread, segments that go, and what is left of torn ones.

use std::fs;

use samovar_core::event::Kind;
use samovar_core::journal::LogNo;
use samovar_core::{Event, Journal, Part, Role, Seq};
use samovar_stores::journal::LmdbJournal;
use tempfile::TempDir;

use super::{
    Data, SMALL, all, delta, finished, message, seqs, step_reset, turn_finished, turn_started,
};

/// How often this thread has called `write(2)`.
fn writes_of_this_thread() -> u64 {
    let io = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("syscw: "));
    line.unwrap().parse().unwrap()
}

// proves DU-3, PF-2
#[tokio::test]
async fn what_one_read_brings_is_kept_with_one_write_on_the_callers_thread() {
    let data = Data::new();
    let log = data.session("s").await;
    // The first call also makes the segment.
    log.spool(&log.deltas([4]));
    let calls = [
        log.deltas([5]),
        log.deltas(6..9),
        log.deltas(9..13),
        Vec::new(),
    ];

    let before = writes_of_this_thread();
    for events in &calls {
        data.journal.spool(log.no, events).unwrap();
    }
    assert_eq!(writes_of_this_thread() - before, 3);
    assert_eq!(data.segments().len(), 1);
    let durable = log.fact(13, finished("m"));
    assert!(data.journal.spool(log.no, &[durable]).is_err());
    assert_eq!(
        seqs(&data.reborn().journal, log.no),
        (1..13).collect::<Vec<_>>()
    );
}

// proves DU-3, DU-18
#[tokio::test]
async fn live_events_come_back_after_a_kill_as_they_were() {
    let data = Data::new();
    let log = data.session("s").await;
    let role = Role::Assistant;
    let events = [
        log.fact(
            4,
            Kind::MessageStarted {
                message: message("answer"),
                role,
            },
        ),
        log.delta(5),
        log.fact(6, delta("other", "from a child")),
        log.fact(
            7,
            Kind::PartAdded {
                message: message("answer"),
                index: 1,
                part: Part::text("whole \u{1F375}"),
            },
        ),
    ];
    for event in &events {
        log.spool(std::slice::from_ref(event));
    }

    let reborn = data.reborn();
    let kept = all(&reborn.journal, log.no);
    assert_eq!(kept.len(), 7);
    assert!(kept[3..].iter().eq(events.iter().map(AsRef::as_ref)));
    assert_eq!(reborn.recovered.folded, 4);
    assert_eq!(
        reborn.segments().len(),
        0,
        "the spool is empty once it is folded"
    );
}

/// Spools until the session has bytes in so many segments.
fn fill(data: &Data, log: &super::Log<'_>, of: &str, from: u64, segments: usize) -> u64 {
    let mut seq = from;
    while data.segments().len() < segments {
        log.spool(&[log.fact(seq, delta(of, &"x".repeat(300)))]);
        seq += 1;
    }
    seq
}

// proves DU-3
#[tokio::test]
async fn a_segment_is_deleted_once_no_open_message_has_bytes_in_it() {
    let data = Data::new();
    let (log, other) = (data.session("s").await, data.session("other").await);
    other.spool(&[other.fact(4, delta("slow", "first"))]);
    let next = fill(&data, &log, "answer", 4, 3);
    let folded: Vec<_> = (4..next)
        .map(|seq| log.fact(seq, delta("answer", &"x".repeat(300))))
        .collect();

    // Folding early lets go of the second, in two commits; the first has a slow message as well.
    log.commit(&[], &folded[..4], Some(2)).await;
    log.commit(&[], &[], Some(2)).await;
    assert_eq!(data.segments().len(), 3);
    log.commit(&[], &folded[4..], Some(2)).await;
    log.commit(&[], &[], Some(2)).await;
    assert_eq!(data.segments().len(), 2, "{:?}", data.segments());

    // The last is being written, so it stays.
    other
        .commit(&[other.fact(5, finished("slow"))], &[], Some(2))
        .await;
    other.commit(&[], &[], Some(2)).await;
    assert_eq!(data.segments().len(), 1, "{:?}", data.segments());
    assert_eq!(seqs(&data.journal, log.no), (1..next).collect::<Vec<_>>());
}

// proves DU-3
#[tokio::test]
async fn what_ends_or_voids_a_message_lets_its_segments_go() {
    let ends = [
        finished("answer"),
        step_reset(),
        turn_finished(),
        Kind::SessionClosed,
    ];
    for end in ends {
        let data = Data::new();
        let log = data.session("s").await;
        let next = fill(&data, &log, "answer", 4, 4);
        log.commit(&[log.fact(next, end.clone())], &[], None).await;
        log.commit(&[], &[], None).await;
        assert_eq!(data.segments().len(), 1, "{end:?}");
    }

    let data = Data::new();
    let log = data.session("s").await;
    let next = fill(&data, &log, "answer", 4, 4);
    log.commit(&[log.fact(next, turn_started())], &[], Some(2))
        .await;
    log.commit(&[log.fact(next + 1, finished("another"))], &[], Some(2))
        .await;
    log.commit(&[], &[], Some(2)).await;
    assert_eq!(data.segments().len(), 4, "the message is still open");
}

// proves DU-3
#[tokio::test]
async fn a_commit_that_fails_lets_nothing_go() {
    let data = Data::new();
    let (log, other) = (data.session("s").await, data.session("other").await);
    let next = fill(&data, &log, "answer", 4, 3);
    // Alone, and in a group with one that is kept.
    let failing = || {
        let taken = log.fact(3, turn_started());
        log.batch(&[taken, log.fact(next, finished("answer"))], &[], Some(2))
    };
    assert!(data.journal.commit(failing()).await.is_err());
    let group = (4..40)
        .map(|seq| match seq {
            20 => failing(),
            seq => other.batch(&[other.fact(seq, finished("m"))], &[], Some(2)),
        })
        .map(|batch| data.journal.commit(batch));
    let kept = futures_util::future::join_all(group).await;
    assert_eq!(kept.iter().filter(|kept| kept.is_err()).count(), 1);
    log.commit(&[], &[], Some(2)).await;
    assert_eq!(data.segments().len(), 3);
}

/// A spool of one segment with these positions, killed; with its bytes.
async fn spooled(last: u64) -> (TempDir, LogNo, Vec<u8>) {
    let data = Data::new();
    let log = data.session("s").await;
    for seq in 4..=last {
        log.spool(&log.deltas([seq]));
    }
    let killed = data.killed();
    let segment = fs::read(&data.segments()[0]).unwrap();
    (killed, log.no, segment)
}

/// What a start believes when the only segment has these bytes.
fn believed_of(killed: &TempDir, log: LogNo, segment: &[u8]) -> Vec<Event> {
    // Some thousand starts: where there is a folder in memory, their fsyncs cost nothing.
    let copy = TempDir::new_in("/dev/shm")
        .or_else(|_| TempDir::new())
        .unwrap();
    for folder in ["journal", "spool"] {
        fs::create_dir(copy.path().join(folder)).unwrap();
    }
    let data = "journal/data.mdb";
    fs::copy(killed.path().join(data), copy.path().join(data)).unwrap();
    fs::write(copy.path().join("spool/0000000000000001.spool"), segment).unwrap();
    let (journal, recovered) = LmdbJournal::open_with(copy.path(), 1000, &SMALL).unwrap();
    assert_eq!(recovered.holes, []);
    let events = journal.read(log, Seq(3), usize::MAX).unwrap();
    assert_eq!(events.len() as u64, recovered.folded);
    events
}

// proves DU-3, DU-18
#[tokio::test]
async fn a_spool_that_was_cut_at_any_byte_gives_its_whole_frames_and_no_more() {
    let (killed, log, segment) = spooled(8).await;
    let whole = believed_of(&killed, log, &segment);
    assert_eq!(whole.len(), 5);

    let mut lengths = Vec::new();
    for cut in 0..segment.len() {
        let believed = believed_of(&killed, log, &segment[..cut]);
        assert_eq!(believed, whole[..believed.len()], "cut at {cut}");
        lengths.push(believed.len());
    }
    assert!(lengths.is_sorted());
    assert_eq!((lengths[0], lengths[lengths.len() - 1]), (0, 4));
}

// proves DU-3, DU-13
#[tokio::test]
async fn a_spool_with_a_damaged_byte_is_believed_up_to_the_damaged_frame() {
    let (killed, log, segment) = spooled(6).await;
    let whole = believed_of(&killed, log, &segment);
    let frame = segment.len() / 3;
    for at in 0..segment.len() {
        let mut damaged = segment.clone();
        damaged[at] ^= 1 << (at % 8);
        let believed = believed_of(&killed, log, &damaged);
        assert_eq!(believed, whole[..at / frame], "damaged at {at}");
    }
    let mut zeros = segment.clone();
    zeros[frame..].fill(0);
    zeros.resize(segment.len() + 4096, 0);
    assert_eq!(believed_of(&killed, log, &zeros), whole[..1]);
}
