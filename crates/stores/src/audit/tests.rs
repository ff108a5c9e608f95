use samovar_core::audit::AuditedCall;
use samovar_core::{CallId, Ids, SessionId};

use super::*;
use crate::data_dir::tests::data_dir;

/// A data directory whose history stores the heads.
struct Place {
    dir: tempfile::TempDir,
    stored: Pair,
}

struct Counting(std::sync::atomic::AtomicU64);

impl Ids for Counting {
    fn uuid(&self) -> String {
        let number = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        format!("00000000-0000-7000-8000-{number:012}")
    }
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stored = Pair::default();
        Self { dir, stored }
    }

    fn open_as(&self, origin: Origin) -> AuditLog {
        let heads = Heads::default();
        heads.begin(self.stored.clone());
        let disk = Disk::with_ballast(self.dir.path(), 0);
        AuditLog::open(&data_dir(&self.dir), &disk, heads, origin).unwrap()
    }

    fn open(&self) -> AuditLog {
        self.open_as(Origin::LastRun)
    }

    /// The history commits.
    fn store(&mut self, audit: &AuditLog) {
        let pair = audit.heads.due().unwrap_or_else(|| audit.heads.stored());
        audit.heads.are_stored(pair.clone());
        self.stored = pair;
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join(AUDIT)
    }

    /// Cuts the file to so many lines.
    fn keep_lines(&self, count: usize) {
        let text = std::fs::read_to_string(self.file()).unwrap();
        let kept: String = text.split_inclusive('\n').take(count).collect();
        std::fs::write(self.file(), kept).unwrap();
    }
}

fn decision(at: i64) -> Decision {
    Decision::new(What::TokenMade, "owner", Millis(at)).about(format!("token {at}"))
}

fn events(records: &[Sealed]) -> Vec<&str> {
    records
        .iter()
        .map(|one| one.record.event.as_str())
        .collect()
}

async fn last(audit: &AuditLog, limit: usize) -> Vec<Sealed> {
    let query = RecordQuery {
        limit,
        ..RecordQuery::default()
    };
    audit.records(query).await.unwrap()
}

// proves TL-15
#[tokio::test]
async fn the_chain_goes_on_after_a_restart_and_is_whole() {
    let mut place = Place::new();
    for run in 0..3 {
        let audit = place.open();
        for at in 0..5 {
            audit.record(decision(run * 10 + at)).await.unwrap();
        }
        place.store(&audit);
    }
    let audit = place.open();
    let verdict = audit.verify(None).await.unwrap();
    assert!(verdict.is_whole(), "{verdict:?}");
    assert_eq!(verdict.records, 15);
    let anchor = last(&audit, 4).await[0].hash.clone();
    assert!(audit.verify(Some(anchor)).await.unwrap().is_whole());
    let none = audit.verify(Some("ab".repeat(32))).await.unwrap();
    assert_eq!(none.problems[0].kind, ProblemKind::Anchor);
    let mode = std::fs::metadata(place.file())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

// proves TL-15
#[tokio::test]
async fn a_torn_last_line_is_removed_and_no_problem() {
    let mut place = Place::new();
    let audit = place.open();
    audit.append(vec![decision(1), decision(2)]).await.unwrap();
    audit.sync().await.unwrap();
    place.store(&audit);
    let whole = std::fs::read(place.file()).unwrap();
    audit.append(vec![decision(3)]).await.unwrap();
    let more = std::fs::read(place.file()).unwrap();
    drop(audit);

    for cut in whole.len()..more.len() {
        std::fs::write(place.file(), &more[..cut]).unwrap();
        let audit = place.open();
        assert!(audit.verify(None).await.unwrap().is_whole(), "cut at {cut}");
        audit.record(decision(4)).await.unwrap();
        let verdict = audit.verify(None).await.unwrap();
        assert!(verdict.is_whole() && !verdict.is_torn, "cut at {cut}");
        assert_eq!(verdict.records, 3);
    }
}

// proves TL-15
#[tokio::test]
async fn an_end_that_is_missing_at_a_start_stays_visible_although_the_chain_goes_on() {
    let mut place = Place::new();
    let audit = place.open();
    audit.append((1..=9).map(decision).collect()).await.unwrap();
    audit.sync().await.unwrap();
    place.store(&audit);
    let whole = std::fs::read(place.file()).unwrap();
    drop(audit);

    for name in ["cut", "removed", "flipped", "another"] {
        match name {
            "cut" => {
                std::fs::write(place.file(), &whole).unwrap();
                place.keep_lines(6);
            }
            "removed" => std::fs::remove_file(place.file()).unwrap(),
            "flipped" => {
                let mut text = whole.clone();
                let last = text.len() - 100;
                text[last] ^= 1;
                std::fs::write(place.file(), text).unwrap();
            }
            _ => {
                let other = Place::new();
                let audit = other.open();
                audit
                    .append((20..=40).map(decision).collect())
                    .await
                    .unwrap();
                std::fs::copy(other.file(), place.file()).unwrap();
            }
        }
        let before = place.stored.clone();
        for start in 0..3 {
            let audit = place.open();
            audit.record(decision(50)).await.unwrap();
            place.store(&audit);
            let verdict = audit.verify(None).await.unwrap();
            assert!(!verdict.is_whole(), "{name}, start {start}");
        }
        let audit = place.open();
        let told = last(&audit, 99).await;
        let told = events(&told)
            .into_iter()
            .filter(|event| *event == "chain_broken");
        assert_eq!(told.count(), 1, "{name}");
        place.stored = before;
    }
}

// proves TL-15
#[tokio::test]
async fn records_that_only_a_power_cut_can_take_are_asked_for_again_and_no_damage() {
    let mut place = Place::new();
    let audit = place.open();
    audit.record(decision(1)).await.unwrap();
    audit.append(vec![decision(2), decision(3)]).await.unwrap();
    place.store(&audit);
    drop(audit);
    assert!(!place.open().is_short());

    place.keep_lines(2);
    let audit = place.open();
    assert!(audit.is_short());
    assert!(audit.verify(None).await.unwrap().is_whole());
    assert_eq!(events(&last(&audit, 9).await), ["token_made", "token_made"]);
}

// proves TL-15
#[tokio::test]
async fn a_restore_and_a_new_history_are_records_of_the_chain() {
    let mut place = Place::new();
    let audit = place.open_as(Origin::NewHistory);
    assert!(last(&audit, 9).await.is_empty(), "the first start");
    audit.record(decision(1)).await.unwrap();
    place.store(&audit);
    drop(audit);
    drop(place.open_as(Origin::Backup));
    place.stored = Pair::default();
    let audit = place.open_as(Origin::NewHistory);

    let told = last(&audit, 9).await;
    assert_eq!(events(&told), ["token_made", "restored", "chain_resumed"]);
    assert!(audit.verify(None).await.unwrap().is_whole());
}

// proves TL-15
#[tokio::test]
async fn records_are_read_from_either_end_by_number_session_tool_and_time() {
    let place = Place::new();
    let audit = place.open();
    let ids = Counting(0.into());
    let session = |number: i64| SessionId::new(&format!("s-{}", number % 3)).ok();
    let decisions = (1..=2000).map(|at| Decision {
        call: Some(AuditedCall {
            call: CallId::fresh(&ids),
            session: session(at),
            turn: None,
            agent: None,
        }),
        // Lines of every length, so that stretches end anywhere in them.
        ..decision(at)
            .about("x".repeat(usize::try_from(at % 150).unwrap()))
            .of_tool(format!("t{}", at % 2))
    });
    audit.append(decisions.collect()).await.unwrap();
    let numbers = async |query: RecordQuery| -> Vec<u64> {
        let records = audit.records(query).await.unwrap();
        records.iter().map(|one| one.record.n).collect()
    };
    let limit = |limit| RecordQuery {
        limit,
        ..RecordQuery::default()
    };

    assert_eq!(numbers(limit(2000)).await, (1..=2000).collect::<Vec<_>>());
    assert_eq!(numbers(limit(3)).await, [1998, 1999, 2000]);
    for after in 0..=2000 {
        let query = RecordQuery {
            after: Some(after),
            ..limit(2)
        };
        let expected: Vec<_> = (after + 1..=2000).take(2).collect();
        assert_eq!(numbers(query).await, expected, "after {after}");
    }
    let query = RecordQuery {
        session: Some("s-0".to_owned()),
        tool: Some("t1".to_owned()),
        ..limit(2)
    };
    assert_eq!(numbers(query).await, [1989, 1995]);
    let query = RecordQuery {
        since: Some(Millis(1999)),
        ..limit(10)
    };
    assert_eq!(numbers(query).await, [1999, 2000]);
    let recorded = audit.recorded(Millis(0)).await.unwrap();
    assert_eq!(recorded.len(), 2000);
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_is_not_followed() {
    let place = Place::new();
    let elsewhere = place.dir.path().join("elsewhere");
    std::fs::write(&elsewhere, "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, place.file()).unwrap();
    let disk = Disk::with_ballast(place.dir.path(), 0);
    let (dir, heads) = (data_dir(&place.dir), Heads::default());
    assert!(AuditLog::open(&dir, &disk, heads, Origin::LastRun).is_err());
}
