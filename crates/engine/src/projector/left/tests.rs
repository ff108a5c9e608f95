use samovar_core::journal::Batch;
use samovar_core::{AgentPath, Author, Epoch, Future, Kind, Millis};

use super::*;

/// A journal that gives all that it has at once.
struct Whole(Vec<Event>);

impl Journal for Whole {
    fn epoch(&self) -> Epoch {
        Epoch(1)
    }
    fn was_closed(&self) -> bool {
        true
    }
    fn new_log(&self) -> LogNo {
        LogNo(1)
    }
    fn commit(&self, _batch: Batch) -> Future<'static, Result<(), Broken>> {
        Box::pin(async { Ok(()) })
    }
    fn spool(&self, _log: LogNo, _events: &[Arc<Event>]) -> Result<(), Broken> {
        Ok(())
    }
    fn entry(&self, _session: &SessionId) -> Result<Option<LogEntry>, Broken> {
        Ok(None)
    }
    fn read(&self, _log: LogNo, after: Seq, _max: usize) -> Result<Vec<Event>, Broken> {
        let behind = self.0.iter().filter(|event| event.seq > after);
        Ok(behind.cloned().collect())
    }
    fn give_up(
        &self,
        _log: LogNo,
        _up_to: Seq,
        _at: Millis,
    ) -> Future<'static, Result<(), Broken>> {
        Box::pin(async { Ok(()) })
    }
    fn discard(&self, _session: &SessionId) -> Future<'static, Result<(), Broken>> {
        Box::pin(async { Ok(()) })
    }
    fn unsettled(&self) -> Result<Vec<(SessionId, LogEntry)>, Broken> {
        Ok(Vec::new())
    }
    fn projected(&self, _marks: Vec<(LogNo, Seq)>) {}
    fn sweep(&self, _before: Millis) -> Future<'static, Result<(), Broken>> {
        Box::pin(async { Ok(()) })
    }
    fn close(&self) -> Future<'static, Result<(), Broken>> {
        Box::pin(async { Ok(()) })
    }
}

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
    let journal = Whole((1..=9).map(event).collect());

    let read = read_kept(&journal, LogNo(1), Seq(2), Seq(5)).unwrap();

    let places: Vec<_> = read.iter().map(|event| event.seq.0).collect();
    assert_eq!(places, [3, 4, 5]);
}
