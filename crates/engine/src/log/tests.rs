use std::sync::Mutex;

use samovar_core::event::Fragment;
use samovar_core::{Future, MessageId, Millis};
use samovar_doubles::{MemoryJournal, Over, OverJournal, TestClock};
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
        keeping: Keeping::Durable,
        session,
        own: AgentPath::root("master"),
        log: LogNo(1),
        head: Seq(0),
        open: Vec::new(),
        tail_bytes,
        held: crate::memory::Memory::new(1 << 30).share(),
        is_retained: true,
        feed: None,
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
        agent: Some(AgentPath::root("master")),
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
        quote: None,
        told: None,
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
        assert!(log.shared.state().tail.bytes() <= 66 * 1024);
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
    assert_eq!(commit(vec![finished()]).await, None);
}

// proves DU-8
#[tokio::test]
async fn a_log_leaves_memory_once_no_turn_reader_or_history_needs_it() {
    let (journal, log) = fresh(1 << 20);
    let commit = async |drafts| {
        let (kept, _) = tokio::join!(log.append(drafts), async { journal.answer(Ok(())) });
        kept.unwrap();
    };
    let held = || log.shared.state().tail.bytes();
    commit(vec![durable()]).await;
    for _ in 0..200 {
        log.live(vec![delta(&"x".repeat(1000))]).unwrap();
    }
    drop(log.follow(Seq(0)));
    log.is_projected(Seq(1));
    assert!(held() > 200_000, "the turn runs: {}", held());

    let (mut near, far) = (log.follow(Seq(0)), log.follow(Seq(0)));
    commit(vec![finished()]).await;
    drop(far);
    log.is_projected(Seq(202));
    assert!(held() > 200_000, "it has a reader");
    assert_eq!(seen(&mut near).await.len(), 202);
    drop(near);
    assert_eq!(held(), 0);

    commit(vec![durable(), finished()]).await;
    drop(log.follow(Seq(202)));
    assert!(held() > 0, "the history lacks it");
    assert_eq!(seen(&mut log.follow(Seq(202))).await, [203, 204]);
    log.is_projected(Seq(204));
    assert_eq!(held(), 0);
}

fn finished() -> Draft {
    draft(Kind::TurnFinished {
        reason: samovar_core::FinishReason::Cancelled,
        iterations: 1,
        usage: samovar_core::Usage::default(),
        fault: None,
        bill: samovar_core::Bill::default(),
    })
}

/// A live event, as an answer brings it.
fn live_event(seq: u64, (kind, part, text, later): (u8, u16, String, i64)) -> Arc<Event> {
    let message = MessageId::new("m").unwrap();
    let fragment = match kind {
        0 => Fragment::Reasoning(text),
        1 => Fragment::Args(text),
        2 => {
            let id = samovar_core::CallId::new("call").unwrap();
            Fragment::Call { id, name: text }
        }
        _ => Fragment::Text(text),
    };
    let Draft {
        turn,
        agent,
        author,
        kind,
    } = draft(Kind::Delta {
        message,
        part,
        fragment,
    });
    Arc::new(Event {
        seq: Seq(seq),
        epoch: samovar_core::Epoch(1),
        at: Millis(later),
        turn,
        agent: agent.unwrap(),
        author,
        kind,
    })
}

proptest::proptest! {
    // proves DU-7, DU-8
    #[test]
    fn packed_fragments_are_read_and_folded_as_they_came(
        live in proptest::collection::vec((0_u8..9, 0_u16..2, ".{0,9}", -9_i64..9_000_000_000), 1..80),
        shown in 0_usize..80,
    ) {
        let events: Vec<_> = (1..).zip(live).map(|(seq, event)| live_event(seq, event)).collect();
        let mut tail = Tail::new(Seq(0), usize::MAX, Keeping::Durable);
        for event in &events {
            tail.push(event.clone());
        }
        let shown = shown.min(events.len());
        tail.kept(&events[..shown]);
        proptest::prop_assert_eq!(tail.advance().0.0, shown as u64);
        for after in 0..shown {
            let read = tail.read(Seq(after as u64), usize::MAX);
            proptest::prop_assert_eq!(read.as_deref(), Some(&events[after..shown]));
        }
        proptest::prop_assert_eq!(tail.fold().0, events.clone());
        tail.folded();
        tail.kept(&events[shown..]);
        tail.advance();
        tail.release();
        proptest::prop_assert_eq!(tail.bytes(), 0);
    }
}

// proves DU-8
#[test]
fn the_fragments_of_an_answer_take_little_more_memory_than_its_text() {
    let mut tail = Tail::new(Seq(0), usize::MAX, Keeping::Durable);
    for seq in 1..=200 {
        let event = live_event(seq, (9, 0, "word ".to_owned(), 40));
        tail.push(event.clone());
        tail.kept(&[event]);
        tail.advance();
    }
    assert!(tail.bytes() < 5_000, "{}", tail.bytes());
}
