//! The commands that run, and what each has changed so far.

use std::collections::BTreeMap;
use std::io;

use samovar_core::{CallId, SessionId, TurnId};
use serde::{Deserialize, Serialize};

use super::index::{Entry, Sort};
use super::objects::{self, Objects};
use crate::caller::Stop;
use crate::text::sha256;
use crate::undo::{Before, By, CommandCall, Record, Shape, State};

/// A command that runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RunningCommand {
    /// Its number in the store of changes.
    pub(super) id: u64,
    pub(super) session: SessionId,
    pub(super) turn: TurnId,
    pub(super) call: CallId,
    /// Set when its call is dropped: it ends soon.
    #[serde(skip)]
    pub(super) stop: Stop,
    /// Whether the folder was recorded when it began.
    pub(super) is_recorded: bool,
    /// Whether it can have done nothing but what is recorded.
    pub(super) is_whole: bool,
    pub(super) changes: BTreeMap<String, Change>,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Change {
    pub(super) before: Option<Entry>,
    pub(super) after: Option<Entry>,
    /// Whether another command, or a file tool, may have had a part in it.
    pub(super) by_many: bool,
}

impl Change {
    /// What happened, in a word of the outcome.
    pub(super) fn verb(&self) -> &'static str {
        match (&self.before, &self.after) {
            (None, _) => "created",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "changed",
        }
    }
}

impl RunningCommand {
    /// Takes in a further change of a file.
    pub(super) fn add(&mut self, path: &str, next: Change) {
        let Some(known) = self.changes.get_mut(path) else {
            self.changes.insert(path.to_owned(), next);
            return;
        };
        known.by_many |= next.by_many || !is_alike(known.after.as_ref(), next.before.as_ref());
        known.after = next.after;
        if !known.by_many && is_alike(known.before.as_ref(), known.after.as_ref()) {
            self.changes.remove(path);
        }
    }

    /// What is kept of it.
    pub(super) fn call(&self) -> CommandCall {
        CommandCall {
            session: self.session.clone(),
            turn: self.turn.clone(),
            call: self.call.clone(),
            is_whole: self.is_whole && self.changes.values().all(|change| !change.by_many),
        }
    }

    /// Its changes as they are kept.
    pub(super) fn records(&self, objects: &Objects, max_bytes: u64) -> io::Result<Vec<Record>> {
        let record = |(path, change): (&String, &Change)| {
            let before = match &change.before {
                None => Before::Absent,
                Some(entry) => match shape(entry, objects, max_bytes)? {
                    Some(shape) if entry.sort != Sort::Large => {
                        let object = entry.hash.as_ref().map(objects::digits);
                        Before::Recorded(shape, object)
                    }
                    Some(_) | None => Before::Unkept,
                },
            };
            let after = match &change.after {
                None => Some(State::Absent),
                Some(entry) => shape(entry, objects, max_bytes)?.map(State::Is),
            };
            let is_known = after.is_some() && !change.by_many;
            Ok(Record {
                session: self.session.clone(),
                turn: self.turn.clone(),
                call: self.call.clone(),
                path: path.clone(),
                before,
                after: after.unwrap_or(State::Absent),
                made: 0,
                by: if is_known { By::Command } else { By::Many },
            })
        };
        self.changes.iter().map(record).collect()
    }
}

/// Whether nothing is different for a reader.
pub(super) fn is_alike(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    match (one, other) {
        (None, None) => true,
        (Some(one), Some(other)) => one.is_alike(other),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// What an entry is as the store of changes says it; `None` if its object is lost.
pub(super) fn shape(entry: &Entry, objects: &Objects, max_bytes: u64) -> io::Result<Option<Shape>> {
    let facts = &entry.facts;
    let content = || match &entry.hash {
        Some(hash) => objects.read(hash, max_bytes),
        None => Ok(None),
    };
    Ok(match entry.sort {
        Sort::Folder => Some(Shape::Folder { mode: facts.mode }),
        Sort::Large => Some(Shape::Large {
            bytes: facts.size,
            modified: facts.modified,
            inode: facts.inode,
            mode: facts.mode,
        }),
        Sort::File => content()?.map(|content| Shape::File {
            sha256: sha256(&content),
            mode: facts.mode,
        }),
        Sort::Link => content()?.and_then(|target| {
            let target = String::from_utf8(target).ok()?;
            Some(Shape::Link { target })
        }),
    })
}
