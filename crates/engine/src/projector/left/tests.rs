use samovar_core::{AgentPath, Author, Epoch, Kind, Millis};

use super::*;
use crate::log::tests::SlowJournal;

fn event(seq: u64) -> Event {
    Event {
        seq: Seq(seq),
        epoch: Epoch(1),
        at: Millis(7),
        turn: None,
        agent: AgentPath::root("master"),
        author: Author::System,
        kind: Kind::TurnContinued { in_a_row: 1 },
    }
}

// proves DU-1
#[test]
fn what_a_session_keeps_while_its_rest_is_brought_in_is_left_to_whoever_runs_it() {
    let journal = SlowJournal::with((1..=9).map(event).collect());

    let read = read_kept(&journal, LogNo(1), Seq(2), Seq(5)).unwrap();

    let places: Vec<_> = read.iter().map(|event| event.seq.0).collect();
    assert_eq!(places, [3, 4, 5]);
}
