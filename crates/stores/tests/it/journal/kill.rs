//! Real kills: this test binary starts itself again, and ends that process without warning.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use samovar_core::journal::{Batch, LogNo};
use samovar_core::{Journal, Seq, SessionId};
use samovar_stores::journal::LmdbJournal;
use tempfile::TempDir;

use super::{Data, SMALL, delta, fact, finished, seqs, turn_started};

const DATA_DIR: &str = "SAMOVAR_TEST_DATA_DIR";

/// The data directory that the parent names; none when this is the parent.
fn data_dir() -> Option<PathBuf> {
    std::env::var_os(DATA_DIR).map(PathBuf::from)
}

/// Starts one test of this binary in a process of its own.
fn start(program: &mut Command, test: &str, dir: &Path) -> Child {
    program
        .args(["--exact", test, "--nocapture", "--test-threads=1"])
        .env(DATA_DIR, dir)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the lines say that begin with a word.
fn said<'a>(lines: &'a [String], word: &str) -> Vec<&'a str> {
    lines
        .iter()
        .filter_map(|line| line.strip_prefix(word))
        .collect()
}

fn say(what: &str) {
    let mut out = std::io::stdout().lock();
    // A line of its own, whatever the test runner has begun to print, and whole or not at all.
    out.write_all(format!("\n{what}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

/// Keeps events for as long as it lives, ten live ones and a durable one in turn, and tells of each
/// once it is kept.
#[tokio::test]
async fn child_keeps_until_it_is_killed() {
    let Some(dir) = data_dir() else { return };
    let (journal, _) = LmdbJournal::open_with(&dir, 1000, &SMALL).unwrap();
    let log = journal.new_log();
    let session = SessionId::new("s").unwrap();
    let epoch = journal.epoch();
    let mut folded = Vec::new();
    for seq in 1.. {
        if seq % 11 != 1 {
            let event = fact(epoch, seq, delta("answer", "word "));
            journal.spool(log, std::slice::from_ref(&event)).unwrap();
            folded.push(event);
            say(&format!("kept {seq}"));
            continue;
        }
        let kind = if seq == 1 {
            turn_started()
        } else {
            finished("answer")
        };
        // Every second message leaves the spool a commit later than it could.
        let leaving = if seq % 22 == 1 {
            std::mem::take(&mut folded)
        } else {
            Vec::new()
        };
        let batch = Batch {
            log,
            session: session.clone(),
            events: vec![fact(epoch, seq, kind)],
            folded: leaving,
            open_from: Some(Seq(1)),
        };
        journal.commit(batch).await.unwrap();
        say(&format!("kept {seq}"));
    }
}

// proves DU-1, DU-3
#[test]
fn whatever_was_told_as_kept_is_there_after_kill_9() {
    for acks_before_the_kill in [1, 9, 40, 200, 777] {
        let dir = TempDir::new().unwrap();
        let mut program = Command::new(std::env::current_exe().unwrap());
        let mut child = start(
            &mut program,
            "journal::kill::child_keeps_until_it_is_killed",
            dir.path(),
        );
        let mut lines = Vec::new();
        let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
        while said(&lines, "kept ").len() < acks_before_the_kill {
            lines.push(output.next().unwrap().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        lines.extend(output.map(Result::unwrap));

        let (journal, recovered) = LmdbJournal::open_with(dir.path(), 1000, &SMALL).unwrap();
        let kept = seqs(&journal, LogNo(1));
        let told = said(&lines, "kept ");
        let last: u64 = told[told.len() - 1].parse().unwrap();
        assert!(
            kept.len() as u64 >= last,
            "{} kept, {last} told",
            kept.len()
        );
        assert_eq!(kept, (1..=kept.len() as u64).collect::<Vec<_>>());
        assert_eq!(recovered.holes, []);
    }
}

/// Spools against a limit on the size of files until a write fails, then continues.
#[tokio::test]
async fn child_spools_against_a_limit() {
    let Some(dir) = data_dir() else { return };
    let settings = samovar_stores::journal::Settings {
        segment_bytes: u64::MAX,
        ..SMALL
    };
    let (journal, _) = LmdbJournal::open_with(&dir, 1000, &settings).unwrap();
    let data = Data {
        dir: TempDir::new().unwrap(),
        journal,
        recovered: samovar_stores::journal::Recovered::default(),
    };
    let log = data.session("s").await;
    let (mut seq, mut failures) = (4, 0);
    while failures < 3 {
        // Positions of what was not kept are given again, to events that say so.
        let text = format!("try {failures} {}", "x".repeat(10_000));
        let events = [seq, seq + 1].map(|seq| log.fact(seq, delta("answer", &text)));
        match data.journal.spool(log.no, &events) {
            Ok(()) => {
                say(&format!("spooled {}:{failures}", seq + 1));
                seq += 2;
            }
            Err(broken) => {
                say(&format!("failed {broken}"));
                failures += 1;
            }
        }
    }
    std::process::abort();
}

/// What a child says that cannot write files of more blocks than this, each of 512 bytes (or 1,024:
/// shells differ).
fn lines_under_a_limit(test: &str, dir: &Path, blocks: u32) -> Vec<String> {
    // Both halves of what the shell says are inherited: the limit, and that passing it is no signal.
    let mut program = Command::new("sh");
    program
        .arg("-c")
        .arg(format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""
        ))
        .arg(std::env::current_exe().unwrap());
    let mut child = start(&mut program, test, dir);
    let output = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = output.map(Result::unwrap).collect();
    child.wait().unwrap();
    lines
}

// proves DU-3
#[test]
fn a_short_write_ends_the_segment_and_leaves_nothing_to_believe() {
    let dir = TempDir::new().unwrap();
    let lines = lines_under_a_limit(
        "journal::kill::child_spools_against_a_limit",
        dir.path(),
        512,
    );

    let failed = said(&lines, "failed ");
    assert_eq!(failed.len(), 3, "{lines:?}");
    assert!(
        failed
            .iter()
            .all(|why| why.starts_with("the store is full")),
        "{failed:?}"
    );
    let segments = super::files(&dir.path().join("spool"));
    assert_eq!(segments.len(), 3);
    let (journal, recovered) = LmdbJournal::open_with(dir.path(), 1000, &SMALL).unwrap();
    let kept = super::all(&journal, LogNo(1));
    assert_eq!(recovered.holes, []);
    let told: Vec<(u64, u64)> = said(&lines, "spooled ")
        .into_iter()
        .map(|line| line.split_once(':').unwrap())
        .map(|(seq, failures)| (seq.parse().unwrap(), failures.parse().unwrap()))
        .collect();
    let last = told[told.len() - 1].0;
    assert_eq!(kept.len() as u64, last);
    for (seq, failures) in told {
        let event = &kept[usize::try_from(seq).unwrap() - 1];
        let said = serde_json::to_string(&event.kind).unwrap();
        assert!(said.contains(&format!("try {failures} ")), "seq {seq}");
    }
}

/// Commits large batches against a limit on the size of files until one fails, then small ones.
#[tokio::test]
async fn child_commits_against_a_limit() {
    let Some(dir) = data_dir() else { return };
    let (journal, _) = LmdbJournal::open_with(&dir, 1000, &SMALL).unwrap();
    let data = Data {
        dir: TempDir::new().unwrap(),
        journal,
        recovered: samovar_stores::journal::Recovered::default(),
    };
    let log = data.session("s").await;
    let large = "x".repeat(50_000);
    for seq in 4.. {
        let batch = log.batch(&[], &[log.fact(seq, delta("answer", &large))], Some(2));
        if let Err(broken) = data.journal.commit(batch).await {
            say(&format!("failed {broken}"));
            log.commit(&[log.fact(seq, finished("small"))], &[], Some(2))
                .await;
            say(&format!("kept {seq}"));
            return;
        }
    }
}

// proves DU-12
#[test]
fn a_commit_that_a_full_disk_or_a_limit_cuts_short_costs_no_later_one() {
    // The second leaves room for everything but a longer journal.
    for blocks in [512, 8192] {
        let dir = TempDir::new().unwrap();
        let child = "journal::kill::child_commits_against_a_limit";
        let lines = lines_under_a_limit(child, dir.path(), blocks);

        let failed = said(&lines, "failed ");
        assert_eq!(failed.len(), 1, "{lines:?}");
        assert!(failed[0].starts_with("the store is full"), "{failed:?}");
        let told = said(&lines, "kept ");
        assert_eq!(told.len(), 1, "{lines:?}");
        let (journal, _) = LmdbJournal::open_with(dir.path(), 1000, &SMALL).unwrap();
        let last: u64 = told[0].parse().unwrap();
        assert_eq!(seqs(&journal, LogNo(1)), (1..=last).collect::<Vec<_>>());
    }
}
