//! Bytes that flip on the disk while nobody has the journal open.

use std::fs;
use std::path::Path;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Event, Journal, Kind, Seq, SessionId};
use samovar_stores::journal::{LmdbJournal, walk};
use tempfile::TempDir;

use super::{Data, SMALL, turn_started};

const NO_LIMIT: u64 = u64::MAX;

/// How many logs there are.
const LOGS: u64 = 24;

/// The bytes of a journal that was used for a while and closed: long rows and short ones, pages that
/// were freed and used again.
async fn used() -> (Vec<u8>, Vec<Vec<Event>>) {
    let data = Data::new();
    for number in 0..LOGS {
        let log = data.session(&format!("session {number}")).await;
        for seq in 4..12 {
            let text = "what was said ".repeat(if seq % 5 == 0 { 500 } else { 3 });
            log.commit(&[log.fact(seq, state(&text))], &[], Some(2))
                .await;
        }
        if number % 3 == 0 {
            log.finish(12).await;
            data.journal.projected(vec![(log.no, Seq(12))]);
        }
        if number % 6 == 0 {
            data.journal
                .sweep(samovar_core::Millis(i64::MAX))
                .await
                .unwrap();
        }
    }
    let events = (1..=LOGS).map(|log| read(&data.journal, log).unwrap());
    let events = events.collect();
    let dir = data.reopened().await.reopened().await.killed();
    (fs::read(file(dir.path())).unwrap(), events)
}

fn state(text: &str) -> Kind {
    let state = serde_json::Value::from(text);
    Kind::StateChanged { state }
}

fn file(dir: &Path) -> std::path::PathBuf {
    dir.join("journal/data.mdb")
}

fn read(journal: &LmdbJournal, log: u64) -> Result<Vec<Event>, Broken> {
    journal.read(LogNo(log), Seq(0), usize::MAX)
}

/// A data directory whose journal has these bytes.
fn with(bytes: &[u8]) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("journal")).unwrap();
    fs::write(file(dir.path()), bytes).unwrap();
    dir
}

/// Whether the journal is refused, else whether something of it is told to be damaged; what is
/// neither must be all there.
fn is_noticed(bytes: &[u8], expected: &[Vec<Event>], what: &str) -> bool {
    let dir = with(bytes);
    match LmdbJournal::check(dir.path(), NO_LIMIT) {
        Err(Broken::Damaged(_)) => return true,
        other => other.unwrap(),
    }
    let opened = LmdbJournal::open_with(dir.path(), 1, &SMALL);
    let Ok((journal, _)) = opened else {
        return true;
    };
    let mut is_noticed = journal.audit().map_or(true, |wounds| !wounds.is_empty());
    for (log, events) in (1..).zip(expected) {
        match read(&journal, log) {
            Err(Broken::Damaged(_)) => is_noticed = true,
            found => assert_eq!(&found.unwrap(), events, "{what}"),
        }
        let session = SessionId::new(&format!("session {}", log - 1)).unwrap();
        match journal.entry(&session) {
            Err(Broken::Damaged(_)) => is_noticed = true,
            found => {
                let entry = found.unwrap();
                let is_known = entry.is_some_and(|entry| entry.log == LogNo(log));
                assert!(is_known || events.is_empty(), "{what}: {session}");
            }
        }
    }
    is_noticed
}

/// Flips one bit after the other at these places of a used journal.
async fn flip(places: impl Fn(usize) -> Vec<usize>) {
    let (bytes, events) = used().await;
    assert!(!is_noticed(&bytes, &events, "nothing was flipped"));
    let places = places(bytes.len());
    let is_told = |(number, at): (usize, &usize)| {
        let mut flipped = bytes.clone();
        flipped[*at] ^= 1 << (number % 8);
        is_noticed(&flipped, &events, &format!("byte {at}"))
    };
    let told = places.iter().enumerate().filter(|place| is_told(*place));
    let told = told.count();
    // The rest lies where nothing is kept.
    assert!(told > places.len() / 10, "{told} of {}", places.len());
}

/// So many places: a step that is odd and no multiple of a page meets every part of the pages.
fn spread(count: usize) -> impl Fn(usize) -> Vec<usize> {
    move |length| {
        (0..count)
            .map(|number| (number * 40_503 + 7) % length)
            .collect()
    }
}

// proves DU-13
#[tokio::test]
async fn a_flipped_bit_of_a_page_hides_nothing_and_kills_nobody() {
    flip(spread(32)).await;
}

mod proof {
    use super::{flip, spread};

    // proves DU-13
    #[tokio::test]
    async fn a_flipped_bit_anywhere_hides_nothing_and_kills_nobody() {
        flip(spread(256)).await;
    }

    // proves DU-13
    #[tokio::test]
    async fn the_head_of_every_page_and_of_its_nodes_is_held_against_the_others() {
        let heads = |page: usize| (0..48).map(move |at| page * 4096 + at);
        flip(|length| (0..length / 4096).step_by(13).flat_map(heads).collect()).await;
    }
}

// proves DU-13
#[tokio::test]
async fn a_journal_that_is_cut_short_is_not_opened() {
    let (bytes, _) = used().await;
    for length in [1, 100, 4096, 8192, bytes.len() / 2] {
        let dir = with(&bytes[..length]);
        let checked = LmdbJournal::check(dir.path(), NO_LIMIT);
        assert!(matches!(checked, Err(Broken::Damaged(_))), "{length}");
        assert!(matches!(walk(dir.path()), Err(Broken::Damaged(_))));
    }
}

// proves DU-13
#[tokio::test]
async fn a_walk_reads_every_row_and_keeps_nothing_of_what_it_tries() {
    let (bytes, events) = used().await;
    let dir = with(&bytes);
    let walked = walk(dir.path()).unwrap();
    assert!(walked.rows > events.iter().map(Vec::len).sum::<usize>() as u64);
    assert_eq!(walked.damaged_rows, 0);
    assert_eq!(walk(dir.path()).unwrap(), walked);
    assert!(fs::read(file(dir.path())).unwrap() == bytes);

    let needle = b"what was said";
    let places = (0..bytes.len()).filter(|at| bytes[*at..].starts_with(needle));
    // Some stand in pages that are no longer used.
    let found = places.step_by(10).take(20).map(|at| {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1;
        walk(with(&flipped).path()).unwrap().damaged_rows
    });
    assert!(found.max() == Some(1));
}

// proves DU-13
#[tokio::test]
async fn what_one_table_has_lost_is_put_back_from_the_other() {
    let (bytes, events) = used().await;
    let needle = b"session 7";
    let mut mended = 0;
    for at in 0..bytes.len() - needle.len() {
        // As a key, and not as a part of a row, behind which a quote stands.
        if !bytes[at..].starts_with(needle) || bytes[at + needle.len()] == b'"' {
            continue;
        }
        let mut flipped = bytes.clone();
        flipped[at + needle.len() - 1] = b'8';
        let dir = with(&flipped);
        if LmdbJournal::check(dir.path(), NO_LIMIT).is_ok() {
            let (journal, _) = LmdbJournal::open_with(dir.path(), 1, &SMALL).unwrap();
            mended += journal.audit().unwrap().len();
        } else {
            mended += usize::from(is_noticed(&flipped, &events, "a key"));
        }
    }
    assert!(mended > 0);
}

// proves DU-13
#[tokio::test]
async fn a_session_whose_rows_are_damaged_can_be_removed_and_made_anew_behind_them() {
    let data = Data::new();
    let log = data.session("s").await;
    let session = SessionId::new("s").unwrap();
    data.journal.discard(&session).await.unwrap();

    let entry = data.journal.entry(&session).unwrap().unwrap();
    assert!(entry.deleted && entry.head == Seq(3), "{entry:?}");
    assert_eq!(read(&data.journal, log.no.0).unwrap(), []);
    let unsettled = data.journal.unsettled().unwrap();
    assert_eq!(unsettled, []);
    let data = data.reopened().await;
    assert_eq!(data.journal.entry(&session).unwrap(), None);
}

// proves DU-13
#[tokio::test]
async fn a_copy_of_a_journal_in_use_has_what_was_committed_and_nothing_is_removed_meanwhile() {
    let data = Data::new();
    let log = data.session("s").await;
    log.finish(4).await;
    data.journal.projected(vec![(log.no, Seq(4))]);
    log.commit(&[log.fact(5, turn_started())], &[], Some(5))
        .await;
    let pause = data.journal.pause_removal();
    data.journal
        .sweep(samovar_core::Millis(i64::MAX))
        .await
        .unwrap();
    assert_eq!(read(&data.journal, log.no.0).unwrap().len(), 5);

    let dir = TempDir::new().unwrap();
    data.journal.copy_to(&dir.path().join("journal")).unwrap();
    drop(pause);
    let expected = read(&data.journal, log.no.0).unwrap();
    let copy = Data::open(dir);
    assert!(copy.journal.epoch() > data.journal.epoch());
    assert_eq!(read(&copy.journal, log.no.0).unwrap(), expected);
    data.journal
        .sweep(samovar_core::Millis(i64::MAX))
        .await
        .unwrap();
    assert!(
        data.journal
            .copy_to(&copy.dir.path().join("journal"))
            .is_err()
    );
}
