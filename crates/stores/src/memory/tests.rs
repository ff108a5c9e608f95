use samovar_core::event::Fragment;
use samovar_core::{Approval, Bounds, FinishReason, Limits, Message, MessageId, Role, TurnId};
use samovar_core::{Part, Usage};

use super::*;

const LATER: Millis = Millis(i64::MAX);

/// A journal with one log: a session with an open turn, whose positions 1 to 3 are kept.
struct Rig {
    journal: MemoryJournal,
    log: LogNo,
    session: SessionId,
}

impl Rig {
    async fn new() -> Self {
        let journal = MemoryJournal::new();
        let rig = Self {
            log: journal.new_log(),
            session: SessionId::new("s").unwrap(),
            journal,
        };
        let opening = [
            event(1, opened()),
            event(2, said("question")),
            event(3, turn_started()),
        ];
        rig.commit(&opening, &[], Some(2)).await.unwrap();
        rig
    }

    async fn commit(
        &self,
        events: &[Arc<Event>],
        folded: &[Arc<Event>],
        open_from: Option<u64>,
    ) -> Result<(), Broken> {
        let batch = Batch {
            log: self.log,
            session: self.session.clone(),
            events: events.to_vec(),
            folded: folded.to_vec(),
            open_from: open_from.map(Seq),
        };
        self.journal.commit(batch).await
    }

    async fn finish(&self, seq: u64) {
        let end = [event(seq, turn_finished())];
        self.commit(&end, &[], None).await.unwrap();
    }

    async fn projected_and_swept(&self, up_to: u64, before: Millis) {
        self.journal.projected(vec![(self.log, Seq(up_to))]);
        self.journal.sweep(before).await.unwrap();
    }

    fn seqs(&self) -> Vec<u64> {
        let events = self.journal.read(self.log, Seq(0), usize::MAX).unwrap();
        events.iter().map(|event| event.seq.0).collect()
    }

    fn entry(&self) -> Option<LogEntry> {
        self.journal.entry(&self.session).unwrap()
    }
}

#[tokio::test]
async fn what_is_read_is_what_was_kept_in_the_order_of_the_positions() {
    let rig = Rig::new().await;
    rig.journal
        .spool(rig.log, &[delta(4), delta(5), delta(6)])
        .unwrap();
    assert_eq!(rig.seqs(), [1, 2, 3], "live events come with a commit");
    let folded = [delta(4), delta(6)];
    let events = [event(5, turn_started()), event(7, said("answer"))];
    rig.commit(&events, &folded, Some(2)).await.unwrap();

    assert_eq!(rig.seqs(), [1, 2, 3, 4, 5, 6, 7]);
    let read = rig.journal.read(rig.log, Seq(6), usize::MAX).unwrap();
    assert_eq!(read, [Event::clone(&events[1])]);
    assert_eq!(rig.journal.read(rig.log, Seq(7), 1).unwrap(), []);
    let other = rig.journal.new_log();
    assert_eq!(rig.journal.read(other, Seq(0), 1).unwrap(), []);
    // A page has at least one event, and the durable ones say how far they looked.
    for max_bytes in [0, 1] {
        assert_eq!(
            rig.journal.read(rig.log, Seq(3), max_bytes).unwrap().len(),
            1
        );
    }
    let read = rig.journal.read_durable(rig.log, Seq(3), usize::MAX);
    let (durable, seen) = read.unwrap();
    let durable: Vec<_> = durable.iter().map(|event| event.seq.0).collect();
    assert_eq!((durable, seen), (vec![5, 7], Seq(7)));
}

#[tokio::test]
async fn a_commit_that_is_refused_leaves_nothing() {
    let rig = Rig::new().await;
    let before = (rig.entry(), rig.journal.held());
    let stale = Arc::new(Event {
        epoch: Epoch(2),
        ..Event::clone(&event(5, said("stale")))
    });
    for batch in [
        [event(4, said("new")), event(3, said("taken"))],
        [event(4, said("new")), stale.clone()],
    ] {
        let refused = rig.commit(&batch, &[], None).await;
        assert!(matches!(refused, Err(Broken::Io(_))), "{refused:?}");
        assert_eq!((rig.entry(), rig.journal.held()), before);
    }
    assert!(rig.journal.spool(rig.log, &[stale]).is_err());
}

#[tokio::test]
async fn what_the_history_may_lack_stays_until_it_is_projected_whole() {
    let rig = Rig::new().await;
    rig.finish(4).await;
    for mark in [0, 3] {
        rig.projected_and_swept(mark, LATER).await;
        assert_eq!(rig.seqs(), [1, 2, 3, 4]);
        assert!(rig.entry().unwrap().unprojected);
    }
    assert_eq!(rig.journal.unsettled().unwrap().len(), 1);

    rig.projected_and_swept(4, LATER).await;
    assert_eq!(rig.entry(), None);
    assert_eq!(rig.journal.unsettled().unwrap(), []);
    assert_eq!(rig.journal.held(), Held::default());
    // A log that is still in use goes on where it was.
    let next = [event(5, said("next")), event(6, turn_started())];
    rig.commit(&next, &[], Some(5)).await.unwrap();
    let entry = rig.entry().unwrap();
    assert_eq!((entry.head, entry.open_from), (Seq(6), Some(Seq(5))));
    assert!(entry.unprojected && !entry.deleted);
}

#[tokio::test]
async fn a_sweep_spares_unfinished_turns_and_what_finished_since() {
    let rig = Rig::new().await;
    rig.finish(4).await;
    let next = [event(5, said("next")), event(6, turn_started())];
    rig.commit(&next, &[], Some(5)).await.unwrap();
    rig.finish(7).await;
    let third = [event(8, said("third")), event(9, turn_started())];
    rig.commit(&third, &[], Some(8)).await.unwrap();

    // Event n is made at 10 n: the first turn finished before this, the second since.
    rig.projected_and_swept(9, Millis(41)).await;
    assert_eq!(rig.seqs(), [5, 6, 7, 8, 9]);
    rig.projected_and_swept(9, Millis(70)).await;
    assert_eq!(rig.seqs(), [5, 6, 7, 8, 9]);
    rig.projected_and_swept(9, LATER).await;
    assert_eq!(rig.seqs(), [8, 9]);
    let unsettled = rig.journal.unsettled().unwrap();
    assert_eq!(unsettled[0].1.open_from, Some(Seq(8)), "it is unfinished");
}

#[tokio::test]
async fn a_message_that_waited_while_a_turn_finished_is_not_swept_with_it() {
    let rig = Rig::new().await;
    let waits = [event(4, said("next"))];
    rig.commit(&waits, &[], Some(2)).await.unwrap();
    rig.finish(5).await;
    let begins = [event(6, turn_started())];
    rig.commit(&begins, &[], Some(4)).await.unwrap();
    rig.projected_and_swept(6, LATER).await;
    assert_eq!(rig.seqs(), [4, 5, 6]);
    rig.finish(7).await;
    rig.projected_and_swept(7, LATER).await;
    assert_eq!(rig.journal.held(), Held::default());
}

#[tokio::test]
async fn a_deleted_session_leaves_nothing_once_the_history_has_heard_of_it() {
    let rig = Rig::new().await;
    let closed = [event(4, Kind::SessionClosed)];
    rig.commit(&closed, &[], None).await.unwrap();
    assert_eq!(rig.seqs(), [4], "nobody needs what stands before");
    let entry = rig.entry().unwrap();
    assert!(entry.deleted && entry.unprojected);
    assert_eq!(entry.head, Seq(4));

    rig.journal.projected(vec![(rig.log, Seq(4))]);
    assert_eq!(rig.entry(), None);
    assert_eq!(rig.journal.held(), Held::default());
}

#[tokio::test]
async fn a_session_that_is_made_anew_has_a_log_of_its_own() {
    let rig = Rig::new().await;
    let closed = [event(4, Kind::SessionClosed)];
    rig.commit(&closed, &[], None).await.unwrap();
    let anew = rig.journal.new_log();
    let batch = Batch {
        log: anew,
        session: rig.session.clone(),
        events: vec![event(5, opened())],
        folded: Vec::new(),
        open_from: None,
    };
    rig.journal.commit(batch).await.unwrap();
    assert_eq!(rig.entry().unwrap().log, anew);
    // The deletion of the old one takes nothing of the new one along.
    rig.journal.projected(vec![(rig.log, Seq(4))]);
    assert_eq!(rig.entry().unwrap().log, anew);
    rig.journal.discard(&rig.session).await.unwrap();
    assert_eq!(rig.entry(), None);
    assert_eq!(rig.journal.held(), Held::default());
}

#[tokio::test]
async fn what_is_given_up_is_stepped_over_and_not_given_out_again() {
    let rig = Rig::new().await;
    rig.finish(4).await;
    rig.journal
        .give_up(rig.log, Seq(9), Millis(90))
        .await
        .unwrap();
    let read = rig.journal.read(rig.log, Seq(4), 1).unwrap();
    assert_eq!(read[0].seq, Seq(9));
    assert_eq!(read[0].kind, Kind::EventsLost { first: Seq(5) });
    assert_eq!(rig.entry().unwrap().head, Seq(9));
    // What it has already is not given up.
    rig.journal
        .give_up(rig.log, Seq(3), Millis(90))
        .await
        .unwrap();
    assert_eq!(rig.seqs(), [1, 2, 3, 4, 9]);
}

#[tokio::test]
async fn thousands_of_turns_take_no_more_memory_than_a_few() {
    let rig = Rig::new().await;
    rig.finish(4).await;
    let mut most = Held::default();
    for turn in 0..5_000 {
        let first = 5 + turn * 4;
        let begun = [
            event(first, said("again")),
            event(first + 1, turn_started()),
        ];
        rig.commit(&begun, &[], Some(first)).await.unwrap();
        let folded = [delta(first + 2)];
        let end = [event(first + 3, turn_finished())];
        rig.commit(&end, &folded, None).await.unwrap();
        if turn % 10 == 9 {
            let now = i64::try_from(first).unwrap() * 10;
            rig.projected_and_swept(first + 3, Millis(now - 200)).await;
        }
        let held = rig.journal.held();
        most.events = most.events.max(held.events);
        most.bytes = most.bytes.max(held.bytes);
        assert_eq!(held.logs, 1);
    }
    assert!(most.events <= 100, "{most:?}");
    assert!(most.bytes <= 100 * 2048, "{most:?}");
    let due = rig.journal.state().logs[&rig.log].due.len();
    assert!(due <= 20, "{due}");
}

#[tokio::test]
async fn a_closed_journal_holds_nothing_and_takes_nothing() {
    let rig = Rig::new().await;
    rig.journal.close().await.unwrap();
    assert_eq!(rig.journal.held(), Held::default());
    let late = [event(4, turn_finished())];
    assert!(rig.commit(&late, &[], None).await.is_err());
    assert!(rig.journal.spool(rig.log, &[delta(4)]).is_err());
    assert!(rig.journal.entry(&rig.session).is_err());
    assert!(rig.journal.sweep(LATER).await.is_err());
    rig.journal.projected(vec![(rig.log, Seq(3))]);
}

fn event(seq: u64, kind: Kind) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq(seq),
        epoch: EPOCH,
        at: Millis(i64::try_from(seq).unwrap() * 10),
        turn: Some(TurnId::new("turn").unwrap()),
        agent: AgentPath::root("master"),
        author: Author::Agent,
        kind,
    })
}

fn delta(seq: u64) -> Arc<Event> {
    let fragment = Fragment::Text(format!("word {seq}"));
    let message = MessageId::new("answer").unwrap();
    event(
        seq,
        Kind::Delta {
            message,
            part: 0,
            fragment,
        },
    )
}

fn opened() -> Kind {
    Kind::SessionOpened {
        model: "test/model".to_owned(),
        metadata: serde_json::Map::new(),
    }
}

fn turn_started() -> Kind {
    Kind::TurnStarted {
        model: "test/model".to_owned(),
        limits: Limits::default(),
        approval: Approval::Auto,
        bounds: Bounds::default(),
        parent_call: None,
    }
}

fn turn_finished() -> Kind {
    Kind::TurnFinished {
        reason: FinishReason::Model("stop".to_owned()),
        iterations: 1,
        usage: Usage::default(),
        fault: None,
    }
}

fn said(text: &str) -> Kind {
    Kind::finished(Message {
        id: MessageId::new(text).unwrap(),
        role: Role::User,
        parts: vec![Part::Text {
            text: text.to_owned(),
        }],
        parent: None,
        usage: None,
        model: None,
        finish_reason: None,
        metadata: serde_json::Map::new(),
        created_at: Millis(1),
    })
}
