//! What is given up: a log that is damaged, positions that a log lacks.

use heed::RwTxn;
use samovar_core::journal::LogNo;
use samovar_core::{AgentPath, Author, Epoch, Event, Kind, Millis, Seq, SessionId};

use super::fault::Fault;
use super::row::{self, Row, RowKey};
use super::tables::{LogRow, Tables};

impl Tables {
    /// Removes everything of a session, whatever of it can still be read. Its log stays as a deleted
    /// one until the next boot, so that a session created again under its id continues counting
    /// after it.
    pub(super) fn discard(&self, txn: &mut RwTxn<'_>, session: &SessionId) -> Result<(), Fault> {
        let Some(log) = self.log_of(txn, session)? else {
            return Ok(());
        };
        let mut head = match self.log_row(txn, log) {
            Err(fault) if fault.is_damage() => Seq::default(),
            row => row?.map_or(Seq::default(), |row| row.head),
        };
        let mut places = Vec::new();
        for row in self.rows(txn, RowKey::new(log, Seq(0)))? {
            let (place, bytes) = row?;
            let last = Row::read(place, bytes).map_or(place.seq, |row| row.last());
            head = head.max(last);
            places.push(place);
        }
        for place in places {
            self.events.delete(txn, &place.key())?;
        }
        self.open.delete(txn, &log.0)?;
        self.unprojected.delete(txn, &log.0)?;
        let row = LogRow {
            session: session.clone(),
            head,
            finished: head,
            deleted: true,
        };
        self.put_log_row(txn, log, &row)?;
        Ok(self.tombs.put(txn, &log.0, session.as_str())?)
    }

    /// Notes that a log lacks what lies between its head and a position, so that readers step over it
    /// and nobody gives those positions out again.
    pub(super) fn give_up(
        &self,
        txn: &mut RwTxn<'_>,
        (log, epoch): (LogNo, Epoch),
        up_to: Seq,
        at: Millis,
    ) -> Result<(), Fault> {
        let Some(mut row) = self.log_row(txn, log)? else {
            return Ok(());
        };
        let first = row.head.next();
        if up_to < first {
            return Ok(());
        }
        let lost = Event {
            seq: up_to,
            epoch,
            at,
            turn: None,
            agent: AgentPath::root("master"),
            author: Author::System,
            kind: Kind::EventsLost { first },
        };
        let place = RowKey::new(log, first);
        self.events
            .put(txn, &place.key(), &row::hole(place, &lost)?)?;
        if row.finished == row.head {
            row.finished = up_to;
        }
        row.head = up_to;
        self.put_log_row(txn, log, &row)
    }
}
