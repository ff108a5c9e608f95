//! A process that is killed in the middle of a transaction leaves nothing of it.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use samovar_core::history::{Projection, SessionQuery};
use samovar_core::{History, Seq};
use samovar_stores::history::SqliteHistory;
use tempfile::TempDir;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::{asked, last, open};

/// Set in the process that is to be killed: where its history is.
const VICTIM: &str = "SAMOVAR_TEST_KILLED_HISTORY";
const SESSIONS: u64 = 20;
const IN_THE_MIDDLE: &str = "in the middle";

/// What is new in a session: in the first batch its opening, in each batch a message.
fn grown(session: u64, batch: u64) -> Projection {
    let said = asked(&format!("{session}-{batch}"), None);
    let changes = if batch == 0 {
        vec![(1, open()), (2, said)]
    } else {
        vec![(batch + 2, said)]
    };
    super::projection(&session.to_string(), changes)
}

/// How many batches are in the history; all sessions must have as many.
async fn batches(history: &SqliteHistory) -> u64 {
    let query = SessionQuery {
        edit_forks: true,
        limit: 99,
        ..SessionQuery::default()
    };
    let (sessions, _) = history.sessions(query).await.unwrap();
    let batches = sessions.first().map_or(0, |session| session.message_count);
    for session in &sessions {
        assert_eq!(session.message_count, batches, "{}", session.id);
        assert_eq!(session.projected, Seq(batches + 1), "{}", session.id);
        let messages = history.messages(last(session.id.as_str(), 99)).await;
        assert_eq!(messages.unwrap().len() as u64, batches, "{}", session.id);
    }
    assert!(sessions.is_empty() || sessions.len() as u64 == SESSIONS);
    batches
}

/// Writes one batch whole, and of another so much that its last session has a message with an id
/// that the first one has: the store reports that, and the process goes no further.
async fn write_and_stop(file: &Path) {
    tracing::subscriber::set_global_default(StopAtReport).unwrap();
    let history = SqliteHistory::open(file).await.unwrap();
    let batch = batches(&history).await;
    let whole = (0..SESSIONS).map(|session| grown(session, batch));
    history.project(whole.collect()).await.unwrap();

    let mut broken: Vec<_> = (0..SESSIONS)
        .map(|session| grown(session, batch + 1))
        .collect();
    let (_, taken) = grown(0, batch).changes.pop().unwrap();
    let last = broken.last_mut().unwrap();
    last.changes.push((Seq(batch + 4), taken));
    history.project(broken).await.unwrap();
    unreachable!("nothing was reported");
}

/// Stops the process, with all that is open in it, when the store reports an error.
struct StopAtReport;

impl Subscriber for StopAtReport {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("samovar_stores")
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
    fn event(&self, _: &Event<'_>) {
        println!("\n{IN_THE_MIDDLE}");
        loop {
            std::thread::park();
        }
    }
}

/// Starts a writer and kills it in the middle of its second batch.
fn kill_writer(file: &Path) {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .arg("history::kill::a_killed_writer_leaves_whole_transactions")
        .args(["--exact", "--nocapture"])
        .env(VICTIM, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    let stopped = lines.any(|line| line.unwrap() == IN_THE_MIDDLE);
    assert!(stopped, "the writer ended by itself");
    writer.kill().unwrap();
    writer.wait().unwrap();
}

// proves DU-1
#[tokio::test]
async fn a_killed_writer_leaves_whole_transactions() {
    if let Some(file) = std::env::var_os(VICTIM) {
        return write_and_stop(Path::new(&file)).await;
    }
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("history.db");
    for whole in 1..=3 {
        kill_writer(&file);
        let history = SqliteHistory::open(&file).await.unwrap();
        assert_eq!(batches(&history).await, whole);
    }
}
