//! Reads study logs, line by line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use jiff::Timestamp;
use samovar_core::relay::{HostKind, MessageKind, RelayRole, StudyInfo, StudyView};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::row::{Direction, Row, note};

/// Bytes of a line, at most: longer than any that is written.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// Tools that a summary names, at most; calls of others are counted together.
const MAX_TOOLS: usize = 100;
/// Characters of what an agent calls something that a summary shows, at most.
const MAX_CHARS: usize = 100;
/// What stands for all that is not shown.
const OTHERS: &str = "…";

/// What a summary needs of a row.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Glance<'a> {
    event_index: u64,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    direction: Direction,
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    payload: &'a RawValue,
    #[serde(default)]
    relay_session_id: Option<String>,
    #[serde(default)]
    role: Option<RelayRole>,
}

impl Glance<'_> {
    /// A string of the payload, or its begin.
    fn text(&self, key: &str) -> Option<String> {
        let payload: Value = serde_json::from_str(self.payload.get()).ok()?;
        let text = payload[key].as_str()?;
        let Some((end, _)) = text.char_indices().nth(MAX_CHARS) else {
            return Some(text.to_owned());
        };
        Some(format!("{}{OTHERS}", &text[..end]))
    }
}

/// A study log in short.
pub(super) fn summary(id: String, file: &File) -> StudyInfo {
    let mut info = StudyInfo {
        id,
        bytes: file.metadata().map_or(0, |file| file.len()),
        ..StudyInfo::default()
    };
    let read = each_line(file, |line| {
        match serde_json::from_slice::<Glance<'_>>(line) {
            Ok(row) => note_row(&mut info, &row),
            Err(_) => info.unreadable += 1,
        }
        Ok(true)
    });
    if let Err(error) = read {
        tracing::warn!(%error, id = info.id, "a study log cannot be read to its end");
        info.unreadable += 1;
    }
    info.length_ms = length_ms(&info).unwrap_or(0);
    info
}

fn note_row(info: &mut StudyInfo, row: &Glance<'_>) {
    info.rows += 1;
    if info.begun.is_none() {
        info.begun = Some(row.timestamp.clone().into_owned());
    }
    info.last = Some(row.timestamp.clone().into_owned());
    info.room = info.room.take().or_else(|| row.relay_session_id.clone());
    let is_internal = row.direction == Direction::Internal;
    if is_internal && row.kind == note::STARTED {
        info.study_id = row.text("studyId");
        info.participant_id = row.text("participantId");
    }
    info.is_ended |= is_internal && [note::ENDED, note::SUPERSEDED].contains(&&*row.kind);
    let is_agents = row.role == Some(RelayRole::Agent) && row.direction == Direction::In;
    if is_agents && row.kind == MessageKind::ToolCall.as_str() {
        let mut tool = row.text("toolName").unwrap_or_default();
        if info.tools.len() >= MAX_TOOLS && !info.tools.contains_key(&tool) {
            OTHERS.clone_into(&mut tool);
        }
        *info.tools.entry(tool).or_default() += 1;
    }
}

fn length_ms(info: &StudyInfo) -> Option<u64> {
    let at = |text: &Option<String>| text.as_ref()?.parse::<Timestamp>().ok();
    let (begun, last) = (at(&info.begun)?, at(&info.last)?);
    u64::try_from(last.as_millisecond() - begun.as_millisecond()).ok()
}

/// The room of a log whose study session is open and has a host of this process; none for any other
/// log.
pub(super) fn room_of_built_in_host(file: &File) -> Option<String> {
    let (mut room, mut is_built_in, mut is_over) = (None, false, false);
    let read = each_line(file, |line| {
        let row: Glance<'_> = serde_json::from_slice(line)?;
        if row.direction == Direction::Internal {
            let (key, is_hosts) = match &*row.kind {
                note::STARTED => ("host", true),
                note::ENTERED => ("kind", row.role == Some(RelayRole::Host)),
                _ => ("", false),
            };
            if is_hosts {
                is_built_in = row.text(key).as_deref() == Some(HostKind::BuiltIn.as_str());
            }
            is_over |= [note::ENDED, note::SUPERSEDED].contains(&&*row.kind);
        }
        room = room.take().or(row.relay_session_id);
        Ok(true)
    });
    if let Err(error) = read {
        tracing::warn!(%error, "a study log cannot be read to its end");
        return None;
    }
    room.filter(|_| is_built_in && !is_over)
}

/// The rows of a view after one of them: at most so many, and about so many bytes.
pub(super) fn rows(
    file: &File,
    view: StudyView,
    after: Option<u64>,
    (limit, max_bytes): (usize, usize),
) -> io::Result<Vec<Row>> {
    let (mut rows, mut bytes, mut number) = (Vec::new(), 0, 0);
    each_line(file, |line| {
        let glance: Glance<'_> = serde_json::from_slice(line)?;
        let index = match view {
            StudyView::File => glance.event_index,
            StudyView::Host if !is_of_host(&glance) => return Ok(true),
            StudyView::Host => number,
        };
        number += 1;
        if after.is_some_and(|after| index <= after) {
            return Ok(true);
        }
        bytes += line.len();
        if rows.len() >= limit || (bytes > max_bytes && !rows.is_empty()) {
            return Ok(false);
        }
        let row = serde_json::from_slice(line)?;
        rows.push(match view {
            StudyView::File => row,
            StudyView::Host => seen_by_host(row, index),
        });
        Ok(true)
    })?;
    Ok(rows)
}

/// The rows after one of them that are whole in the last bytes of a file.
pub(super) fn newest_rows(
    mut file: &File,
    last_bytes: u64,
    after: Option<u64>,
    bounds: (usize, usize),
) -> io::Result<Vec<Row>> {
    let begin = file.metadata()?.len().saturating_sub(last_bytes);
    if begin > 0 {
        // A row that begins exactly there is told by the newline before it.
        file.seek(SeekFrom::Start(begin - 1))?;
        let mut cut = BufReader::new(file).take(last_bytes);
        let mut skipped = Vec::new();
        cut.read_until(b'\n', &mut skipped)?;
        file.seek(SeekFrom::Start(begin - 1 + skipped.len() as u64))?;
    }
    rows(file, StudyView::File, after, bounds)
}

/// Whether a host would have this in its log.
fn is_of_host(row: &Glance<'_>) -> bool {
    row.direction == Direction::Internal || row.role == Some(RelayRole::Host)
}

/// What the relay delivered to the host came in there.
fn seen_by_host(row: Row, event_index: u64) -> Row {
    Row {
        event_index,
        direction: match row.direction {
            Direction::In => Direction::Out,
            Direction::Out => Direction::In,
            Direction::Internal => Direction::Internal,
        },
        role: None,
        member: None,
        check: String::new(),
        ..row
    }
}

/// Gives each whole line to who reads, until that wants no more. What stands behind the last newline
/// is just being written.
fn each_line(file: &File, mut read: impl FnMut(&[u8]) -> io::Result<bool>) -> io::Result<()> {
    let mut file = BufReader::new(file);
    let (mut line, mut number) = (Vec::new(), 0u64);
    loop {
        line.clear();
        number += 1;
        let mut bounded = (&mut file).take(MAX_LINE_BYTES);
        bounded.read_until(b'\n', &mut line)?;
        let Some((b'\n', content)) = line.split_last() else {
            if line.len() as u64 == MAX_LINE_BYTES {
                return Err(wrong(number, "it is too long"));
            }
            return Ok(());
        };
        match read(content) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return Err(wrong(number, &error.to_string())),
        }
    }
}

fn wrong(number: u64, why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {why}"))
}
