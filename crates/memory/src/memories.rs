//! The memories of a folder's store: what there is, and every change of it. All of it may block.

mod days;
mod deletion;
mod known;
mod proposals;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashSet};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::civil::Date;
use samovar_core::{Clock, failpoint};
use samovar_locale::memory as locale;
use samovar_sandbox::SmallFiles;
use tokio::runtime::Handle;

use crate::document::{self, Section};
use crate::entry::{Entry, MemoryId, one_line};
use crate::exchange::Sessions;
use crate::file::{Place, Seen};
use crate::meaning::Meaning;
use crate::memory::{Kept, Memory, Origin, Settings, Source};

pub use days::PartOfDay;
use known::Known;
pub use known::{Hit, Recalled, Remembered};
pub use proposals::{About, MAX_WAITING, Proposal};

/// The days that are read, at most, the newest.
const MAX_DAYS: usize = 1_000;
/// The ids of deleted memories that are kept, the newest: a call that is made again after a crash does
/// not bring its memory back.
const MAX_FORGOTTEN: usize = 10_000;
/// The file with these ids, in the folder of the daily notes.
const FORGOTTEN: &str = "forgotten";

/// What the files say now.
pub(crate) struct Texts {
    /// The person's memory, as its file has it.
    pub(crate) person: Arc<str>,
    /// The long-term memory, as its file has it.
    pub(crate) long_term: Arc<str>,
    /// The notes by their days, without deleted ones.
    pub(crate) days: Vec<(Date, Vec<Entry>)>,
    /// The ids of deleted memories.
    pub(crate) gone: HashSet<MemoryId>,
}

#[derive(Default)]
struct State {
    person: Seen,
    long_term: Seen,
    days: BTreeMap<Date, Seen>,
    forgotten: Seen,
    proposals: Seen,
    /// Why the folder with the daily notes cannot be read.
    folder: Option<String>,
    known: Arc<Known>,
}

impl State {
    fn files(&self) -> impl Iterator<Item = &Seen> {
        [&self.person, &self.long_term, &self.forgotten]
            .into_iter()
            .chain(self.days.values())
    }
}

/// The memories of a folder's store.
pub struct Memories {
    settings: Settings,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
    /// Where earlier exchanges come from, and what reads them.
    sessions: OnceLock<(Sessions, Handle)>,
    pub(crate) meaning: OnceLock<Arc<Meaning>>,
    /// Why meaning counts for nothing, where it should.
    no_meaning: OnceLock<String>,
}

impl Memories {
    /// Opens them, and finishes deletions that a crash cut off.
    pub fn open(settings: Settings, clock: Arc<dyn Clock>) -> Self {
        let memories = Self {
            settings,
            clock,
            state: Mutex::default(),
            sessions: OnceLock::new(),
            meaning: OnceLock::new(),
            no_meaning: OnceLock::new(),
        };
        memories.finish();
        memories
    }

    /// Where they are.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Adds a fact to the long-term memory, unless that says it already.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn remember(&self, text: &str, section: Section, origin: Origin) -> Result<Kept, String> {
        let text = one_line(text)?;
        let mut state = self.look();
        let is_long_term = |memory: &&Memory| !matches!(memory.source, Source::Day(_));
        let mut facts = state.known.all.iter().filter(is_long_term);
        if let Some(same) = facts.find(|memory| memory.entry.says(&text)) {
            return Ok(Kept {
                id: same.entry.id.clone(),
                was_there: true,
            });
        }
        let place = self.long_term();
        let kept = self.add(&mut state, &text, origin, |memories, state, entry| {
            place.make_folder()?;
            let add = |text: &str| {
                let all = document::entries(text);
                // Another server has written it since.
                if all.iter().any(|(_, other)| other.says(&entry.text)) {
                    return text.to_owned();
                }
                let text = if text.is_empty() { "# Memory\n" } else { text };
                document::with(text, Some(section), entry)
            };
            place.change(&mut state.long_term, add)?;
            memories.index(state);
            Ok(())
        })?;
        let mut facts = state.known.all.iter().filter(is_long_term);
        let same = facts.find(|memory| memory.entry.says(&text));
        let by_another = same.filter(|memory| memory.entry.id != kept.id);
        Ok(by_another.map_or(kept, |memory| Kept {
            id: memory.entry.id.clone(),
            was_there: true,
        }))
    }

    /// Adds a note to those of the present day.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn note(&self, text: &str, origin: Origin) -> Result<Kept, String> {
        let text = one_line(text)?;
        let mut state = self.look();
        let today = self.today();
        let place = self.day(today);
        self.add(&mut state, &text, origin, |memories, state, entry| {
            place.make_folder()?;
            let add = |text: &str| {
                let heading = format!("# {today}\n");
                let text = if text.is_empty() { &heading } else { text };
                document::with(text, None, entry)
            };
            place.change(state.days.entry(today).or_default(), add)?;
            memories.index(state);
            Ok(())
        })
    }

    /// Adds an entry, unless it is there already or was deleted since.
    fn add(
        &self,
        state: &mut State,
        text: &str,
        origin: Origin,
        write: impl FnOnce(&Self, &mut State, &Entry) -> Result<(), String>,
    ) -> Result<Kept, String> {
        let Origin {
            id,
            turn,
            is_tainted,
        } = origin;
        let kept = |was_there| Kept {
            id: id.clone(),
            was_there,
        };
        if state.known.all.iter().any(|memory| memory.entry.id == id) {
            return Ok(kept(true));
        }
        if is_forgotten(state, &id) {
            return Err(locale::deleted_since(&id));
        }
        let entry = Entry {
            id: id.clone(),
            text: text.to_owned(),
            date: Some(self.today().to_string()),
            turn,
            is_as_written: true,
            is_tainted,
        };
        written(|| write(self, state, &entry))?;
        Ok(kept(false))
    }

    /// Deletes a memory: first its id is kept as deleted, from when on it is used nowhere, then its line
    /// goes. Proposals that say the same go with it.
    ///
    /// # Errors
    /// Why not, in one sentence: an unknown id, for instance.
    pub fn forget(&self, id: &MemoryId) -> Result<Memory, String> {
        let mut state = self.look();
        let mut all = state.known.all.iter();
        let found = all.find(|memory| memory.entry.id == *id).cloned();
        let memory = found.ok_or_else(|| locale::unknown(id))?;
        if let Some(why) = problem(&state, &memory.source) {
            return Err(why);
        }
        let proposed = proposals::waiting(&state).into_iter();
        let proposed = proposed.filter(|proposal| memory.entry.says(&proposal.text));
        let proposed: Vec<_> = proposed.map(|proposal| proposal.id).collect();
        self.bury(&mut state, proposed.iter().chain([id]))?;
        self.remove(&mut state, &memory)?;
        self.drop_proposals(&mut state, |proposal| proposed.contains(&proposal.id))?;
        Ok(memory)
    }

    /// Gives a memory another text, by a person's word: it is no longer marked as from outside.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn edit(&self, id: &MemoryId, text: &str) -> Result<Memory, String> {
        let text = one_line(text)?;
        let mut state = self.look();
        let mut all = state.known.all.iter();
        let found = all.find(|memory| memory.entry.id == *id).cloned();
        let memory = found.ok_or_else(|| locale::unknown(id))?;
        let entry = Entry {
            text,
            is_as_written: false,
            is_tainted: false,
            ..memory.entry
        };
        let line = entry.line();
        let change = |text: &str| document::replaced(text, id, &entry);
        written(|| self.change(&mut state, &memory.source, change))?;
        let new = Entry::read(&line).unwrap_or(entry);
        Ok(Memory {
            entry: new,
            source: memory.source,
        })
    }

    /// Whether a memory of this id was deleted.
    pub fn was_forgotten(&self, id: &MemoryId) -> bool {
        is_forgotten(&self.look(), id)
    }

    /// The present day.
    pub fn today(&self) -> Date {
        self.day_of(self.clock.now())
    }

    /// The text of the long-term memory, and the notes by their days, as they are now.
    pub(crate) fn texts(&self) -> Texts {
        let state = self.look();
        let gone = forgotten(&state);
        let days = state.days.iter().map(|(day, seen)| {
            let entries = document::entries(&seen.text).into_iter();
            let entries = entries.map(|(_, entry)| entry);
            (
                *day,
                entries.filter(|entry| !gone.contains(&entry.id)).collect(),
            )
        });
        Texts {
            person: state.person.text.clone(),
            long_term: state.long_term.text.clone(),
            days: days.collect(),
            gone,
        }
    }

    fn long_term(&self) -> Place {
        place(&self.settings.long_term)
    }

    fn person(&self) -> Option<Place> {
        self.settings.person.as_deref().map(place)
    }

    fn day(&self, day: Date) -> Place {
        Place::new(&self.settings.daily, &format!("{day}.md"))
    }

    fn buried(&self) -> Place {
        Place::new(&self.settings.daily, FORGOTTEN)
    }

    /// Looks at the files, and reads those that have changed.
    fn look(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut has_changed = self.long_term().look(&mut state.long_term);
        let person = self.person();
        has_changed |= person.is_some_and(|file| file.look(&mut state.person));
        has_changed |= self.buried().look(&mut state.forgotten);
        self.proposed().look(&mut state.proposals);
        let files = SmallFiles::of(&self.settings.daily).and_then(|files| files.list());
        state.folder = files.as_ref().err().and_then(|error| {
            let is_missing = error.kind() == ErrorKind::NotFound;
            let path = self.settings.daily.display();
            (!is_missing).then(|| locale::unreadable(path, error))
        });
        let files = files.unwrap_or_default();
        let days = files.iter().rev().filter_map(|file| {
            let day = file.name.strip_suffix(".md")?;
            day.parse::<Date>()
                .ok()
                .filter(|read| read.to_string() == day)
        });
        let days: HashSet<_> = days.take(MAX_DAYS).collect();
        let before = state.days.len();
        state.days.retain(|day, _| days.contains(day));
        has_changed |= state.days.len() != before;
        for day in days {
            let seen = state.days.entry(day).or_default();
            has_changed |= self.day(day).look(seen);
        }
        if has_changed {
            self.index(&mut state);
        }
        state
    }

    /// Keeps ids as those of deleted memories. A line of a hand has none: it may be written again.
    fn bury<'a>(
        &self,
        state: &mut State,
        ids: impl IntoIterator<Item = &'a MemoryId>,
    ) -> Result<(), String> {
        let ids: Vec<_> = ids.into_iter().filter(|id| id.is_kept()).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let place = self.buried();
        place.make_folder()?;
        failpoint!("memory.forget.before");
        place.change(&mut state.forgotten, |text| {
            let new = ids.iter().map(|id| id.as_str());
            let all: Vec<_> = text.lines().chain(new).collect();
            let newest = &all[all.len().saturating_sub(MAX_FORGOTTEN)..];
            newest.join("\n") + "\n"
        })?;
        failpoint!("memory.forget.marked");
        self.index(state);
        Ok(())
    }

    /// Takes the line of a memory away.
    fn remove(&self, state: &mut State, memory: &Memory) -> Result<(), String> {
        let id = &memory.entry.id;
        self.change(state, &memory.source, |text| {
            document::without(text, |entry| entry.id == *id)
        })?;
        failpoint!("memory.forget.after");
        Ok(())
    }

    fn change(
        &self,
        state: &mut State,
        source: &Source,
        change: impl Fn(&str) -> String,
    ) -> Result<(), String> {
        match source {
            Source::Person(_) => {
                if let Some(file) = self.person() {
                    file.change(&mut state.person, change)?;
                }
            }
            Source::LongTerm(_) => self.long_term().change(&mut state.long_term, change)?,
            Source::Day(day) => {
                let day: Date = day.parse().map_err(|_| locale::no_day(day))?;
                let seen = state.days.entry(day).or_default();
                self.day(day).change(seen, change)?;
            }
        }
        self.index(state);
        Ok(())
    }
}

/// Why the file of a memory cannot be changed.
fn problem(state: &State, source: &Source) -> Option<String> {
    let seen = match source {
        Source::Person(_) => Some(&state.person),
        Source::LongTerm(_) => Some(&state.long_term),
        Source::Day(day) => day.parse().ok().and_then(|day: Date| state.days.get(&day)),
    };
    seen.and_then(|seen| seen.problem.clone())
}

fn place(path: &Path) -> Place {
    let folder = path.parent().unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Place::new(folder, &name)
}

fn forgotten(state: &State) -> HashSet<MemoryId> {
    let lines = state.forgotten.text.lines();
    lines.filter_map(MemoryId::read).collect()
}

/// Makes a change, between the two points at which a kill is tried.
fn written(write: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    failpoint!("memory.write.before");
    write()?;
    failpoint!("memory.write.after");
    Ok(())
}

fn is_forgotten(state: &State, id: &MemoryId) -> bool {
    let mut lines = state.forgotten.text.lines();
    lines.any(|line| line == id.as_str())
}
