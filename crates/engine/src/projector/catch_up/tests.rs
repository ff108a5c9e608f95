use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use samovar_core::Bill;
use samovar_core::journal::{Batch, LogNo};
use samovar_core::{
    AgentPath, Author, Epoch, FinishReason, Journal, Kind, Millis, SessionId, TurnId, Usage,
};
use samovar_doubles::{MemoryJournal, Over, OverJournal};

use super::*;
use crate::projector::read_turn;

fn event(seq: u64) -> Arc<Event> {
    Arc::new(Event {
        seq: Seq(seq),
        epoch: Epoch(1),
        at: Millis(7),
        turn: None,
        agent: AgentPath::root("master"),
        author: Author::System,
        kind: Kind::TurnContinued { in_a_row: 1 },
    })
}

// proves DU-1
#[test]
fn what_a_session_keeps_while_its_rest_is_brought_in_is_left_to_whoever_runs_it() {
    let journal = MemoryJournal::new();
    let batch = Batch {
        log: LogNo(1),
        session: SessionId::new("s").unwrap(),
        events: (1..=9).map(event).collect(),
        folded: Vec::new(),
        open_from: None,
    };
    journal.commit(batch).now_or_never().unwrap().unwrap();

    let read = read_kept(&journal, LogNo(1), Seq(2), (Seq(5), usize::MAX)).unwrap();

    let places: Vec<_> = read.iter().map(|event| event.seq.0).collect();
    assert_eq!(places, [3, 4, 5]);
}

/// A journal that is read event by event and notes which.
#[derive(Default)]
struct Noting {
    journal: MemoryJournal,
    read: Mutex<Vec<u64>>,
}

impl OverJournal for Noting {
    fn journal(&self) -> &dyn Journal {
        &self.journal
    }

    fn read(&self, log: LogNo, after: Seq, _: usize) -> Result<Vec<Event>, Broken> {
        let events = self.journal.read(log, after, 1)?;
        let places = events.iter().map(|event| event.seq.0);
        self.read.lock().unwrap().extend(places);
        Ok(events)
    }
}

// proves MD-8
#[test]
fn of_a_long_log_one_turn_is_read_and_of_a_forgotten_one_next_to_nothing() {
    let journal = Over(Noting::default());
    let [before, asked, after] = ["before", "asked", "after"].map(|id| TurnId::new(id).unwrap());
    let of = |seq: u64, turn: &TurnId| Event {
        turn: Some(turn.clone()),
        ..Event::clone(&event(seq))
    };
    let end = Kind::TurnFinished {
        reason: FinishReason::MaxIterations,
        iterations: 1,
        usage: Usage::default(),
        fault: None,
        bill: Bill::default(),
    };
    let over = Event {
        kind: end,
        ..of(24, &asked)
    };
    let mut events: Vec<_> = (1..20).map(|seq| of(seq, &before)).collect();
    let between = [
        of(20, &asked),
        of(21, &after),
        of(22, &asked),
        of(23, &after),
        over,
    ];
    events.extend(between);
    events.extend((25..40).map(|seq| of(seq, &after)));
    let batch = Batch {
        log: LogNo(1),
        session: SessionId::new("s").unwrap(),
        events: events.into_iter().map(Arc::new).collect(),
        folded: Vec::new(),
        open_from: None,
    };
    journal.commit(batch).now_or_never().unwrap().unwrap();
    let read = |turn: &TurnId, first: u64| {
        let read = read_turn(&journal, (LogNo(1), Seq(39)), (turn, Seq(first)));
        let places = read.unwrap().iter().map(|event| event.seq.0).collect();
        (places, std::mem::take(&mut *journal.read.lock().unwrap()))
    };

    assert_eq!(
        read(&asked, 20),
        (vec![20, 22, 24], vec![20, 21, 22, 23, 24])
    );
    // The journal has begun to forget: its first event is another one than that of the turn.
    let gone = TurnId::new("gone").unwrap();
    assert_eq!(read(&gone, 0), (vec![], vec![1]));
}
