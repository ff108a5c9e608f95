use std::sync::Mutex;

use samovar_core::event::Fragment;
use samovar_core::{Future, MessageId, Millis};
use samovar_doubles::{Over, OverJournal, TestClock};
use samovar_stores::memory::MemoryJournal;
use tokio::sync::oneshot;

use super::*;

type Kept = oneshot::Sender<Result<(), Broken>>;

/// A journal whose commits are answered by the test, one by one.
#[derive(Default)]
struct SlowJournal {
    below: MemoryJournal,
    commits: Mutex<Vec<(Batch, Kept)>>,
    spooled: Mutex<Vec<Seq>>,
    is_spool_full: Mutex<bool>,
}

impl SlowJournal {
    fn answer(&self, kept: Result<(), Broken>) -> Batch {
        let (batch, reply) = self.commits.lock().unwrap().remove(0);
        reply.send(kept).unwrap();
        batch
    }
}

impl OverJournal for SlowJournal {
    fn journal(&self) -> &dyn Journal {
        &self.below
    }

    fn commit(&self, batch: Batch) -> Future<'static, Result<(), Broken>> {
        let (reply, kept) = oneshot::channel();
        self.commits.lock().unwrap().push((batch, reply));
        Box::pin(async move { kept.await.unwrap() })
    }

    fn spool(&self, _log: LogNo, events: &[Arc<Event>]) -> Result<(), Broken> {
        if *self.is_spool_full.lock().unwrap() {
            return Err(full());
        }
        let spooled = events.iter().map(|event| event.seq);
        self.spooled.lock().unwrap().extend(spooled);
        Ok(())
    }
}

fn full() -> Broken {
    Broken::Full("no room".to_owned())
}

fn fresh(tail_bytes: usize) -> (Arc<Over<SlowJournal>>, Log) {
    let journal = Arc::new(Over(SlowJournal::default()));
    let session = SessionId::new("s").unwrap();
    let start = LogStart {
        session,
        log: LogNo(1),
        head: Seq(0),
        open: Vec::new(),
        tail_bytes,
    };
    (
        journal.clone(),
        Log::new(start, journal, Arc::new(TestClock::ticking(Millis(7), 0))),
    )
}

fn draft(kind: Kind) -> Draft {
    let turn = Some(TurnId::new("t").unwrap());
    Draft {
        turn,
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind,
    }
}

fn durable() -> Draft {
    draft(Kind::StepStarted {
        iteration: 1,
        attempt: 1,
        reserved_tokens: 1,
        model: None,
        route: None,
    })
}

fn delta(text: &str) -> Draft {
    let message = MessageId::new("m").unwrap();
    draft(Kind::Delta {
        message,
        part: 0,
        fragment: Fragment::Text(text.to_owned()),
    })
}

/// What a follower can get without waiting.
async fn seen(follower: &mut Follower) -> Vec<u64> {
    let mut seen = Vec::new();
    while follower.at < follower.log.published() {
        let events = follower.next().await.unwrap();
        seen.extend(events.iter().map(|event| event.seq.0));
    }
    seen
}

// proves DU-3
#[tokio::test]
async fn nobody_sees_a_durable_event_nor_what_follows_it_before_it_is_kept() {
    let (journal, log) = fresh(1 << 20);
    let mut follower = log.follow(Seq(0));
    log.live(vec![delta("a")]).unwrap();
    assert_eq!(seen(&mut follower).await, [1]);

    let appending = log.append(vec![durable()]);
    let mut appending = std::pin::pin!(appending);
    assert!(futures_util::poll!(&mut appending).is_pending());
    log.live(vec![delta("b"), delta("c")]).unwrap();
    assert!(seen(&mut follower).await.is_empty());

    journal.answer(Ok(()));
    appending.await.unwrap();
    assert_eq!(seen(&mut follower).await, [2, 3, 4]);
}

// proves DU-3
#[tokio::test]
async fn a_commit_takes_along_the_live_events_that_only_the_spool_has() {
    let (journal, log) = fresh(1 << 20);
    log.live(vec![delta("a"), delta("b")]).unwrap();
    let (kept, batch) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Ok(()))
    });
    kept.unwrap();
    let folded: Vec<_> = batch.folded.iter().map(|event| event.seq.0).collect();
    assert_eq!(folded, [1, 2]);

    let (kept, batch) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Ok(()))
    });
    kept.unwrap();
    assert!(batch.folded.is_empty(), "once is enough");
}

#[tokio::test]
async fn commits_of_one_log_go_in_order_and_take_each_live_event_along_once() {
    let (journal, log) = fresh(1 << 20);
    log.live(vec![delta("a")]).unwrap();
    let mut first = std::pin::pin!(log.append(vec![durable()]));
    assert!(futures_util::poll!(&mut first).is_pending());
    log.live(vec![delta("b")]).unwrap();
    let mut second = std::pin::pin!(log.append(vec![durable()]));
    assert!(futures_util::poll!(&mut second).is_pending());
    assert_eq!(journal.commits.lock().unwrap().len(), 1);

    let folded =
        |batch: Batch| -> Vec<u64> { batch.folded.iter().map(|event| event.seq.0).collect() };
    assert_eq!(folded(journal.answer(Ok(()))), [1]);
    first.await.unwrap();
    assert!(futures_util::poll!(&mut second).is_pending());
    assert_eq!(folded(journal.answer(Ok(()))), [3]);
    second.await.unwrap();
}

#[tokio::test]
async fn live_events_of_a_failed_commit_go_with_the_next() {
    let (journal, log) = fresh(1 << 20);
    log.live(vec![delta("a")]).unwrap();
    let (failed, _) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Err(full()))
    });
    failed.unwrap_err();
    let (kept, batch) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Ok(()))
    });
    kept.unwrap();
    assert_eq!(batch.folded[0].seq, Seq(1));
}

#[tokio::test]
async fn what_could_not_be_kept_leaves_no_gap() {
    let (journal, log) = fresh(1 << 20);
    let mut follower = log.follow(Seq(0));
    let (kept, _) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Err(full()))
    });
    assert_eq!(kept.unwrap_err(), full());
    *journal.is_spool_full.lock().unwrap() = true;
    let refused = log.live(vec![delta("a")]).unwrap_err();
    assert_eq!((refused.why, refused.drafts.len()), (full(), 1));
    *journal.is_spool_full.lock().unwrap() = false;

    log.live(vec![delta("b")]).unwrap();
    assert_eq!(seen(&mut follower).await, [1]);
}

// proves DU-12
#[tokio::test]
async fn a_commit_without_room_leaves_no_gap_before_what_was_numbered_behind_it() {
    let (journal, log) = fresh(1 << 20);
    let mut follower = log.follow(Seq(0));
    let mut appending = std::pin::pin!(log.append(vec![durable(), durable()]));
    assert!(futures_util::poll!(&mut appending).is_pending());
    log.live(vec![delta("a")]).unwrap();
    journal.answer(Err(full()));
    assert_eq!(appending.await.unwrap_err(), full());
    assert!(log.wants_folding(), "readers wait");
    assert!(seen(&mut follower).await.is_empty());

    let (failed, batch) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Err(full()))
    });
    failed.unwrap_err();
    assert_eq!(batch.events.len(), 3, "what is owed, and what is new");
    log.live(vec![delta("b")]).unwrap();
    let (kept, batch) = tokio::join!(log.append(vec![durable()]), async {
        journal.answer(Ok(()))
    });

    let kept: Vec<_> = kept.unwrap().iter().map(|event| event.seq.0).collect();
    assert_eq!(kept, [5], "only what was asked for");
    let stands_for = |event: &Arc<Event>| match event.kind {
        Kind::EventsLost { first } => Some((first.0, event.seq.0)),
        _ => None,
    };
    let owed: Vec<_> = batch.events.iter().filter_map(stands_for).collect();
    assert_eq!(owed, [(1, 1), (2, 2)]);
    assert!(!log.wants_folding());
    assert_eq!(seen(&mut follower).await, [1, 2, 3, 4, 5]);
}

#[tokio::test]
async fn a_log_whose_store_failed_for_good_takes_nothing_more() {
    let (journal, log) = fresh(1 << 20);
    let mut follower = log.follow(Seq(0));
    let mut appending = std::pin::pin!(log.append(vec![durable()]));
    assert!(futures_util::poll!(&mut appending).is_pending());
    log.live(vec![delta("a")]).unwrap();
    let failed = Broken::Io("a bad disk".to_owned());
    journal.answer(Err(failed.clone()));
    appending.await.unwrap_err();

    assert_eq!(log.live(vec![delta("b")]).unwrap_err().why, failed);
    assert_eq!(log.append(vec![durable()]).await.unwrap_err(), failed);
    assert!(seen(&mut follower).await.is_empty());
}

#[tokio::test]
async fn memory_is_bounded_once_the_journal_has_the_rest() {
    let (journal, log) = fresh(64 * 1024);
    let text = "x".repeat(1000);
    let mut folds = 0;
    for _ in 0..1000 {
        log.live(vec![delta(&text)]).unwrap();
        if log.wants_folding() {
            folds += 1;
            let (folded, _) = tokio::join!(log.fold(), async { journal.answer(Ok(())) });
            folded.unwrap();
        }
        assert!(log.shared.state().tail.weight() <= 66 * 1024);
    }
    assert!(
        (10..40).contains(&folds),
        "a megabyte in pieces of 64 KiB: {folds}"
    );
}

// proves DU-1
#[tokio::test]
async fn a_commit_says_from_where_unfinished_turns_must_be_read() {
    let (journal, log) = fresh(1 << 20);
    let commit = async |drafts| {
        let (kept, batch) = tokio::join!(log.append(drafts), async { journal.answer(Ok(())) });
        kept.unwrap();
        batch.open_from
    };
    assert_eq!(commit(vec![durable()]).await, Some(Seq(1)));
    assert_eq!(commit(vec![durable()]).await, Some(Seq(1)));
    let finished = Kind::TurnFinished {
        reason: samovar_core::FinishReason::Cancelled,
        iterations: 1,
        usage: samovar_core::Usage::default(),
        fault: None,
    };
    assert_eq!(commit(vec![draft(finished)]).await, None);
}
