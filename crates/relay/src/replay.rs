//! Replays a study log against a host and finds the first row that cannot be true (RL-17).
//!
//! Each row is first checked against the previous one: it must be readable, have the next number,
//! and carry the checksum of everything before it. Then it is replayed: a new host gets the same
//! messages at the same clock times, and must send the same messages as the logged one. Messages
//! that the host sent unasked were the person's doing; the replay derives the person's action from
//! what they changed.

use std::io::{self, BufRead, Read};

use samovar_core::relay::{Host, MessageKind, RelayRole};
use samovar_core::words;
use samovar_locale as locale;
use serde::de;

use crate::row::{self, Direction, Row};
use player::{Player, View};

mod person;
mod player;
#[cfg(test)]
mod tests;

/// Bytes of a line, at most: more than any row has.
const MAX_LINE: u64 = 8 << 20;
/// Bytes of a value that are shown, at most.
const MAX_SHOWN: usize = 200;

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Rows that were read, with the one that differs.
    pub rows: u64,
    /// Messages of the host that were compared. None in the file of a room, which has pieces alone.
    pub compared: u64,
    /// Whether the rows have checks; without them a row that is missing at the end of an answer is
    /// found, but not every byte that was changed.
    pub is_checked: bool,
    /// Whether the log contains the study's end. Rows that were cut off after an answer leave no
    /// other trace.
    pub is_ended: bool,
    /// Where the log first differs; `None` if it does not.
    pub difference: Option<Difference>,
}

/// Where a log is not what it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The line in the file, from 1.
    pub line: u64,
    /// The row's number, when it can be read.
    pub event_index: Option<u64>,
    /// What of it differs.
    pub what: Mismatch,
    /// What would be there.
    pub expected: String,
    /// What is there.
    pub found: String,
}

words! {
    /// What of a row can differ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Mismatch {
        /// It is no row.
        Row = "row",
        /// It means what it did, and is spelled otherwise than the rows around it.
        Spelling = "spelling",
        /// Its number is not the next one.
        Index = "eventIndex",
        /// It, or one before it, is not what was written.
        Check = "check",
        /// The host would have said something else.
        Host = "host",
    }
}

impl Difference {
    /// The difference in a sentence.
    pub fn sentence(&self) -> String {
        let Self {
            line,
            expected,
            found,
            ..
        } = self;
        match self.what {
            Mismatch::Row => locale::replay::no_row(line, found),
            Mismatch::Spelling => locale::replay::other_spelling(line),
            Mismatch::Index => locale::replay::other_index(line, found, expected),
            Mismatch::Check => locale::replay::other_check(line),
            Mismatch::Host => locale::replay::other_words(line, found, expected),
        }
    }
}

/// Replays a log against hosts; `make_host` makes a new one.
///
/// # Errors
/// When the log cannot be read.
pub fn replay(mut log: impl BufRead, make_host: impl Fn() -> Box<dyn Host>) -> io::Result<Report> {
    let mut reading = Verifier::default();
    let mut players = Vec::new();
    let mut line = Vec::new();
    let mut difference = None;
    while difference.is_none() {
        line.clear();
        log.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            break;
        }
        difference = match reading.read(&line) {
            Err(difference) => Some(difference),
            Ok(row) => {
                // A study's log begins so; the file of a room has pieces that nothing leads to.
                if reading.rows == 1 && row.kind == MessageKind::SessionStart.as_str() {
                    players.push(Player::new(View::Agents, &make_host));
                    players.push(Player::new(View::Host, &make_host));
                }
                play(&mut players, &row).map(|differs| {
                    reading.difference(Some(row.event_index), Mismatch::Host, differs)
                })
            }
        };
    }
    let missing = || {
        let missing = players.first().and_then(Player::missing)?;
        Some(reading.difference(None, Mismatch::Host, missing))
    };
    let difference = difference.or_else(missing);
    let spelling = reading.spelling();
    let is_first = |spelling: &Difference| {
        let line = difference.as_ref().map(|difference| difference.line);
        line.is_none_or(|line| spelling.line < line)
    };
    Ok(Report {
        rows: reading.rows,
        compared: players.first().map_or(0, |player| player.compared),
        is_checked: reading.is_checked,
        is_ended: reading.is_ended,
        difference: spelling.filter(is_first).or(difference),
    })
}

/// Plays a row from the host's side, or from that of the agents while no row is of a host.
fn play<M: Fn() -> Box<dyn Host>>(players: &mut Vec<Player<M>>, row: &Row) -> Option<Differs> {
    if row.role == Some(RelayRole::Host) && players.len() > 1 {
        players.remove(0);
    }
    let differs: Vec<_> = players.iter_mut().map(|player| player.play(row)).collect();
    differs.into_iter().next().flatten()
}

/// What is wanted, and what is there.
type Differs = (String, String);

/// Reads rows and holds each against itself and the one before.
#[derive(Default)]
struct Verifier {
    rows: u64,
    is_checked: bool,
    is_ended: bool,
    last_index: Option<u64>,
    last_check: String,
    /// The first line that is spelled as rows are written.
    written: Option<u64>,
    /// The first that is not, and its number.
    respelled: Option<(u64, u64)>,
}

impl Verifier {
    fn read(&mut self, line: &[u8]) -> Result<Row, Difference> {
        self.rows += 1;
        let row = serde_json::from_slice::<Row>(line).and_then(|row| match row::at(&row) {
            Some(_) => Ok(row),
            None => Err(de::Error::custom("its timestamp is no moment")),
        });
        let row = row.map_err(|error| {
            let expected = locale::replay::a_row().to_owned();
            self.difference(None, Mismatch::Row, (expected, error.to_string()))
        })?;
        self.number(&row)?;
        self.check(&row)?;
        self.is_ended |= is_end(&row);
        let spelled = serde_json::to_string(&row).unwrap_or_default();
        if line.strip_suffix(b"\n") == Some(spelled.as_bytes()) {
            self.written.get_or_insert(self.rows);
        } else {
            self.respelled.get_or_insert((self.rows, row.event_index));
        }
        Ok(row)
    }

    /// A log with checks has every row, and begins with 0; rows that somebody took out of one go up.
    fn number(&mut self, row: &Row) -> Result<(), Difference> {
        if self.rows == 1 {
            self.is_checked = !row.check.is_empty();
        }
        let next = self.last_index.map_or(0, |last| last + 1);
        let found = row.event_index;
        self.last_index = Some(found);
        if found == next || (found > next && !self.is_checked) {
            return Ok(());
        }
        let differs = (next.to_string(), found.to_string());
        Err(self.difference(Some(found), Mismatch::Index, differs))
    }

    fn check(&mut self, row: &Row) -> Result<(), Difference> {
        let expected = if self.is_checked {
            row::check(&self.last_check, row)
        } else {
            String::new()
        };
        self.last_check.clone_from(&row.check);
        if row.check == expected {
            return Ok(());
        }
        let differs = (expected, row.check.clone());
        Err(self.difference(Some(row.event_index), Mismatch::Check, differs))
    }

    /// A row that is spelled otherwise, among others that are spelled as they were written.
    fn spelling(&self) -> Option<Difference> {
        let (line, index) = self.respelled.filter(|_| self.written.is_some())?;
        Some(Difference {
            line,
            event_index: Some(index),
            what: Mismatch::Spelling,
            expected: String::new(),
            found: String::new(),
        })
    }

    fn difference(
        &self,
        event_index: Option<u64>,
        what: Mismatch,
        (expected, found): Differs,
    ) -> Difference {
        Difference {
            line: self.rows,
            event_index,
            what,
            expected: shown(expected),
            found: shown(found),
        }
    }
}

/// Whether a study is over behind this row. A log of somebody else has no notes of ours.
fn is_end(row: &Row) -> bool {
    let over = [row::note::ENDED, row::note::SUPERSEDED];
    let is_note = row.direction == Direction::Internal && over.contains(&row.kind.as_str());
    is_note || row.kind == MessageKind::SessionEnded.as_str()
}

/// A text, or its beginning.
fn shown(mut text: String) -> String {
    if text.len() > MAX_SHOWN {
        text.truncate(text.floor_char_boundary(MAX_SHOWN));
        text.push_str("..");
    }
    text
}
