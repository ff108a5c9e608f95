//! Durable events: one writer, shared fsyncs, and what is packed.

use samovar_core::journal::Batch;
use samovar_core::{Broken, Journal, Seq, SessionId};
use samovar_stores::journal::{LmdbJournal, Settings};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{Data, delta, fact, finished, seqs, turn_finished};

// proves DU-3, PF-2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn those_who_commit_at_once_share_an_fsync() {
    let data = Data::new();
    let before = data.journal.commits();
    let mut tasks = JoinSet::new();
    for _ in 0..16 {
        let log = data.journal.new_log();
        let session = SessionId::new(&format!("session {}", log.0)).unwrap();
        let epoch = data.journal.epoch();
        let commits: Vec<_> = (1..=50)
            .map(|seq| Batch {
                log,
                session: session.clone(),
                events: vec![fact(epoch, seq, turn_finished())],
                folded: Vec::new(),
                open_from: None,
            })
            .map(|batch| data.journal.commit(batch))
            .collect();
        tasks.spawn(async move {
            for commit in commits {
                commit.await.unwrap();
            }
            log
        });
    }
    let logs = tasks.join_all().await;

    let commits = data.journal.commits() - before;
    assert!(commits < 800, "{commits} fsyncs for 800 batches");
    let reborn = data.reborn();
    for log in logs {
        assert_eq!(seqs(&reborn.journal, log), (1..=50).collect::<Vec<_>>());
    }
}

// proves DU-3
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_commits_than_the_queue_holds_wait_for_room() {
    let data = Data::new();
    let log = data.session("busy").await;
    let mut tasks = JoinSet::new();
    for seq in 4..2004 {
        let batch = log.batch(&[log.fact(seq, finished("m"))], &[], Some(2));
        tasks.spawn(data.journal.commit(batch));
    }
    for kept in tasks.join_all().await {
        kept.unwrap();
    }
    assert_eq!(seqs(&data.journal, log.no), (1..2004).collect::<Vec<_>>());
}

// proves DU-3
#[tokio::test]
async fn a_long_batch_fills_its_pages_if_it_comes_after_all_others_and_is_kept_in_any_case() {
    const ROWS: u64 = 5000;
    let data = Data::new();
    let (older, newer) = (data.session("older").await, data.session("newer").await);
    let size = || {
        let file = data.dir.path().join("journal/data.mdb");
        std::fs::metadata(file).unwrap().len()
    };
    let mut grown = Vec::new();
    for log in [&newer, &older] {
        let before = size();
        let text = |seq: u64| format!("{seq} {}", "word ".repeat(160));
        let events = (4..4 + ROWS).map(|seq| log.fact(seq, delta("answer", &text(seq))));
        let events: Vec<_> = events.collect();
        log.commit(&events, &[], Some(2)).await;
        assert_eq!(
            seqs(&data.journal, log.no),
            (1..4 + ROWS).collect::<Vec<_>>()
        );
        grown.push(size() - before);
    }
    let [behind, between] = grown[..] else {
        panic!("{grown:?}")
    };
    assert!(behind * 10 < between * 8, "{behind} {between}");
}

// proves DU-2, DU-3
#[tokio::test]
async fn a_log_that_begins_with_a_long_batch_is_wanted_by_the_history() {
    let data = Data::new();
    let (log, epoch) = (data.journal.new_log(), data.journal.epoch());
    let session = SessionId::new("a copy").unwrap();
    let events = (1..=100).map(|seq| fact(epoch, seq, turn_finished()));
    let batch = Batch {
        log,
        session: session.clone(),
        events: events.collect(),
        folded: Vec::new(),
        open_from: None,
    };

    data.journal.commit(batch).await.unwrap();

    let entry = data.journal.entry(&session).unwrap().unwrap();
    assert_eq!((entry.head, entry.unprojected), (Seq(100), true));
}

// proves DU-3
#[tokio::test]
async fn a_batch_that_does_not_fit_costs_no_other_batch_its_place() {
    let dir = TempDir::new().unwrap();
    let settings = Settings {
        map_bytes: 1 << 20,
        ..Settings::default()
    };
    let (journal, _) = LmdbJournal::open_with(dir.path(), 1000, &settings).unwrap();
    let data = Data {
        dir,
        journal,
        recovered: samovar_stores::journal::Recovered::default(),
    };
    let (small, large) = (data.session("small").await, data.session("large").await);
    let huge = large.fact(4, delta("answer", &"x".repeat(2 << 20)));
    // They wait together while the first of them is synced.
    let commits = (4..44).map(|seq| match seq {
        20 => data
            .journal
            .commit(large.batch(&[], std::slice::from_ref(&huge), Some(2))),
        seq => {
            let fact = small.fact(seq, finished("m"));
            data.journal.commit(small.batch(&[fact], &[], Some(2)))
        }
    });
    let kept = futures_util::future::join_all(commits).await;

    for (seq, kept) in (4..).zip(kept) {
        match seq {
            20 => assert!(matches!(kept, Err(Broken::Full(_))), "{kept:?}"),
            _ => assert_eq!(kept, Ok(()), "seq {seq}"),
        }
    }
    assert_eq!(
        data.journal
            .read(small.no, Seq(3), usize::MAX)
            .unwrap()
            .len(),
        39
    );
    assert_eq!(seqs(&data.journal, large.no), [1, 2, 3]);
    large.finish(4).await;
    let fill = data.journal.fill().unwrap();
    assert!(
        fill.used_bytes > 0 && fill.used_bytes < fill.map_bytes,
        "{fill:?}"
    );
    assert_eq!(fill.map_bytes, 1 << 20);
}

#[tokio::test]
async fn live_events_are_packed_into_few_rows_and_their_head_outlives_a_restart() {
    let data = Data::new();
    let log = data.session("s").await;
    log.commit(&[], &log.deltas(4..=303), Some(2)).await;
    let (mut at, mut reads) = (Seq(0), 0);
    // A window of one byte is one row.
    while let Some(last) = data.journal.read(log.no, at, 1).unwrap().last() {
        at = last.seq;
        reads += 1;
    }
    assert_eq!((at, reads), (Seq(303), 5));
    let (session, no) = (log.session.clone(), log.no);
    let entry = data.journal.entry(&session).unwrap();

    let data = data.reopened().await;
    assert_eq!(data.journal.entry(&session).unwrap(), entry);
    let unsettled = data.journal.unsettled().unwrap();
    assert_eq!(unsettled, [(session, entry.unwrap())]);
    assert!(data.journal.new_log() > no);
    data.journal.close().await.unwrap();
    assert!(data.journal.close().await.is_err());
}
