//! What is removed, what stays, and what a deleted session leaves.

use samovar_core::event::Kind;
use samovar_core::{Journal, Millis, Seq};

use super::{Data, finished, opened, seqs, turn_started};

const LATER: Millis = Millis(i64::MAX);

// proves DU-1
#[tokio::test]
async fn what_the_history_may_lack_stays_until_it_is_projected_whole() {
    let data = Data::new();
    let log = data.session("s").await;
    log.finish(4).await;
    let session = log.session.clone();
    let no = log.no;
    for mark in [0, 3] {
        data.journal.projected(vec![(no, Seq(mark))]);
        data.journal.sweep(LATER).await.unwrap();
        assert_eq!(seqs(&data.journal, no), [1, 2, 3, 4]);
        assert!(data.journal.entry(&session).unwrap().unwrap().unprojected);
    }
    // A restart forgets no debt: it is the journal that knows.
    let data = data.reopened().await;
    assert!(data.journal.entry(&session).unwrap().unwrap().unprojected);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, no), [1, 2, 3, 4]);

    data.journal.projected(vec![(no, Seq(4)), (no, Seq(2))]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, no), [0; 0]);
    assert_eq!(data.journal.entry(&session).unwrap(), None);
}

// proves DU-1
#[tokio::test]
async fn a_mark_rides_on_the_next_commit_and_is_not_lost_with_one_that_fails() {
    let data = Data::new();
    let (log, other) = (data.session("s").await, data.session("other").await);
    log.finish(4).await;
    data.journal.projected(vec![(log.no, Seq(4))]);
    let commits = data.journal.commits();
    let taken = other.batch(&[other.fact(3, turn_started())], &[], Some(2));
    assert!(data.journal.commit(taken).await.is_err());
    assert!(
        data.journal
            .entry(&log.session)
            .unwrap()
            .unwrap()
            .unprojected
    );
    assert_eq!(data.journal.commits(), commits);

    other.finish(4).await;
    assert!(
        !data
            .journal
            .entry(&log.session)
            .unwrap()
            .unwrap()
            .unprojected
    );
    assert_eq!(data.journal.commits(), commits + 1);
    // What comes behind the mark is owed again.
    log.commit(&[log.fact(5, turn_started())], &[], Some(5))
        .await;
    assert!(
        data.journal
            .entry(&log.session)
            .unwrap()
            .unwrap()
            .unprojected
    );
}

// proves DU-1, DU-7
#[tokio::test]
async fn a_sweep_spares_unfinished_turns_and_what_finished_since() {
    let data = Data::new();
    let log = data.session("s").await;
    log.finish(4).await;
    log.commit(
        &[log.fact(5, turn_started()), log.fact(6, finished("m"))],
        &[],
        Some(5),
    )
    .await;
    log.finish(7).await;
    log.commit(&[log.fact(8, turn_started())], &[], Some(8))
        .await;
    data.journal.projected(vec![(log.no, Seq(8))]);

    // Event n is made at 1,000,000 + 10 n: the first turn finished before this, the second since.
    data.journal.sweep(Millis(1_000_041)).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [5, 6, 7, 8]);
    data.journal.sweep(Millis(1_000_070)).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [5, 6, 7, 8]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [8]);
    let entry = data.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.head, entry.open_from), (Seq(8), Some(Seq(8))));

    log.finish(9).await;
    data.journal.projected(vec![(log.no, Seq(9))]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(data.journal.entry(&log.session).unwrap(), None);
    // A log that is still in use begins again where it was.
    log.commit(&[log.fact(10, turn_started())], &[], Some(10))
        .await;
    assert_eq!(seqs(&data.journal, log.no), [10]);
    assert_eq!(
        data.journal.entry(&log.session).unwrap().unwrap().head,
        Seq(10)
    );
}

// proves DU-1
#[tokio::test]
async fn a_message_that_waited_while_a_turn_finished_is_not_swept_with_it() {
    let data = Data::new();
    let log = data.session("s").await;
    log.commit(&[log.fact(4, finished("next question"))], &[], Some(2))
        .await;
    log.finish(5).await;
    log.commit(&[log.fact(6, turn_started())], &[], Some(4))
        .await;
    data.journal.projected(vec![(log.no, Seq(6))]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [4, 5, 6]);
}

#[tokio::test]
async fn a_large_sweep_is_cut_into_transactions_and_an_idle_one_costs_none() {
    let data = Data::new();
    let log = data.session("s").await;
    let facts: Vec<_> = (4..10_000)
        .map(|seq| log.fact(seq, finished("m")))
        .collect();
    log.commit(&facts, &[], Some(2)).await;
    log.finish(10_000).await;
    data.journal.projected(vec![(log.no, Seq(10_000))]);

    let before = data.journal.commits();
    data.journal.sweep(LATER).await.unwrap();
    // One for the mark, three for 10,000 rows at no more than 4,096 in each.
    assert_eq!(data.journal.commits() - before, 4);
    assert_eq!(seqs(&data.journal, log.no), [0; 0]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(data.journal.commits() - before, 4);
}

#[tokio::test]
async fn a_deleted_session_made_anew_goes_on_counting_until_the_next_epoch() {
    let data = Data::new();
    let log = data.session("s").await;
    log.commit(&[log.fact(4, Kind::SessionClosed)], &[], None)
        .await;
    let entry = data.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.deleted, entry.head), (true, Seq(4)));
    data.journal.projected(vec![(log.no, Seq(4))]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [0; 0]);
    let entry = data.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.deleted, entry.head), (true, Seq(4)));

    let reborn = data.reborn();
    assert_eq!(reborn.journal.entry(&log.session).unwrap(), None);
    assert!(reborn.journal.new_log() > log.no);

    let anew = super::Log {
        journal: &data.journal,
        no: data.journal.new_log(),
        session: log.session.clone(),
    };
    anew.commit(&[anew.fact(5, opened())], &[], None).await;
    let entry = data.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!(
        (entry.log, entry.deleted, entry.head),
        (anew.no, false, Seq(5))
    );
    let reborn = data.reborn();
    let entry = reborn.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.log, entry.head), (anew.no, Seq(5)));
}

#[tokio::test]
async fn an_old_log_that_is_swept_late_does_not_take_its_session_with_it() {
    let data = Data::new();
    let log = data.session("s").await;
    log.commit(&[log.fact(4, Kind::SessionClosed)], &[], None)
        .await;
    let anew = super::Log {
        journal: &data.journal,
        no: data.journal.new_log(),
        session: log.session.clone(),
    };
    anew.commit(&[anew.fact(5, opened())], &[], None).await;
    let unsettled = data.journal.unsettled().unwrap();
    let logs: Vec<_> = unsettled.iter().map(|(_, entry)| entry.log).collect();
    assert_eq!(logs, [log.no, anew.no], "the old one first");

    data.journal.projected(vec![(log.no, Seq(4))]);
    data.journal.sweep(LATER).await.unwrap();
    assert_eq!(seqs(&data.journal, log.no), [0; 0]);
    let entry = data.journal.entry(&log.session).unwrap().unwrap();
    assert_eq!((entry.log, entry.deleted), (anew.no, false));
    assert_eq!(data.journal.unsettled().unwrap().len(), 1);
}
