//! What a start finds: the rows of unfinished turns and the spool beside them, made into one again
//! (DU-18).

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::path::Path;
use std::sync::Arc;

use heed::RwTxn;
use samovar_core::journal::LogNo;
use samovar_core::{
    AgentPath, Author, Broken, Epoch, Event, Kind, Millis, Seq, SessionId, TurnId, failpoint,
    planted,
};

use super::fault::Fault;
use super::row::{self, Row, RowKey};
use super::run;
use super::tables::Tables;
use crate::spool::{self, Frame};

/// Whose a loss is that no turn can be found for: the session's own agent.
const MASTER: &str = "master";

/// What a start found out; for the log of the server, and for readers of what is lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// The logs with kept events after lost ones. Each hole is reported once.
    pub holes: Vec<Hole>,
    /// Live events that only the spool had and the journal has now.
    pub folded: u64,
    /// Rows of the journal that were looked at: those of unfinished turns, no others.
    pub rows_read: u64,
    /// Whether the run before closed the journal well; true when there was none.
    pub was_closed: bool,
    /// Whether the journal was wiped, because the system stopped while it was not synced.
    pub was_wiped: bool,
}

/// A hole in a log: what a power cut took from the spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// The session.
    pub session: SessionId,
    /// Its log.
    pub log: LogNo,
    /// The first lost position; no live event after it is trusted.
    pub missing: Seq,
}

/// Begins an epoch: folds what is believed of the spool into the journal, in one commit with the
/// new epoch, and only then empties the spool. Answers with the epoch and the next log's number.
pub(super) fn recover(
    tables: &Tables,
    spool_dir: &Path,
    started: ServerStart,
) -> Result<(Epoch, u64, Recovered), Fault> {
    let mut txn = tables.env.write_txn()?;
    let mut meta = tables.meta(&txn)?;
    let open = open_logs(tables, &txn)?;
    // A frame of an older epoch was folded, or given up, by the boot that began the newer one.
    let is_wanted = |frame: &Frame| frame.epoch == meta.epoch && open.contains_key(&frame.log);
    let segments = spool::read_segments(spool_dir)?;
    let frames = segments.iter().flat_map(|bytes| spool::frames(bytes));
    let mut spooled = by_log(frames.filter(is_wanted));

    let was_closed = meta.closed || meta.epoch == Epoch::default();
    let mut recovered = Recovered {
        was_closed,
        ..Recovered::default()
    };
    let began = started.behind(meta.epoch);
    for (log, from) in open {
        let frames = spooled.remove(&log).unwrap_or_default();
        let from = RowKey::new(log, from);
        match mend(tables, &mut txn, &began, (from, frames), &mut recovered) {
            Err(fault) if fault.is_damage() => {
                tracing::error!(%fault, "a log with an unfinished turn is left as it is");
            }
            mended => mended?,
        }
    }

    tables.bury(&mut txn)?;
    meta.epoch = began.epoch;
    meta.next_log = meta.next_log.max(LogNo::FIRST.0);
    meta.boot_id = began.boot_id;
    meta.closed = false;
    tables.put_meta(&mut txn, &meta)?;
    failpoint!("journal.epoch.before");
    txn.commit()?;
    failpoint!("journal.epoch.after");
    spool::clear(spool_dir)?;
    failpoint!("boot.spool.after");
    Ok((meta.epoch, meta.next_log, recovered))
}

fn open_logs(tables: &Tables, txn: &RwTxn<'_>) -> Result<BTreeMap<LogNo, Seq>, Fault> {
    let logs = tables.open.iter(txn)?;
    let logs = logs.map(|entry| entry.map(|(log, from)| (LogNo(log), Seq(from))));
    Ok(logs.collect::<Result<_, _>>()?)
}

/// The frames of each log by position. Of two at one position the later: the earlier stood behind a
/// durable event that could not be kept, so nobody saw it and its position was given again.
fn by_log<'a>(
    frames: impl Iterator<Item = Frame<'a>>,
) -> BTreeMap<LogNo, BTreeMap<Seq, Frame<'a>>> {
    let mut logs: BTreeMap<LogNo, BTreeMap<Seq, Frame<'a>>> = BTreeMap::new();
    for frame in frames {
        logs.entry(frame.log).or_default().insert(frame.seq, frame);
    }
    logs
}

/// Makes one log whole from a place on. Writes nothing when one of its rows is damaged: whoever
/// reads it will meet that row.
fn mend(
    tables: &Tables,
    txn: &mut RwTxn<'_>,
    began: &ServerStart,
    (from, frames): (RowKey, BTreeMap<Seq, Frame<'_>>),
    recovered: &mut Recovered,
) -> Result<(), Fault> {
    let mut rows = Vec::new();
    for row in tables.rows(txn, from)? {
        let (place, bytes) = row?;
        recovered.rows_read += 1;
        rows.push((place.seq, Row::read(place, bytes)?.last()));
    }
    let mut row = tables
        .log_row(txn, from.log)?
        .ok_or_else(|| missing(from.log))?;
    let end = rows
        .last()
        .map_or(Seq(from.seq.0.saturating_sub(1)), |(_, last)| *last);
    if end < row.head {
        return Err(cut_short(from.log, end).into());
    }
    let merged = merge(from.seq, &rows, frames.into_iter().peekable());
    if merged == MergedLog::default() {
        return Ok(());
    }
    let mut kept = run::pack(from.log, &merged.believed)?;
    for (first, last) in &merged.holes {
        let first = RowKey::new(from.log, *first);
        let lost = began.lost(first, *last, turn_before(tables, txn, from, first)?);
        kept.push((first.seq, row::hole(first, &lost)?));
    }
    for (seq, row) in &kept {
        let place = RowKey::new(from.log, *seq);
        tables.events.put(txn, &place.key(), row)?;
    }
    tables.unprojected.put(txn, &from.log.0, &())?;
    if let Some(last) = merged.believed.last() {
        row.head = row.head.max(last.seq);
        tables.put_log_row(txn, from.log, &row)?;
    }
    recovered.folded += merged.believed.len() as u64;
    if let Some((missing, _)) = merged.holes.first() {
        recovered.holes.push(Hole {
            session: row.session,
            log: from.log,
            missing: *missing,
        });
    }
    Ok(())
}

fn missing(log: LogNo) -> Broken {
    Broken::Damaged(format!(
        "log {} is open, but the table of logs lacks it",
        log.0
    ))
}

fn cut_short(log: LogNo, last: Seq) -> Broken {
    Broken::Damaged(format!("log {}: its rows end at seq {}", log.0, last.0))
}

/// One log's events, merged.
#[derive(Debug, Default, PartialEq)]
struct MergedLog {
    /// Live events that follow the journal's events without a gap.
    believed: Vec<Arc<Event>>,
    /// Missing positions before a row: the first and the last.
    holes: Vec<(Seq, Seq)>,
}

/// Walks rows and frames by position. After the first hole no frame is believed; rows stay.
fn merge<'a>(
    from: Seq,
    rows: &[(Seq, Seq)],
    mut frames: Peekable<impl Iterator<Item = (Seq, Frame<'a>)>>,
) -> MergedLog {
    let mut merged = MergedLog::default();
    let mut next = from;
    for (first, last) in rows {
        if merged.holes.is_empty() {
            next = believe(next, Some(*first), &mut frames, &mut merged.believed);
        }
        if next < *first {
            merged.holes.push((next, Seq(first.0 - 1)));
        }
        next = next.max(last.next());
    }
    if merged.holes.is_empty() {
        believe(next, None, &mut frames, &mut merged.believed);
    }
    merged
}

/// Takes the frames that go on gaplessly from a position, up to a row; answers with the position
/// behind them.
fn believe<'a>(
    mut next: Seq,
    end: Option<Seq>,
    frames: &mut Peekable<impl Iterator<Item = (Seq, Frame<'a>)>>,
    believed: &mut Vec<Arc<Event>>,
) -> Seq {
    while end.is_none_or(|end| next < end) {
        while frames.next_if(|(seq, _)| *seq < next).is_some() {}
        let frame = frames.next_if(|(seq, _)| *seq == next);
        let Some(event) = frame.and_then(|(_, frame)| frame.event()) else {
            break;
        };
        believed.push(Arc::new(event));
        next = next.next();
    }
    next
}

/// A start of the server: the epoch that begins, its time, and the kernel's boot id.
pub(super) struct ServerStart {
    epoch: Epoch,
    at: Millis,
    boot_id: String,
}

impl ServerStart {
    /// A start at a time, in seconds since 1970, that has no epoch yet.
    pub(super) fn new(now_seconds: u64, boot_id: String) -> Self {
        Self {
            epoch: Epoch(now_seconds),
            at: Millis(i64::try_from(now_seconds.saturating_mul(1000)).unwrap_or(i64::MAX)),
            boot_id,
        }
    }

    /// The same, with an epoch after this one at least.
    fn behind(self, last: Epoch) -> Self {
        Self {
            epoch: next_epoch(last, self.epoch.0),
            ..self
        }
    }

    /// The event that replaces the lost ones from a position on.
    fn lost(&self, first: RowKey, last: Seq, turn: Option<(TurnId, AgentPath)>) -> Event {
        let (turn, agent) = turn.unzip();
        Event {
            seq: last,
            epoch: self.epoch,
            at: self.at,
            turn,
            agent: agent.unwrap_or_else(|| AgentPath::root(MASTER)),
            author: Author::System,
            kind: Kind::EventsLost { first: first.seq },
        }
    }
}

/// The one turn that was running before a position, and its agent; `None` if there were several.
/// Reads only durable rows, and only for a hole.
fn turn_before(
    tables: &Tables,
    txn: &RwTxn<'_>,
    from: RowKey,
    hole: RowKey,
) -> Result<Option<(TurnId, AgentPath)>, Fault> {
    let mut on: Vec<(TurnId, AgentPath)> = Vec::new();
    for row in tables.rows(txn, from)? {
        let (place, bytes) = row?;
        if place >= hole {
            break;
        }
        let row = Row::read(place, bytes)?;
        let events = if row.is_run() {
            Vec::new()
        } else {
            row.events()?
        };
        for event in events {
            match (event.kind, event.turn) {
                (Kind::TurnStarted { .. }, Some(turn)) => on.push((turn, event.agent)),
                (Kind::TurnFinished { .. }, Some(turn)) => on.retain(|(other, _)| *other != turn),
                _ => {}
            }
        }
    }
    let is_one = on.len() == 1;
    Ok(on.pop().filter(|_| is_one))
}

/// An unused epoch: a store restored from a copy knows fewer epochs than were used.
fn next_epoch(last: Epoch, now_seconds: u64) -> Epoch {
    planted!("same-epoch", {
        return last.max(Epoch(1));
    });
    Epoch(now_seconds.max(last.0 + 1))
}
