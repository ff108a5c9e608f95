//! Starts: what is believed of the spool, what is a hole, and what a start does not read.

use std::fs;
use std::sync::Arc;

use samovar_core::{Epoch, Event, Journal, Seq, SessionId, TurnId};
use samovar_stores::journal::{Hole, LmdbJournal};
use tempfile::TempDir;

use super::{
    Data, LogItem, SMALL, all, delta, finished, lost, seqs, told, turn_finished, turn_started,
};

/// Deletes the segments but for those at these places.
fn keep_segments(dir: &TempDir, kept: &[usize]) {
    for (at, path) in super::files(&dir.path().join("spool")).iter().enumerate() {
        if !kept.contains(&at) {
            fs::remove_file(path).unwrap();
        }
    }
}

/// A log with the durable 1 to 5, 21 and 31, and between and behind them live ones: 6 to 10, 11 to
/// 20, 22 to 30 and 32 to 40, each in a segment of its own.
async fn mixed(data: &Data) -> super::Log<'_> {
    let log = data.session("s").await;
    let facts = [log.fact(4, finished("a")), log.fact(5, finished("b"))];
    log.commit(&facts, &[], Some(2)).await;
    let text = "x".repeat(700);
    for run in [6..=10, 11..=20, 22..=30, 32..=40] {
        let events: Vec<_> = run
            .map(|seq| log.fact(seq, delta("answer", &text)))
            .collect();
        log.spool(&events);
    }
    let facts = [log.fact(21, finished("c")), log.fact(31, finished("d"))];
    log.commit(&facts, &[], Some(2)).await;
    assert_eq!(data.segments().len(), 4);
    log
}

// proves DU-18
#[tokio::test]
async fn live_events_go_on_gaplessly_between_durable_ones() {
    let data = Data::new();
    let log = mixed(&data).await;
    let reborn = data.reborn();
    assert_eq!(seqs(&reborn.journal, log.no), (1..=40).collect::<Vec<_>>());
    assert_eq!(reborn.recovered.holes, []);
    let entry = reborn.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.head, entry.unprojected), (Seq(40), true));
}

// proves DU-18
#[tokio::test]
async fn behind_the_first_hole_no_live_event_is_believed_and_durable_ones_stay() {
    let data = Data::new();
    let log = mixed(&data).await;
    let expected = |missing| {
        let hole = Hole {
            session: log.session.clone(),
            log: log.no,
            missing: Seq(missing),
        };
        vec![hole]
    };
    let cases: [(&[usize], u64); 3] = [(&[0, 2, 3], 11), (&[1, 2, 3], 6), (&[], 6)];
    let seen = all(&data.reborn().journal, log.no);
    for (segments, missing) in cases {
        let killed = data.killed();
        keep_segments(&killed, segments);
        let reborn = Data::open(killed);
        let left = all(&reborn.journal, log.no);
        assert_eq!(told(&left), told_of(missing), "{segments:?}");
        let kept = left.iter().filter(|event| lost(event).is_none());
        for event in kept {
            assert_eq!(
                event,
                &seen[place_of(event)],
                "what is kept is as it was seen"
            );
        }
        let holes = left.iter().filter(|event| lost(event).is_some());
        for event in holes {
            assert_eq!(event.epoch, reborn.journal.epoch(), "no id is given twice");
            assert_eq!(
                event.turn,
                Some(super::turn()),
                "its turn was the only one on"
            );
        }
        assert_eq!(reborn.recovered.holes, expected(missing));
        let entry = reborn.journal.entry(&log.session).unwrap().unwrap();
        assert_eq!(entry.head, Seq(31));
    }
}

fn place_of(event: &Event) -> usize {
    usize::try_from(event.seq.0 - 1).unwrap()
}

/// What stands in a log that lost all live events from a position on.
fn told_of(missing: u64) -> Vec<LogItem> {
    let mut all: Vec<LogItem> = (1..missing).map(LogItem::Event).collect();
    for (first, last) in [(missing, 20), (22, 30)] {
        all.extend([LogItem::Lost(first, last), LogItem::Event(last + 1)]);
    }
    all
}

// proves DU-18
#[tokio::test]
async fn the_turn_of_a_hole_is_told_only_when_one_turn_was_on() {
    let data = Data::new();
    let log = data.session("s").await;
    let of = |turn: &str, event: &Arc<Event>| {
        let turn = Some(TurnId::new(turn).unwrap());
        Arc::new(Event {
            turn,
            ..Event::clone(event)
        })
    };
    let other = of("other", &log.fact(4, turn_started()));
    log.commit(&[other], &[], Some(2)).await;
    let over = of("other", &log.fact(6, turn_finished()));
    log.commit(&[over], &[], Some(2)).await;
    log.commit(&[log.fact(8, finished("m"))], &[], Some(2))
        .await;

    let reborn = data.reborn();
    let turns = all(&reborn.journal, log.no);
    let turns = turns.iter().filter(|event| lost(event).is_some());
    let turns: Vec<_> = turns.map(|event| event.turn.clone()).collect();
    assert_eq!(turns, [None, Some(super::turn())]);
}

// proves DU-18
#[tokio::test]
async fn a_hole_is_told_once_and_what_comes_after_it_is_believed_again() {
    let data = Data::new();
    let no = mixed(&data).await.no;
    let killed = data.killed();
    keep_segments(&killed, &[]);
    let second = Data::open(killed);
    assert_eq!(second.recovered.holes.len(), 1);
    let epoch = second.journal.epoch();
    let live = super::fact(epoch, 32, delta("answer", "again"));
    second.journal.spool(no, &[live]).unwrap();

    let third = second.reborn();
    assert_eq!(third.recovered.holes, []);
    assert_eq!(
        seqs(&third.journal, no),
        [1, 2, 3, 4, 5, 20, 21, 30, 31, 32]
    );
    // A reader in the middle of the hole hears of it, and continues after it.
    let behind = third.journal.read(no, Seq(9), 1).unwrap();
    let behind = behind.first().map(|event| (lost(event), event.seq));
    assert_eq!(behind, Some((Some(6), Seq(20))));
    let behind = third.journal.read(no, Seq(20), 1).unwrap();
    assert_eq!(behind.first().map(|event| event.seq), Some(Seq(21)));
}

// proves DU-18
#[tokio::test]
async fn live_events_behind_a_durable_one_that_was_never_kept_are_dropped() {
    let data = Data::new();
    let log = data.session("s").await;
    log.spool(&log.deltas(4..=6));
    log.spool(&log.deltas(8..=9));
    let reborn = data.reborn();
    assert_eq!(seqs(&reborn.journal, log.no), [1, 2, 3, 4, 5, 6]);
    assert_eq!(reborn.recovered.holes, [], "nobody has seen what is behind");
}

// proves DU-18
#[tokio::test]
async fn of_two_live_events_at_one_position_the_later_is_believed() {
    let data = Data::new();
    let log = data.session("s").await;
    for text in ["behind a commit that failed", "given again"] {
        log.spool(&[log.fact(4, delta("answer", text))]);
    }
    let reborn = data.reborn();
    let kept = all(&reborn.journal, log.no);
    assert_eq!(kept.len(), 4);
    assert_eq!(kept[3].kind, delta("answer", "given again"));
}

// proves DU-18
#[tokio::test]
async fn a_start_that_died_before_it_emptied_the_spool_is_repeated_without_a_trace() {
    let data = Data::new();
    let log = data.session("s").await;
    log.spool(&log.deltas(4..=6));
    log.spool(&log.deltas(8..=9));
    let killed = data.killed();
    let second = Data::open(killed);
    let before = all(&second.journal, log.no);
    // The durable event that was missing in front of 8 is another one now.
    let epoch = second.journal.epoch();
    let batch = log.batch(&[super::fact(epoch, 7, finished("m"))], &[], Some(2));
    second.journal.commit(batch).await.unwrap();

    let again = second.killed();
    let segment = &data.segments()[0];
    let name = segment.file_name().unwrap();
    fs::copy(segment, again.path().join("spool").join(name)).unwrap();
    let third = Data::open(again);
    assert_eq!(third.recovered.folded, 0);
    assert_eq!(seqs(&third.journal, log.no), [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(all(&third.journal, log.no)[..6], before);
}

// proves DU-18
#[tokio::test]
async fn a_start_reads_no_row_of_a_finished_turn() {
    async fn rows_read(finished_turns: u64) -> (u64, u64) {
        let data = Data::new();
        for turn in 0..finished_turns {
            let log = data.session(&format!("done {turn}")).await;
            log.spool(&log.deltas(4..=8));
            log.commit(
                &[log.fact(9, finished("answer"))],
                &log.deltas(4..=8),
                Some(2),
            )
            .await;
            log.finish(10).await;
        }
        // The open turn's own session has finished turns too.
        let open = data.session("open").await;
        for turn in 0..finished_turns {
            open.commit(&[open.fact(4 + turn, finished("old"))], &[], None)
                .await;
        }
        let start = 4 + finished_turns;
        open.commit(&[open.fact(start, turn_started())], &[], Some(start))
            .await;
        open.spool(&open.deltas([start + 1, start + 2]));
        let reborn = data.reborn();
        (reborn.recovered.rows_read, reborn.recovered.folded)
    }
    assert_eq!(rows_read(0).await, (1, 2));
    assert_eq!(rows_read(40).await, (1, 2));
}

// proves DU-1
#[tokio::test]
async fn an_epoch_is_behind_the_last_one_and_not_before_the_clock() {
    let dir = TempDir::new().unwrap();
    let mut epochs = Vec::new();
    for now_seconds in [1000, 1000, 500, 5000, 4999] {
        let (journal, _) = LmdbJournal::open_with(dir.path(), now_seconds, &SMALL).unwrap();
        epochs.push(journal.epoch());
        journal.close().await.unwrap();
    }
    assert_eq!(epochs, [1000, 1001, 1002, 5000, 5001].map(Epoch));
}

#[tokio::test]
async fn a_journal_is_opened_once_at_a_time() {
    let data = Data::new();
    assert!(LmdbJournal::open_with(data.dir.path(), 1000, &SMALL).is_err());
    let session = SessionId::new("s").unwrap();
    assert_eq!(data.journal.entry(&session).unwrap(), None);
    let data = data.reopened().await;
    assert_eq!(data.journal.entry(&session).unwrap(), None);
}

// proves DU-16
#[tokio::test]
async fn what_a_turn_needs_to_go_on_is_found_by_its_open_position_alone() {
    let data = Data::new();
    let log = data.session("s").await;
    log.finish(4).await;
    log.commit(&[log.fact(5, turn_started())], &[], Some(5))
        .await;
    let done = data.session("done").await;
    done.finish(4).await;
    data.journal.projected(vec![(done.no, Seq(4))]);
    log.commit(&[log.fact(6, finished("m"))], &[], Some(5))
        .await;

    let reborn = data.reborn();
    let unsettled = reborn.journal.unsettled().unwrap();
    assert_eq!(unsettled.len(), 1, "{unsettled:?}");
    let (session, entry) = &unsettled[0];
    assert_eq!((session, entry.open_from), (&log.session, Some(Seq(5))));
    let turn = reborn.journal.read(entry.log, Seq(4), usize::MAX).unwrap();
    assert_eq!(
        turn.iter().map(|event| event.seq.0).collect::<Vec<_>>(),
        [5, 6]
    );

    let batch = log.batch(
        &[super::fact(reborn.journal.epoch(), 7, turn_finished())],
        &[],
        None,
    );
    reborn.journal.commit(batch).await.unwrap();
    reborn.journal.projected(vec![(log.no, Seq(7))]);
    let reborn = reborn.reopened().await;
    assert_eq!(reborn.journal.unsettled().unwrap(), []);
}
