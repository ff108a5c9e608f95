use std::sync::Arc;

use futures_util::FutureExt;
use samovar_core::journal::Batch;
use samovar_core::{AgentPath, Author, Epoch, Kind, Millis, SessionId};
use samovar_doubles::MemoryJournal;

use super::*;

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
