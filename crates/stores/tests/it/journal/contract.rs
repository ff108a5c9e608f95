//! What every journal must do, run against every journal there is.

use std::ops::Deref;
use std::sync::Arc;

use samovar_core::event::Kind;
use samovar_core::journal::LogEntry;
use samovar_core::{Broken, Epoch, Event, Journal, Millis, Seq, SessionId};
use samovar_doubles::MemoryJournal;
use samovar_stores::journal::LmdbJournal;
use tempfile::TempDir;

use super::{Log, SMALL, all, delta, fact, finished, opened, seqs, turn_finished, turn_started};

const LATER: Millis = Millis(i64::MAX);

/// Every journal there is, new; a further one adds a line.
fn journals() -> Vec<Case> {
    vec![
        Case::new("memory", |_| Arc::new(MemoryJournal::new())),
        Case::new("lmdb", |dir| {
            let opened = LmdbJournal::open_with(dir.path(), 1000, &SMALL);
            Arc::new(opened.unwrap().0)
        }),
    ]
}

/// A journal under test, and the folder that it may use.
struct Case {
    name: &'static str,
    journal: Arc<dyn Journal>,
    _dir: TempDir,
}

impl Case {
    fn new(name: &'static str, open: impl FnOnce(&TempDir) -> Arc<dyn Journal>) -> Self {
        let dir = TempDir::new().unwrap();
        Self {
            name,
            journal: open(&dir),
            _dir: dir,
        }
    }

    fn entry(&self, log: &Log<'_>) -> Option<LogEntry> {
        self.journal.entry(&log.session).unwrap()
    }

    fn seqs(&self, log: &Log<'_>) -> Vec<u64> {
        seqs(&*self.journal, log.no)
    }

    async fn projected_and_swept(&self, log: &Log<'_>, up_to: u64, before: Millis) {
        self.journal.projected(vec![(log.no, Seq(up_to))]);
        self.journal.sweep(before).await.unwrap();
    }

    /// A log of the same session that begins again.
    async fn anew<'a>(&'a self, log: &Log<'_>, seq: u64) -> Log<'a> {
        let anew = Log {
            journal: &*self.journal,
            no: self.journal.new_log(),
            session: log.session.clone(),
        };
        anew.commit(&[anew.fact(seq, opened())], &[], None).await;
        anew
    }
}

impl Deref for Case {
    type Target = dyn Journal;

    fn deref(&self) -> &Self::Target {
        &*self.journal
    }
}

impl Drop for Case {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the journal is {}", self.name);
        }
    }
}

#[tokio::test]
async fn a_reader_gets_exactly_what_lies_behind_its_position_in_windows_of_any_size() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        let live = log.deltas(4..=303);
        log.spool(&live);
        assert_eq!(
            journal.seqs(&log),
            [1, 2, 3],
            "live events come with a commit"
        );
        log.commit(&[log.fact(304, finished("answer"))], &live, Some(2))
            .await;
        log.finish(305).await;
        let whole = all(&*journal, log.no);
        assert_eq!(journal.seqs(&log), (1..=305).collect::<Vec<_>>());
        assert_eq!(*live[7], whole[10]);

        for after in [0, 1, 3, 4, 150, 303, 304, 305, u64::MAX] {
            let behind = journal.read(log.no, Seq(after), usize::MAX).unwrap();
            let expected = whole.iter().filter(|event| event.seq > Seq(after));
            assert!(behind.iter().eq(expected), "behind {after}");
        }
        for window in [0, 1, 1000, 100_000] {
            let (mut read, mut more) = (Vec::new(), all_behind(&journal, &log, 0, window));
            while !more.is_empty() {
                read.append(&mut more);
                more = all_behind(&journal, &log, read.len() as u64, window);
            }
            assert_eq!(read, whole);
        }
        let durable: Vec<_> = whole
            .iter()
            .filter(|event| event.kind.is_durable())
            .collect();
        for (after, window) in [(0, 1), (0, 4096), (2, usize::MAX), (150, 1), (305, 1)] {
            let (mut at, mut read) = (Seq(after), Vec::new());
            loop {
                let (events, seen) = journal.read_durable(log.no, at, window).unwrap();
                read.extend(events);
                if seen <= at {
                    break;
                }
                at = seen;
            }
            let behind = durable.iter().filter(|event| event.seq > Seq(after));
            assert!(read.iter().eq(behind.copied()), "behind {after}: {read:?}");
        }
        let other = journal.new_log();
        assert_eq!(journal.read(other, Seq(0), 1).unwrap(), []);
    }
}

fn all_behind(journal: &Case, log: &Log<'_>, after: u64, max_bytes: usize) -> Vec<Event> {
    journal.read(log.no, Seq(after), max_bytes).unwrap()
}

#[tokio::test]
async fn an_event_of_another_epoch_or_at_a_taken_position_is_refused_with_its_whole_batch() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        let before = journal.entry(&log);
        let stale = fact(Epoch(999), 5, finished("m"));
        let taken = log.fact(3, turn_started());
        for (event, named) in [(stale, "epoch 999"), (taken, "seq 3")] {
            let batch = log.batch(&[log.fact(4, finished("new")), event], &[], Some(2));
            let Err(Broken::Io(why)) = journal.commit(batch).await else {
                panic!("it was kept: {named}");
            };
            assert!(why.contains(named), "{why}");
            assert_eq!(journal.seqs(&log), [1, 2, 3]);
            assert_eq!(journal.entry(&log), before);
        }
        let stale = fact(Epoch(999), 4, delta("m", "x"));
        assert!(journal.spool(log.no, &[stale]).is_err());
    }
}

#[tokio::test]
async fn an_entry_counts_folded_events_and_says_what_is_unsettled() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.commit(&[], &log.deltas(4..=9), Some(2)).await;
        let expected = LogEntry {
            log: log.no,
            head: Seq(9),
            open_from: Some(Seq(2)),
            unprojected: true,
            deleted: false,
        };
        assert_eq!(journal.entry(&log), Some(expected.clone()));
        let unsettled = journal.unsettled().unwrap();
        assert_eq!(unsettled, [(log.session.clone(), expected)]);
        let unknown = SessionId::new("unknown").unwrap();
        assert_eq!(journal.journal.entry(&unknown).unwrap(), None);
    }
}

// proves DU-1
#[tokio::test]
async fn what_the_history_may_lack_stays_until_it_is_projected_whole() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.finish(4).await;
        for mark in [0, 3] {
            journal.projected_and_swept(&log, mark, LATER).await;
            assert_eq!(journal.seqs(&log), [1, 2, 3, 4]);
            assert!(journal.entry(&log).unwrap().unprojected);
        }
        assert_eq!(journal.unsettled().unwrap().len(), 1);

        journal.projected(vec![(log.no, Seq(4)), (log.no, Seq(2))]);
        journal.sweep(LATER).await.unwrap();
        assert_eq!(journal.seqs(&log), [0; 0]);
        assert_eq!(journal.entry(&log), None);
        assert_eq!(journal.unsettled().unwrap(), []);
    }
}

// proves DU-1, DU-7
#[tokio::test]
async fn a_sweep_spares_unfinished_turns_and_what_finished_since() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.finish(4).await;
        let second = [log.fact(5, turn_started()), log.fact(6, finished("m"))];
        log.commit(&second, &[], Some(5)).await;
        log.finish(7).await;
        log.commit(&[log.fact(8, turn_started())], &[], Some(8))
            .await;

        // Event n is made at 1,000,000 + 10 n: the first turn finished before this, the second since.
        for (before, left) in [
            (Millis(1_000_041), vec![5, 6, 7, 8]),
            (Millis(1_000_070), vec![5, 6, 7, 8]),
            (LATER, vec![8]),
        ] {
            journal.projected_and_swept(&log, 8, before).await;
            assert_eq!(journal.seqs(&log), left);
        }
        let entry = journal.entry(&log).unwrap();
        assert_eq!((entry.head, entry.open_from), (Seq(8), Some(Seq(8))));
        assert_eq!(journal.unsettled().unwrap().len(), 1, "it is unfinished");

        log.finish(9).await;
        journal.projected_and_swept(&log, 9, LATER).await;
        assert_eq!(journal.entry(&log), None);
        // A log that is still in use begins again where it was.
        log.commit(&[log.fact(10, turn_started())], &[], Some(10))
            .await;
        assert_eq!(journal.seqs(&log), [10]);
        let entry = journal.entry(&log).unwrap();
        assert_eq!((entry.head, entry.open_from), (Seq(10), Some(Seq(10))));
        assert!(entry.unprojected && !entry.deleted);
    }
}

// proves DU-1
#[tokio::test]
async fn a_message_that_waited_while_a_turn_finished_is_not_swept_with_it() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.commit(&[log.fact(4, finished("next question"))], &[], Some(2))
            .await;
        log.finish(5).await;
        log.commit(&[log.fact(6, turn_started())], &[], Some(4))
            .await;
        journal.projected_and_swept(&log, 6, LATER).await;
        assert_eq!(journal.seqs(&log), [4, 5, 6]);
        log.finish(7).await;
        journal.projected_and_swept(&log, 7, LATER).await;
        assert_eq!(journal.entry(&log), None);
    }
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_and_may_begin_again_in_a_new_log() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.commit(&[log.fact(4, Kind::SessionClosed)], &[], None)
            .await;
        let entry = journal.entry(&log).unwrap();
        assert!(entry.deleted && entry.unprojected);
        assert_eq!(entry.head, Seq(4));
        journal.projected_and_swept(&log, 4, LATER).await;
        assert_eq!(journal.seqs(&log), [0; 0]);
        assert!(journal.entry(&log).is_none_or(|entry| entry.deleted));
        assert_eq!(journal.unsettled().unwrap(), []);

        let anew = journal.anew(&log, 5).await;
        let entry = journal.entry(&log).unwrap();
        let found = (entry.log, entry.deleted, entry.head);
        assert_eq!(found, (anew.no, false, Seq(5)));
        journal.discard(&log.session).await.unwrap();
        assert_eq!(journal.seqs(&anew), [0; 0]);
        assert!(journal.entry(&log).is_none_or(|entry| entry.deleted));
        assert_eq!(journal.unsettled().unwrap(), []);
    }
}

#[tokio::test]
async fn an_old_log_that_is_swept_late_does_not_take_its_session_with_it() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        log.commit(&[log.fact(4, Kind::SessionClosed)], &[], None)
            .await;
        let anew = journal.anew(&log, 5).await;
        let unsettled = journal.unsettled().unwrap();
        let logs: Vec<_> = unsettled.iter().map(|(_, entry)| entry.log).collect();
        assert_eq!(logs, [log.no, anew.no], "the old one first");

        journal.projected_and_swept(&log, 4, LATER).await;
        assert_eq!(journal.seqs(&log), [0; 0]);
        let entry = journal.entry(&log).unwrap();
        assert_eq!((entry.log, entry.deleted), (anew.no, false));
        assert_eq!(journal.unsettled().unwrap().len(), 1);
    }
}

// proves DU-13
#[tokio::test]
async fn positions_that_a_journal_lacks_and_the_history_knew_are_one_event_in_the_log() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        // What it has already is not given up.
        for up_to in [8, 6] {
            let given_up = journal.give_up(log.no, Seq(up_to), Millis(90));
            given_up.await.unwrap();
        }
        assert_eq!(journal.entry(&log).unwrap().head, Seq(8));
        log.commit(&[log.fact(9, finished("later"))], &[], Some(2))
            .await;
        assert_eq!(journal.seqs(&log), [1, 2, 3, 8, 9]);
        let read = journal.read(log.no, Seq(3), 1).unwrap();
        assert_eq!(read[0].kind, Kind::EventsLost { first: Seq(4) });
    }
}

#[tokio::test]
async fn a_closed_journal_refuses_every_call() {
    for journal in journals() {
        let log = Log::begin(&*journal, "s").await;
        let batch = log.batch(&[log.fact(4, turn_finished())], &[], None);
        let deltas = log.deltas([4]);
        journal.close().await.unwrap();

        assert!(journal.commit(batch).await.is_err());
        assert!(journal.spool(log.no, &deltas).is_err());
        assert!(journal.read(log.no, Seq(0), 1).is_err());
        assert!(journal.journal.entry(&log.session).is_err());
        assert!(journal.unsettled().is_err());
        assert!(journal.sweep(LATER).await.is_err());
        journal.projected(vec![(log.no, Seq(3))]);
    }
}
