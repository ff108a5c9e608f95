//! Durable events: one writer, shared fsyncs, what is refused, and reading back.

use samovar_core::journal::LogEntry;
use samovar_core::{Broken, Epoch, Journal, Seq, SessionId};
use samovar_stores::journal::{LmdbJournal, Settings};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{Data, all, delta, fact, finished, seqs, turn_finished, turn_started};

// proves DU-3
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
            .map(|seq| samovar_core::journal::Batch {
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
async fn an_event_of_another_epoch_or_kind_or_at_a_taken_position_is_refused() {
    let data = Data::new();
    let log = data.session("s").await;
    let stale = fact(Epoch(999), 4, finished("m"));
    let commit = data
        .journal
        .commit(log.batch(std::slice::from_ref(&stale), &[], Some(2)));
    let Err(Broken::Io(why)) = commit.await else {
        panic!("a stale event was kept");
    };
    assert!(why.contains("epoch 999"), "{why}");
    assert!(
        data.journal
            .spool(log.no, &[fact(Epoch(999), 4, delta("m", "x"))])
            .is_err()
    );

    let durable = log.fact(4, finished("m"));
    assert!(data.journal.spool(log.no, &[durable]).is_err());

    let taken = log.fact(3, turn_started());
    let commit = data
        .journal
        .commit(log.batch(&[taken, log.fact(4, finished("m"))], &[], Some(2)));
    let Err(Broken::Io(why)) = commit.await else {
        panic!("a position was given twice");
    };
    assert!(why.contains("seq 3"), "{why}");
    assert_eq!(seqs(&data.journal, log.no), [1, 2, 3]);
}

#[tokio::test]
async fn a_reader_gets_exactly_what_lies_behind_its_position_in_windows_of_any_size() {
    let data = Data::new();
    let log = data.session("s").await;
    let first = log.deltas(4..=303);
    log.commit(&[log.fact(304, finished("answer"))], &first, Some(2))
        .await;
    log.commit(&[log.fact(305, turn_finished())], &[], None)
        .await;
    let whole = all(&data.journal, log.no);
    assert_eq!(seqs(&data.journal, log.no), (1..=305).collect::<Vec<_>>());
    assert_eq!(*first[7], whole[10]);

    for after in 0..=305 {
        let behind = data.journal.read(log.no, Seq(after), usize::MAX).unwrap();
        assert_eq!(behind, whole[usize::try_from(after).unwrap()..]);
    }
    for window in [1, 1000, 100_000] {
        let (mut read, mut reads) = (Vec::new(), 0);
        loop {
            let after = read
                .last()
                .map_or(Seq(0), |event: &samovar_core::Event| event.seq);
            let more = data.journal.read(log.no, after, window).unwrap();
            if more.is_empty() {
                break;
            }
            reads += 1;
            read.extend(more);
        }
        assert_eq!(read, whole);
        assert!(window > 1 || reads == 7, "{reads} reads of {window} bytes");
    }
    assert!(
        data.journal
            .read(log.no, Seq(u64::MAX), 100)
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn the_head_counts_folded_events_and_outlives_a_restart() {
    let data = Data::new();
    let log = data.session("s").await;
    log.commit(&[], &log.deltas(4..=9), Some(2)).await;
    let expected = LogEntry {
        log: log.no,
        head: Seq(9),
        open_from: Some(Seq(2)),
        unprojected: true,
        deleted: false,
    };
    let session = log.session.clone();
    assert_eq!(
        data.journal.entry(&session).unwrap(),
        Some(expected.clone())
    );
    let unknown = SessionId::new("unknown").unwrap();
    assert_eq!(data.journal.entry(&unknown).unwrap(), None);

    let data = data.reopened().await;
    assert_eq!(
        data.journal.entry(&session).unwrap(),
        Some(expected.clone())
    );
    assert_eq!(
        data.journal.unsettled().unwrap(),
        [(session, expected.clone())]
    );
    assert!(data.journal.new_log() > expected.log);
}

#[tokio::test]
async fn a_closed_journal_refuses_every_call() {
    let data = Data::new();
    let log = data.session("s").await;
    let batch = log.batch(&[log.fact(4, turn_finished())], &[], None);
    let deltas = log.deltas([4]);
    data.journal.close().await.unwrap();

    assert!(data.journal.commit(batch).await.is_err());
    assert!(data.journal.spool(log.no, &deltas).is_err());
    assert!(data.journal.read(log.no, Seq(0), 1).is_err());
    assert!(data.journal.entry(&log.session).is_err());
    assert!(data.journal.unsettled().is_err());
    assert!(data.journal.sweep(samovar_core::Millis(0)).await.is_err());
    assert!(data.journal.close().await.is_err());
}

#[tokio::test]
async fn durable_events_are_read_without_the_live_ones_between_them_in_any_pieces() {
    let data = Data::new();
    let log = data.session("long").await;
    let live = log.deltas(4..=900);
    log.spool(&live);
    log.commit(&[log.fact(901, finished("answer"))], &live, Some(2))
        .await;
    log.finish(902).await;
    let durable = |event: &samovar_core::Event| event.kind.is_durable();
    let whole: Vec<_> = all(&data.journal, log.no)
        .into_iter()
        .filter(durable)
        .collect();

    for (after, max_bytes) in [(0, 1), (0, 4096), (2, usize::MAX), (450, 1), (902, 1)] {
        let (mut at, mut read) = (Seq(after), Vec::new());
        loop {
            let (events, seen) = data.journal.read_durable(log.no, at, max_bytes).unwrap();
            read.extend(events);
            if seen <= at {
                break;
            }
            at = seen;
        }
        let behind = whole.iter().filter(|event| event.seq > Seq(after));
        assert!(
            read.iter().eq(behind),
            "behind {after}, {max_bytes} bytes: {read:?}"
        );
    }
}
