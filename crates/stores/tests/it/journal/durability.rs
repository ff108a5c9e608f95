//! What a commit outlives, by what was asked for: a killed process, or a power cut too.

use std::fs;

use samovar_core::{Durability, Journal};
use samovar_stores::journal::{LmdbJournal, Recovered, Settings, WalkReport, walk};
use tempfile::TempDir;

use super::{Data, SMALL, seqs};

/// Settings of a run of the kernel with this id.
fn settings(durability: Durability, boot_id: &str) -> Settings {
    Settings {
        durability,
        boot_id: Some(boot_id.to_owned()),
        ..SMALL
    }
}

fn open(dir: TempDir, durability: Durability, boot_id: &str) -> Data {
    let settings = settings(durability, boot_id);
    let (journal, recovered) = LmdbJournal::open_with(dir.path(), 1000, &settings).unwrap();
    Data {
        dir,
        journal,
        recovered,
    }
}

/// A directory that a killed server left, which did not sync: three facts and two live events.
async fn killed_unsynced() -> TempDir {
    let data = open(TempDir::new().unwrap(), Durability::Process, "monday");
    let log = data.session("s").await;
    log.spool(&log.deltas(4..=5));
    data.killed()
}

fn is_marked(dir: &TempDir) -> bool {
    dir.path().join("journal/unsynced").exists()
}

// proves DU-3
#[tokio::test]
async fn what_was_not_synced_outlives_a_killed_process() {
    for next in [Durability::Process, Durability::Power] {
        let data = open(killed_unsynced().await, next, "monday");
        let unsettled = data.journal.unsettled().unwrap();
        let log = unsettled[0].1.log;
        assert_eq!(seqs(&data.journal, log), [1, 2, 3, 4, 5], "{next:?}");
        assert!(!data.recovered.was_wiped && !data.recovered.was_closed);
        assert_eq!(
            is_marked(&data.dir),
            next == Durability::Process,
            "{next:?}"
        );
    }
}

// proves DU-3
#[tokio::test]
async fn what_was_not_synced_is_wiped_after_another_start_of_the_system() {
    for next in [Durability::Process, Durability::Power] {
        let dir = killed_unsynced().await;
        // What a power cut can leave of it kills its reader.
        fs::write(dir.path().join("journal/data.mdb"), vec![7; 100_000]).unwrap();
        // Nobody looks at it before: it is not damaged, it is to be wiped.
        LmdbJournal::check(dir.path(), u64::MAX).unwrap();
        assert_eq!(walk(dir.path()), Ok(WalkReport::default()));
        let data = open(dir, next, "tuesday");
        assert!(data.recovered.was_wiped);
        assert_eq!(data.journal.unsettled().unwrap(), []);
        assert!(data.segments().is_empty(), "the spool goes with it");
        let log = data.session("again").await;
        assert_eq!(seqs(&data.journal, log.no), [1, 2, 3]);
        assert_eq!(is_marked(&data.dir), next == Durability::Process);
    }
}

// proves DU-3
#[tokio::test]
async fn a_journal_that_was_closed_well_is_synced_and_outlives_everything() {
    let data = open(TempDir::new().unwrap(), Durability::Process, "monday");
    let log = data.session("s").await.no;
    let (dir, journal) = (data.dir, data.journal);
    journal.close().await.unwrap();
    drop(journal);
    assert!(!is_marked(&dir), "it is synced");

    let data = open(dir, Durability::Process, "tuesday");
    let Recovered {
        was_wiped,
        was_closed,
        ..
    } = data.recovered;
    assert!(!was_wiped && was_closed);
    assert_eq!(seqs(&data.journal, log), [1, 2, 3]);
}

// proves DU-3
#[tokio::test]
async fn a_synced_journal_is_never_wiped() {
    let data = open(TempDir::new().unwrap(), Durability::Power, "monday");
    let log = data.session("s").await.no;
    let data = open(data.killed(), Durability::Process, "tuesday");
    assert!(!data.recovered.was_wiped);
    assert_eq!(seqs(&data.journal, log), [1, 2, 3]);
    // From here on it is not.
    assert!(is_marked(&data.dir));
    let data = open(data.killed(), Durability::Power, "wednesday");
    assert!(data.recovered.was_wiped);
    assert_eq!(data.journal.unsettled().unwrap(), []);
}

// proves DU-3
#[tokio::test]
async fn a_system_that_does_not_say_when_it_started_is_not_believed() {
    let data = open(TempDir::new().unwrap(), Durability::Process, "");
    data.session("s").await;
    let data = open(data.killed(), Durability::Process, "");
    assert!(data.recovered.was_wiped);
}
