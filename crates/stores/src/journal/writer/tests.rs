use samovar_core::journal::{Batch, LogNo};
use samovar_core::{AgentPath, Author, Event, Journal, Kind, Seq, SessionId};
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::super::LmdbJournal;
use super::*;

/// A writer beside the journal's own, whom nobody asks.
fn writer(journal: &LmdbJournal) -> Writer {
    let (_, jobs) = mpsc::channel(1);
    Writer {
        shared: journal.shared.clone(),
        lanes: Lanes::new(jobs),
        sweep: None,
        failed: None,
    }
}

// proves DU-12
#[tokio::test]
async fn a_writer_that_panics_is_told_of_as_a_store_that_failed() {
    let dir = TempDir::new().unwrap();
    let (journal, _) = LmdbJournal::open(dir.path(), 1000).unwrap();
    let disk = journal.shared.disk.clone();
    drop(writer(&journal));
    assert!(futures_util::poll!(Box::pin(disk.failed())).is_pending());

    let writer = writer(&journal);
    let panicked = std::thread::spawn(move || {
        let _writer = writer;
        panic!("as a bug would");
    });
    assert!(panicked.join().is_err());

    assert!(matches!(disk.failed().await, Broken::Io(_)));
}

// proves DU-12
#[tokio::test]
async fn after_a_failed_fsync_nothing_more_is_taken_for_kept() {
    let dir = TempDir::new().unwrap();
    let (journal, _) = LmdbJournal::open(dir.path(), 1000).unwrap();
    let mut writer = writer(&journal);
    let batch = Batch {
        log: LogNo(1),
        session: SessionId::new("s").unwrap(),
        events: Vec::new(),
        folded: Vec::new(),
        open_from: None,
    };
    let batch = PackedBatch::pack(&batch, journal.epoch()).unwrap();
    writer.fail(heed::MdbError::MapFull.into());
    assert_eq!(
        writer.keep(std::slice::from_ref(&batch)),
        Ok(()),
        "room can come back"
    );
    let read_only = writer.fail(std::io::Error::from_raw_os_error(30).into());
    assert!(matches!(read_only, Broken::ReadOnly(_)), "{read_only:?}");
    assert_eq!(writer.keep(std::slice::from_ref(&batch)), Ok(()));

    let commits = journal.commits();
    let failed = writer.fail(std::io::Error::from_raw_os_error(5).into());
    assert!(matches!(failed, Broken::Io(_)), "{failed:?}");
    assert_eq!(writer.keep(&[batch]), Err(failed.clone()));
    let mut sweep = Sweep::new(Millis(i64::MAX));
    assert_eq!(writer.sweep_step(&mut sweep), Err(failed.clone()));
    assert_eq!(journal.shared.disk.failed().await, failed, "and it is told");
    assert_eq!(journal.commits(), commits);
}

// proves DU-3
#[tokio::test]
async fn the_journal_lags_while_long_batches_wait_and_until_they_are_kept() {
    let dir = TempDir::new().unwrap();
    let (journal, _) = LmdbJournal::open(dir.path(), 1000).unwrap();
    let long = |log| {
        let event = Event {
            seq: Seq(1),
            epoch: journal.epoch(),
            at: Millis(1),
            turn: None,
            agent: AgentPath::root("master"),
            author: Author::System,
            kind: Kind::StateChanged {
                state: "x".repeat(900_000).into(),
            },
        };
        journal.commit(Batch {
            log: LogNo(log),
            session: SessionId::new("s").unwrap(),
            events: vec![Arc::new(event)],
            folded: Vec::new(),
            open_from: None,
        })
    };
    assert!(!journal.is_behind());
    // The writer waits for it.
    let blocking = journal.shared.tables.env.write_txn().unwrap();
    let mut commits: JoinSet<_> = (1..=20).map(long).collect();
    while !journal.is_behind() {
        tokio::task::yield_now().await;
    }

    drop(blocking);

    while let Some(commit) = commits.join_next().await {
        commit.unwrap().unwrap();
    }
    assert!(!journal.is_behind());
}
