//! What the journal in memory alone must do: to hold no more than is in use.

use samovar_core::event::Kind;
use samovar_core::{Journal, Millis, Seq};
use samovar_stores::memory::{MemoryJournal, MemoryUse};

use super::{Log, finished, turn_finished, turn_started};

const LATER: Millis = Millis(i64::MAX);

#[tokio::test]
async fn thousands_of_turns_take_no_more_memory_than_a_few() {
    let journal = MemoryJournal::new();
    let log = Log::begin(&journal, "s").await;
    log.finish(4).await;
    let mut most = MemoryUse::default();
    for turn in 0..5_000 {
        let first = 5 + turn * 4;
        let begun = [
            log.fact(first, finished("again")),
            log.fact(first + 1, turn_started()),
        ];
        log.commit(&begun, &[], Some(first)).await;
        let end = [log.fact(first + 3, turn_finished())];
        log.commit(&end, &log.deltas([first + 2]), None).await;
        if turn % 10 == 9 {
            let then = begun[0].at.0 - 200;
            journal.projected(vec![(log.no, Seq(first + 3))]);
            journal.sweep(Millis(then)).await.unwrap();
        }
        let held = journal.held();
        most.events = most.events.max(held.events);
        most.bytes = most.bytes.max(held.bytes);
        most.due = most.due.max(held.due);
        assert_eq!(held.logs, 1);
    }
    assert!(most.events <= 100, "{most:?}");
    assert!(most.bytes <= 100 * 2048, "{most:?}");
    assert!(most.due <= 40, "{most:?}");
}

#[tokio::test]
async fn nothing_is_held_of_what_is_swept_deleted_discarded_or_closed() {
    for end in ["swept", "deleted", "discarded", "closed"] {
        let journal = MemoryJournal::new();
        let log = Log::begin(&journal, "s").await;
        let is_deleted = end == "deleted";
        let last = if is_deleted {
            Kind::SessionClosed
        } else {
            turn_finished()
        };
        log.commit(&[log.fact(4, last)], &[], None).await;
        assert_eq!(journal.held().events, if is_deleted { 1 } else { 4 });
        journal.projected(vec![(log.no, Seq(4))]);
        match end {
            "swept" => journal.sweep(LATER).await.unwrap(),
            "discarded" => journal.discard(&log.session).await.unwrap(),
            "closed" => journal.close().await.unwrap(),
            _ => {}
        }
        assert_eq!(journal.held(), MemoryUse::default(), "{end}");
    }
}
