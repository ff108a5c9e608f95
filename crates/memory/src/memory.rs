//! A memory, where it stands and where it comes from.

use std::fmt;
use std::path::PathBuf;

use jiff::tz::TimeZone;
use samovar_core::TurnId;

use crate::document::Section;
use crate::entry::{Entry, MemoryId};

/// Where memories are.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file with the long-term memory.
    pub long_term: PathBuf,
    /// The file with what the person's agents remember in every folder, which no agent writes; `None`
    /// for none.
    pub person: Option<PathBuf>,
    /// The folder with the daily notes.
    pub daily: PathBuf,
    /// The past days whose notes are in the prompt.
    pub window_days: u16,
    /// The time zone that days are of.
    pub zone: TimeZone,
    /// What else a person has to know of them, a sentence each.
    pub remarks: Vec<String>,
}

/// Where a memory stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In the person's own file, in one of its sections or outside of them.
    Person(Option<Section>),
    /// In the long-term memory, in one of its sections or outside of them.
    LongTerm(Option<Section>),
    /// Among the notes of a day, `2026-11-29`.
    Day(String),
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(Some(section)) => write!(f, "person's {}", section.as_str()),
            Self::Person(None) => f.write_str("person's"),
            Self::LongTerm(Some(section)) => f.write_str(section.as_str()),
            Self::LongTerm(None) => f.write_str("long-term"),
            Self::Day(day) => write!(f, "note of {day}"),
        }
    }
}

/// A memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// What it says, and where that comes from.
    pub entry: Entry,
    /// Where it stands.
    pub source: Source,
}

/// What comes with a new memory.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Its id.
    pub id: MemoryId,
    /// The turn that it comes from.
    pub turn: Option<TurnId>,
    /// Whether text from outside was in its session.
    pub is_tainted: bool,
}

/// What became of a text that was to be remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The memory that says it.
    pub id: MemoryId,
    /// Whether it was there before.
    pub was_there: bool,
}
