//! The journal with its spool, on real files.

mod boot;
mod commit;
mod contract;
mod cut;
mod durability;
mod flip;
mod kill;
mod spool;
mod sweep;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use samovar_core::event::{Fragment, Kind};
use samovar_core::journal::{Batch, LogNo};
use samovar_core::message::Message;
use samovar_core::{
    AgentPath, Author, Bounds, Durability, Epoch, Event, FinishReason, Journal, MessageId, Millis,
    Part, Role, Seq, SessionId, TurnId, Usage,
};
use samovar_stores::journal::{LmdbJournal, Recovered, Settings};
use tempfile::TempDir;

/// Small files, so that tests reach their ends.
const SMALL: Settings = Settings {
    map_bytes: 64 << 20,
    segment_bytes: 4096,
    durability: Durability::Power,
    boot_id: None,
};

/// A data directory and the journal in it.
struct Data {
    dir: TempDir,
    journal: LmdbJournal,
    recovered: Recovered,
}

impl Data {
    fn new() -> Self {
        Self::open(TempDir::new().unwrap())
    }

    fn open(dir: TempDir) -> Self {
        // Every journal that a test leaves is one that must not be called damaged.
        LmdbJournal::check(dir.path(), u64::MAX).unwrap();
        let (journal, recovered) = LmdbJournal::open_with(dir.path(), 1000, &SMALL).unwrap();
        assert_eq!(journal.audit().unwrap(), []);
        Self {
            dir,
            journal,
            recovered,
        }
    }

    /// The data directory as a kill at this moment would leave it.
    fn killed(&self) -> TempDir {
        let copy = TempDir::new().unwrap();
        for folder in ["journal", "spool"] {
            fs::create_dir(copy.path().join(folder)).unwrap();
            for file in files(&self.dir.path().join(folder)) {
                let name = file.file_name().unwrap();
                fs::copy(&file, copy.path().join(folder).join(name)).unwrap();
            }
        }
        copy
    }

    /// What a start after a kill at this moment finds.
    fn reborn(&self) -> Self {
        Self::open(self.killed())
    }

    async fn reopened(self) -> Self {
        self.journal.close().await.unwrap();
        drop(self.journal);
        Self::open(self.dir)
    }

    fn segments(&self) -> Vec<PathBuf> {
        files(&self.dir.path().join("spool"))
    }

    async fn session(&self, name: &str) -> Log<'_> {
        Log::begin(&self.journal, name).await
    }
}

/// A log and how its events are made.
struct Log<'a> {
    journal: &'a dyn Journal,
    no: LogNo,
    session: SessionId,
}

impl<'a> Log<'a> {
    /// That of a session with an open turn: positions 1 to 3 are kept.
    async fn begin(journal: &'a dyn Journal, name: &str) -> Self {
        let log = Log {
            journal,
            no: journal.new_log(),
            session: SessionId::new(name).unwrap(),
        };
        let opening = [
            log.fact(1, opened()),
            log.fact(2, finished("question")),
            log.fact(3, turn_started()),
        ];
        log.commit(&opening, &[], Some(2)).await;
        log
    }

    fn fact(&self, seq: u64, kind: Kind) -> Arc<Event> {
        fact(self.journal.epoch(), seq, kind)
    }

    fn delta(&self, seq: u64) -> Arc<Event> {
        self.fact(seq, delta("answer", &format!("word {seq} ")))
    }

    fn deltas(&self, seqs: impl IntoIterator<Item = u64>) -> Vec<Arc<Event>> {
        seqs.into_iter().map(|seq| self.delta(seq)).collect()
    }

    fn spool(&self, events: &[Arc<Event>]) {
        self.journal.spool(self.no, events).unwrap();
    }

    fn batch(&self, events: &[Arc<Event>], folded: &[Arc<Event>], open: Option<u64>) -> Batch {
        Batch {
            log: self.no,
            session: self.session.clone(),
            events: events.to_vec(),
            folded: folded.to_vec(),
            open_from: open.map(Seq),
        }
    }

    async fn commit(&self, events: &[Arc<Event>], folded: &[Arc<Event>], open: Option<u64>) {
        let batch = self.batch(events, folded, open);
        self.journal.commit(batch).await.unwrap();
    }

    /// Ends the open turn at a position.
    async fn finish(&self, seq: u64) {
        let end = self.fact(seq, turn_finished());
        self.commit(&[end], &[], None).await;
    }
}

/// Everything that a log holds, read in one go.
fn all(journal: &dyn Journal, log: LogNo) -> Vec<Event> {
    journal.read(log, Seq(0), usize::MAX).unwrap()
}

fn seqs(journal: &dyn Journal, log: LogNo) -> Vec<u64> {
    all(journal, log).iter().map(|event| event.seq.0).collect()
}

/// What stands at a place of a log.
#[derive(Debug, PartialEq, Eq)]
enum LogItem {
    Event(u64),
    /// From here to there nothing is left.
    Lost(u64, u64),
}

/// A log from its start as a reader meets it, who would notice a gap.
fn told(events: &[Event]) -> Vec<LogItem> {
    let mut at = 0;
    let tell = |event: &Event| {
        let told = match lost(event) {
            Some(first) => LogItem::Lost(first, event.seq.0),
            None => LogItem::Event(event.seq.0),
        };
        let first = lost(event).unwrap_or(event.seq.0);
        assert_eq!(first, at + 1, "a gap before {event:?}");
        at = event.seq.0;
        told
    };
    events.iter().map(tell).collect()
}

/// The first position that an event says is lost.
fn lost(event: &Event) -> Option<u64> {
    match event.kind {
        Kind::EventsLost { first } => Some(first.0),
        _ => None,
    }
}

fn fact(epoch: Epoch, seq: u64, kind: Kind) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq(seq),
        epoch,
        at: Millis(1_000_000 + i64::try_from(seq).unwrap() * 10),
        turn: Some(turn()),
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind,
    })
}

fn turn() -> TurnId {
    TurnId::new("turn").unwrap()
}

fn message(id: &str) -> MessageId {
    MessageId::new(id).unwrap()
}

fn opened() -> Kind {
    Kind::SessionOpened {
        model: "test/model".to_owned(),
        route: None,
        metadata: serde_json::Map::new(),
        system_prompt: None,
        approval: None,
        begun_by: None,
    }
}

fn turn_started() -> Kind {
    Kind::TurnStarted {
        model: "test/model".to_owned(),
        route: None,
        limits: samovar_core::Limits::default(),
        approval: samovar_core::Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
        background: false,
        definition: None,
    }
}

fn turn_finished() -> Kind {
    Kind::TurnFinished {
        reason: FinishReason::Model("stop".to_owned()),
        iterations: 1,
        usage: Usage::default(),
        fault: None,
        bill: samovar_core::Bill::default(),
    }
}

fn step_reset() -> Kind {
    Kind::StepReset {
        iteration: 1,
        usage: Usage::default(),
        reason: "cut".to_owned(),
        code: None,
        context: None,
    }
}

fn delta(of: &str, text: &str) -> Kind {
    Kind::Delta {
        message: message(of),
        part: 0,
        fragment: Fragment::Text(text.to_owned()),
    }
}

fn finished(id: &str) -> Kind {
    Kind::finished(Message::new(
        message(id),
        Role::Assistant,
        vec![Part::text("whole")],
        Millis(1),
    ))
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
}
