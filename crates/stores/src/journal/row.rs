//! A row of the journal: a checksum over its key and the rest, then its content.
//!
//! `crc32 (4) | kind (1) | count (8) | JSON`, numbers little-endian. `count` is the number of
//! positions the row covers, so a reader finds the end of a run without unpacking it.

use std::fmt;

use samovar_core::journal::LogNo;
use samovar_core::{Broken, Epoch, Event, Seq};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::run;

const CRC_BYTES: usize = 4;
const HEADER_BYTES: usize = 9;

/// A row's key in the table of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowKey {
    pub(crate) log: LogNo,
    pub(crate) seq: Seq,
}

impl RowKey {
    pub(crate) fn new(log: LogNo, seq: Seq) -> Self {
        Self { log, seq }
    }

    /// Orders by log, then by position.
    pub(super) fn key(self) -> u128 {
        join(self.log.0, self.seq.0)
    }

    pub(super) fn from_key(key: u128) -> Self {
        let (log, seq) = split(key);
        Self::new(LogNo(log), Seq(seq))
    }

    fn bytes(self) -> [u8; 16] {
        self.key().to_be_bytes()
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "log {}, seq {}", self.log.0, self.seq.0)
    }
}

/// Two numbers as one key that orders by the first, then by the second.
pub(super) fn join(high: u64, low: u64) -> u128 {
    (u128::from(high) << 64) | u128::from(low)
}

/// The two numbers of a key.
pub(super) fn split(key: u128) -> (u64, u64) {
    let low = key & u128::from(u64::MAX);
    // Both halves fit by construction.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a half of 128 bits has 64 bits"
    )]
    ((key >> 64) as u64, low as u64)
}

/// What a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    /// One event.
    Event = 1,
    /// Live events with consecutive positions, packed.
    Run = 2,
    /// The one event that stands for lost positions.
    Hole = 3,
}

/// What is read of an event to know when it was made.
#[derive(Deserialize)]
struct EventEpoch {
    epoch: Epoch,
}

/// The same of a run.
#[derive(Deserialize)]
struct MadeTogether {
    shared: EventEpoch,
}

/// A row that was read and whose checksum holds.
#[derive(Debug)]
pub(super) struct Row<'a> {
    place: RowKey,
    kind: RowKind,
    count: u64,
    body: &'a [u8],
}

impl<'a> Row<'a> {
    /// Checks what was found at a place.
    pub(super) fn read(place: RowKey, bytes: &'a [u8]) -> Result<Self, Broken> {
        let content =
            unseal(&place.bytes(), bytes).ok_or_else(|| damaged(place, "wrong checksum"))?;
        let (header, body) = content
            .split_first_chunk::<HEADER_BYTES>()
            .ok_or_else(|| damaged(place, "too short"))?;
        let [kind, count @ ..] = *header;
        let kind = match kind {
            1 => RowKind::Event,
            2 => RowKind::Run,
            3 => RowKind::Hole,
            other => return Err(damaged(place, &format!("unknown kind of row: {other}"))),
        };
        Ok(Self {
            place,
            kind,
            count: u64::from_le_bytes(count),
            body,
        })
    }

    /// The last position that it covers.
    pub(super) fn last(&self) -> Seq {
        Seq(self
            .place
            .seq
            .0
            .saturating_add(self.count.saturating_sub(1)))
    }

    /// Whether it holds live events alone, which no turn is made of.
    pub(super) fn is_run(&self) -> bool {
        self.kind == RowKind::Run
    }

    /// The epoch of its first event.
    pub(super) fn epoch(&self) -> Result<Epoch, Broken> {
        let made = match self.kind {
            RowKind::Event | RowKind::Hole => serde_json::from_slice(self.body),
            RowKind::Run => serde_json::from_slice(self.body).map(|run: MadeTogether| run.shared),
        };
        let made: EventEpoch = made.map_err(|error| damaged(self.place, &error.to_string()))?;
        Ok(made.epoch)
    }

    /// Its events, in order.
    pub(super) fn events(&self) -> Result<Vec<Event>, Broken> {
        let events = match self.kind {
            RowKind::Event | RowKind::Hole => {
                serde_json::from_slice(self.body).map(|event| vec![event])
            }
            RowKind::Run => run::unpack(self.place.seq, self.body),
        };
        let events: Vec<Event> = events.map_err(|error| damaged(self.place, &error.to_string()))?;
        let covered = match self.kind {
            RowKind::Event | RowKind::Run => events.len() as u64,
            RowKind::Hole => self.count,
        };
        if covered != self.count || events.last().map(|event| event.seq) != Some(self.last()) {
            return Err(damaged(self.place, "not the events that it covers"));
        }
        Ok(events)
    }
}

/// A row for one event.
pub(super) fn event(log: LogNo, event: &Event) -> Result<Vec<u8>, Broken> {
    let place = RowKey::new(log, event.seq);
    write(place, RowKind::Event, 1, event)
}

/// A row for a packed run of `count` events.
pub(super) fn packed(place: RowKey, count: u64, run: &impl Serialize) -> Result<Vec<u8>, Broken> {
    write(place, RowKind::Run, count, run)
}

/// A row for the event that stands for the lost positions from a place up to its own.
pub(super) fn hole(place: RowKey, lost: &Event) -> Result<Vec<u8>, Broken> {
    let count = (lost.seq.0 + 1).saturating_sub(place.seq.0);
    write(place, RowKind::Hole, count, lost)
}

fn write(
    place: RowKey,
    kind: RowKind,
    count: u64,
    body: &impl Serialize,
) -> Result<Vec<u8>, Broken> {
    let mut row = vec![0; CRC_BYTES];
    row.push(kind as u8);
    row.extend_from_slice(&count.to_le_bytes());
    serialize(&mut row, body)?;
    Ok(seal(&place.bytes(), row))
}

/// A value of the tables beside the events: a checksum, then JSON.
pub(super) fn sealed_json(key: &[u8], value: &impl Serialize) -> Result<Vec<u8>, Broken> {
    let mut row = vec![0; CRC_BYTES];
    serialize(&mut row, value)?;
    Ok(seal(key, row))
}

/// Reads what [`sealed_json`] wrote; `what` names it for a person.
pub(super) fn unseal_json<T: DeserializeOwned>(
    what: &dyn fmt::Display,
    key: &[u8],
    bytes: &[u8],
) -> Result<T, Broken> {
    let content =
        unseal(key, bytes).ok_or_else(|| Broken::Damaged(format!("{what}: wrong checksum")))?;
    serde_json::from_slice(content).map_err(|error| Broken::Damaged(format!("{what}: {error}")))
}

fn serialize(row: &mut Vec<u8>, value: &impl Serialize) -> Result<(), Broken> {
    serde_json::to_writer(row, value)
        .map_err(|error| Broken::Io(format!("a row cannot be written as JSON: {error}")))
}

fn seal(key: &[u8], mut row: Vec<u8>) -> Vec<u8> {
    let crc = checksum(key, &row[CRC_BYTES..]);
    row[..CRC_BYTES].copy_from_slice(&crc.to_le_bytes());
    row
}

fn unseal<'a>(key: &[u8], bytes: &'a [u8]) -> Option<&'a [u8]> {
    let (crc, content) = bytes.split_first_chunk::<CRC_BYTES>()?;
    (u32::from_le_bytes(*crc) == checksum(key, content)).then_some(content)
}

// The key is a part of it, so that a row under another row's key is noticed too.
fn checksum(key: &[u8], content: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(key);
    hasher.update(content);
    hasher.finalize()
}

fn damaged(place: RowKey, why: &str) -> Broken {
    Broken::Damaged(format!("{place}: {why}"))
}
