use samovar_core::{AgentPath, Author, Kind};
use tempfile::TempDir;

use super::*;

fn event(epoch: Epoch, seq: u64) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq(seq),
        epoch,
        at: Millis(0),
        turn: None,
        agent: AgentPath::root("master"),
        author: Author::System,
        kind: Kind::StateChanged {
            state: serde_json::json!({"seq": seq}),
        },
    })
}

/// A journal with one log of five events that is open.
async fn written(dir: &Path) -> (LmdbJournal, LogNo) {
    let (journal, _) = LmdbJournal::open(dir, 1000).unwrap();
    let log = journal.new_log();
    let batch = Batch {
        log,
        session: SessionId::new("s").unwrap(),
        events: (1..=5).map(|seq| event(journal.epoch(), seq)).collect(),
        folded: Vec::new(),
        open_from: Some(Seq(1)),
    };
    journal.commit(batch).await.unwrap();
    (journal, log)
}

/// Changes a byte of a row on the disk, as a bad disk would.
fn damage(journal: &LmdbJournal, place: RowKey) {
    let tables = &journal.shared.tables;
    let mut txn = tables.env.write_txn().unwrap();
    let mut row = tables
        .events
        .get(&txn, &place.key())
        .unwrap()
        .unwrap()
        .to_vec();
    row[20] ^= 4;
    tables.events.put(&mut txn, &place.key(), &row).unwrap();
    txn.commit().unwrap();
}

// proves DU-13
#[tokio::test]
async fn a_damaged_row_is_named_by_whoever_reads_it_and_by_nobody_else() {
    let dir = TempDir::new().unwrap();
    let (journal, log) = written(dir.path()).await;
    damage(&journal, RowKey::new(log, Seq(3)));
    journal.close().await.unwrap();
    drop(journal);

    let (journal, recovered) = LmdbJournal::open(dir.path(), 1000).unwrap();
    assert_eq!(recovered.holes, [], "what is damaged is not lost");
    let read = journal.read(log, Seq(1), usize::MAX);
    let Err(Broken::Damaged(why)) = read else {
        panic!("a damaged row was read: {read:?}");
    };
    assert!(why.contains("log 1, seq 3"), "{why}");
    assert_eq!(journal.read(log, Seq(3), usize::MAX).unwrap().len(), 2);
    assert_eq!(journal.unsettled().unwrap().len(), 1);
}

// proves DU-13
#[tokio::test]
async fn a_walk_names_the_session_of_what_is_damaged_or_else_the_log_or_the_table() {
    type Hurt = fn(&Tables, &mut heed::RwTxn<'_>) -> heed::Result<()>;
    let rows: [(Hurt, &[&str], &[&str]); 4] = [
        (|_, _| Ok(()), &["s"], &[]),
        (|tables, txn| tables.logs.put(txn, &1, b"?"), &["s"], &[]),
        (
            |tables, txn| tables.sessions.delete(txn, "s").map(drop),
            &[],
            &["log 1"],
        ),
        (
            |tables, txn| {
                let no_text = tables.sessions.remap_key_type::<heed::types::Bytes>();
                no_text.put(txn, b"\xff", &1)
            },
            &[],
            &["log 1", "sessions"],
        ),
    ];
    let dir = TempDir::new().unwrap();
    let (journal, log) = written(dir.path()).await;
    assert_eq!(log, LogNo(1));
    damage(&journal, RowKey::new(log, Seq(3)));
    journal.close().await.unwrap();
    drop(journal);
    for (hurt, damaged, odd) in rows {
        let tables = Tables::open(&dir.path().join("journal"), &Settings::default());
        let tables = tables.map_err(Broken::from).unwrap();
        let mut txn = tables.env.write_txn().unwrap();
        hurt(&tables, &mut txn).unwrap();
        txn.commit().unwrap();
        drop(tables);

        let walked = walk(dir.path()).unwrap();

        let told = [&walked.damaged, &walked.odd].map(|told| told.keys().collect::<Vec<_>>());
        assert_eq!(told, [damaged, odd], "{walked:?}");
    }
}

// proves DU-13
#[tokio::test]
async fn rows_that_went_missing_are_noticed_by_whoever_reads_past_them() {
    let dir = TempDir::new().unwrap();
    let (journal, log) = written(dir.path()).await;
    journal.close().await.unwrap();
    drop(journal);
    let (journal, _) = LmdbJournal::open(dir.path(), 1000).unwrap();

    for (lost, named) in [(5, "log 1, seq 5"), (3, "log 1, seq 4")] {
        let tables = &journal.shared.tables;
        let mut txn = tables.env.write_txn().unwrap();
        let place = RowKey::new(log, Seq(lost));
        assert!(tables.events.delete(&mut txn, &place.key()).unwrap());
        txn.commit().unwrap();

        let all = journal.read(log, Seq(0), usize::MAX).unwrap_err();
        let durable = journal.read_durable(log, Seq(0), usize::MAX).unwrap_err();
        for broken in [all, durable] {
            let is_named = broken.to_string().contains(named);
            assert!(matches!(broken, Broken::Damaged(_)) && is_named, "{broken}");
        }
    }
}

// proves DU-13
#[tokio::test]
async fn a_log_whose_own_row_is_damaged_does_not_stop_the_others() {
    let dir = TempDir::new().unwrap();
    let (journal, log) = written(dir.path()).await;
    let good = journal.new_log();
    let mut batch = Batch {
        log: good,
        session: SessionId::new("good").unwrap(),
        events: vec![event(journal.epoch(), 1)],
        folded: Vec::new(),
        open_from: None,
    };
    journal.commit(batch.clone()).await.unwrap();
    let tables = &journal.shared.tables;
    let mut txn = tables.env.write_txn().unwrap();
    tables.logs.put(&mut txn, &log.0, b"nonsense").unwrap();
    txn.commit().unwrap();
    let unsettled = journal.unsettled().unwrap();
    assert_eq!(unsettled.len(), 1, "{unsettled:?}");
    // It is due to be swept, and first.
    let mut txn = tables.env.write_txn().unwrap();
    let due = keep::retire_key(Millis(0), log);
    tables.retire.put(&mut txn, &due, &5).unwrap();
    tables.open.delete(&mut txn, &log.0).unwrap();
    tables.unprojected.delete(&mut txn, &log.0).unwrap();
    txn.commit().unwrap();

    journal.projected(vec![(log, Seq(5)), (good, Seq(1))]);
    journal.sweep(Millis(1)).await.unwrap();
    assert_eq!(journal.entry(&batch.session).unwrap(), None, "it was swept");
    let bad = SessionId::new("s").unwrap();
    assert!(matches!(journal.entry(&bad), Err(Broken::Damaged(_))));
    batch.events = vec![event(journal.epoch(), 2)];
    journal.commit(batch).await.unwrap();
    journal.close().await.unwrap();
    drop(journal);
    assert!(LmdbJournal::open(dir.path(), 1000).is_ok());
}

// proves DU-3
#[tokio::test]
async fn the_journal_is_synced_by_each_commit_and_is_the_servers_alone() {
    use std::os::unix::fs::PermissionsExt;
    let dir = TempDir::new().unwrap();
    let (journal, log) = written(dir.path()).await;
    let flags = journal.shared.tables.env.flags().unwrap().unwrap();
    let unsafe_ones = heed::EnvFlags::NO_SYNC
        | heed::EnvFlags::NO_META_SYNC
        | heed::EnvFlags::WRITE_MAP
        | heed::EnvFlags::MAP_ASYNC;
    assert!(!flags.intersects(unsafe_ones), "{flags:?}");
    let asked_for = TempDir::new().unwrap();
    let settings = Settings {
        durability: Durability::Process,
        ..Settings::default()
    };
    let (unsynced, _) = LmdbJournal::open_with(asked_for.path(), 1000, &settings).unwrap();
    let flags = unsynced.shared.tables.env.flags().unwrap().unwrap();
    assert_eq!(
        flags & unsafe_ones,
        heed::EnvFlags::NO_SYNC,
        "only what was asked for"
    );

    let live = Event {
        kind: Kind::MessageStarted {
            message: samovar_core::MessageId::new("m").unwrap(),
            role: samovar_core::Role::Assistant,
        },
        ..Event::clone(&event(journal.epoch(), 6))
    };
    journal.spool(log, &[Arc::new(live)]).unwrap();
    for (path, mode) in [
        ("journal", 0o700),
        ("journal/data.mdb", 0o600),
        ("spool", 0o700),
        ("spool/0000000000000001.spool", 0o600),
    ] {
        let found = std::fs::metadata(dir.path().join(path))
            .unwrap()
            .permissions();
        assert_eq!(found.mode() & 0o777, mode, "{path}");
    }
}

#[test]
fn a_map_that_does_not_fit_into_the_address_space_is_made_smaller() {
    let dir = TempDir::new().unwrap();
    // More than any process of 64 bits can address.
    let settings = Settings {
        map_bytes: 1 << 60,
        ..Settings::default()
    };
    let (journal, _) = LmdbJournal::open_with(dir.path(), 1000, &settings).unwrap();
    let fill = journal.fill().unwrap();
    assert!(
        fill.map_bytes < 1 << 60 && fill.map_bytes >= 1 << 30,
        "{fill:?}"
    );
}
