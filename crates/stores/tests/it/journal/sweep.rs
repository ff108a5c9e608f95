//! What is removed, what stays, and what a deleted session leaves.

use samovar_core::event::Kind;
use samovar_core::{Journal, Millis, Seq};

use super::{Data, finished, opened, seqs, turn_started};

const LATER: Millis = Millis(i64::MAX);

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
    // What comes after the mark is owed again, also after a restart: the journal knows it.
    log.commit(&[log.fact(5, turn_started())], &[], Some(5))
        .await;
    let session = log.session.clone();
    let data = data.reopened().await;
    assert!(data.journal.entry(&session).unwrap().unwrap().unprojected);
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
