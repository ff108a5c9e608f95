//! The bytes of the stores, without a data directory: what a program needs that looks into one that
//! is not open, or that holds the decoders against bytes of its own.

use std::sync::Arc;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Event, Seq};

use crate::{journal, spool};

/// The events of a journal's row under the key of this log and position.
///
/// # Errors
/// [`Broken::Damaged`] when it is no such row.
pub fn row_events(log: LogNo, seq: Seq, row: &[u8]) -> Result<Vec<Event>, Broken> {
    journal::row_events(log, seq, row)
}

/// The rows of events with consecutive positions, each with the position of its key: live events
/// are packed, as in the journal.
///
/// # Errors
/// [`Broken::Io`] when an event cannot be written as JSON.
pub fn rows(log: LogNo, events: &[Arc<Event>]) -> Result<Vec<(Seq, Vec<u8>)>, Broken> {
    journal::rows(log, events)
}

/// The events of a spool's segment, up to the first that is torn or damaged, each with its log.
/// `None` stands for one that this program cannot read.
pub fn spooled(segment: &[u8]) -> Vec<(LogNo, Option<Event>)> {
    let frames = spool::frames(segment);
    frames.map(|frame| (frame.log, frame.event())).collect()
}

/// Appends an event of a log to a spool's segment.
///
/// # Errors
/// [`Broken::Io`] when it cannot be written as JSON.
pub fn spool(segment: &mut Vec<u8>, log: LogNo, event: &Event) -> Result<(), Broken> {
    spool::append(segment, log, event)
}
