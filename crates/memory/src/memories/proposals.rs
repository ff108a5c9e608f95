//! What agents propose to remember: it waits until the owner accepts or refuses it (MD-14).

use samovar_core::TurnId;
use samovar_locale::memory as locale;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Memories, State, is_forgotten, written};
use crate::document::{self, Section};
use crate::entry::{Entry, MemoryId, one_line};
use crate::file::Place;
use crate::memory::{Kept, Memory, Origin, Source};

/// The file with them, in the folder of the daily notes: a line of JSON each.
pub(super) const PROPOSALS: &str = "proposals.jsonl";
/// Proposals that wait, at most.
pub const MAX_WAITING: usize = 50;
/// Refused texts that are known, the newest.
const MAX_REFUSED: usize = 5_000;

samovar_core::words! {
    /// Where a proposal would be kept.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum About {
        /// In the long-term memory of the folder.
        #[default]
        Folder = "folder",
        /// In the person's own memory for all folders.
        Person = "person",
        /// Among the notes of its day.
        Day = "day",
    }
}

/// What an agent proposes to remember.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// Its id, which the memory will have.
    pub id: MemoryId,
    /// What it says, on one line.
    pub text: String,
    /// Where it would be kept.
    pub about: About,
    /// The section there.
    #[serde(default)]
    pub section: Section,
    /// The day on which it was made, `2026-11-29`.
    pub date: String,
    /// The turn that it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnId>,
    /// The token whose session it comes from; `None` for one of the owner's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether text from outside was in its session (TL-10).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// A line of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Waiting(Proposal),
    Refused(Refused),
}

/// A text that was refused: its sessions do not propose it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Refused {
    refused: MemoryId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<String>,
}

impl Proposal {
    /// Whether another one is the same but for its id.
    fn repeats(&self, text: &str, by: Option<&str>) -> bool {
        self.by.as_deref() == by && MemoryId::of_words(&self.text) == MemoryId::of_words(text)
    }

    fn source(&self, today: &str) -> Source {
        match self.about {
            About::Folder => Source::LongTerm(Some(self.section)),
            About::Person => Source::Person(Some(self.section)),
            About::Day => Source::Day(if is_day(&self.date) {
                self.date.clone()
            } else {
                today.to_owned()
            }),
        }
    }
}

fn is_day(word: &str) -> bool {
    let day = word.parse::<jiff::civil::Date>();
    day.is_ok_and(|day| day.to_string() == word)
}

/// What a line of the file says; `None` if a hand has broken it.
fn read(line: &str) -> Option<Line> {
    let line: Line = serde_json::from_str(line).ok()?;
    let is_right = match &line {
        Line::Waiting(Proposal { id, text, .. }) => {
            let is_kept = MemoryId::read(id.as_str()).is_some_and(|id| id.is_kept());
            is_kept && one_line(text).is_ok_and(|whole| whole == *text)
        }
        Line::Refused(_) => true,
    };
    is_right.then_some(line)
}

fn lines(text: &str) -> impl Iterator<Item = Line> {
    text.lines().filter_map(read)
}

/// The text with those of its lines that are to stay, and with a new one. What cannot be read stays.
fn changed(text: &str, mut stays: impl FnMut(&Line) -> bool, new: Option<&Line>) -> String {
    let old = text.lines().filter(|line| !line.trim().is_empty());
    let mut all: String = old
        .filter(|line| read(line).is_none_or(|line| stays(&line)))
        .flat_map(|line| [line, "\n"])
        .collect();
    if let Some(new) = new.and_then(|new| serde_json::to_string(new).ok()) {
        all.push_str(&new);
        all.push('\n');
    }
    all
}

/// Those that wait: neither accepted nor deleted.
pub(super) fn waiting(state: &State) -> Vec<Proposal> {
    let is_known = |id: &MemoryId| state.known.all.iter().any(|memory| memory.entry.id == *id);
    let waiting = lines(&state.proposals.text).filter_map(|line| match line {
        Line::Waiting(proposal) => Some(proposal),
        Line::Refused(_) => None,
    });
    let waiting = waiting.filter(|proposal| !is_known(&proposal.id));
    waiting
        .filter(|proposal| !is_forgotten(state, &proposal.id))
        .collect()
}

/// Whether a text was refused to the owner's agents or to those of a token.
pub(super) fn is_refused(state: &State, text: &str, by: Option<&str>) -> bool {
    let refused = MemoryId::of_words(text);
    let is_it =
        |line| matches!(line, Line::Refused(it) if it.refused == refused && it.by.as_deref() == by);
    lines(&state.proposals.text).any(is_it)
}

impl Memories {
    /// The proposals that wait for an answer, the oldest first.
    pub fn proposals(&self) -> Vec<Proposal> {
        waiting(&self.look())
    }

    /// Proposes to remember something, for the token whose session says it or for the owner's own
    /// agents; the answer is that of what says it already, as far as those may know.
    ///
    /// # Errors
    /// Why not, in one sentence: it was refused, or too many wait.
    pub fn propose(
        &self,
        text: &str,
        (about, section): (About, Section),
        by: Option<&str>,
        origin: Origin,
    ) -> Result<Kept, String> {
        let text = one_line(text)?;
        if about == About::Person && self.settings.person.is_none() {
            return Err(locale::no_own_file().to_owned());
        }
        let mut state = self.look();
        let was_there = |id: &MemoryId| Kept {
            id: id.clone(),
            was_there: true,
        };
        let says = |memory: &&Memory| {
            let is_there = match memory.source {
                Source::Person(_) => about != About::Day,
                Source::LongTerm(_) => about == About::Folder,
                Source::Day(_) => false,
            };
            let is_told = by.is_none() && is_there && memory.entry.says(&text);
            memory.entry.id == origin.id || is_told
        };
        if let Some(memory) = state.known.all.iter().find(says) {
            return Ok(was_there(&memory.entry.id));
        }
        if is_forgotten(&state, &origin.id) {
            return Err(locale::deleted_since(&origin.id));
        }
        let waiting = waiting(&state);
        let mut all = waiting.iter();
        if let Some(same) = all.find(|it| it.id == origin.id || it.repeats(&text, by)) {
            return Ok(was_there(&same.id));
        }
        if is_refused(&state, &text, by) {
            return Err(locale::refused_before().to_owned());
        }
        if waiting.len() >= MAX_WAITING {
            return Err(locale::too_many_proposals(MAX_WAITING));
        }
        let new = Proposal {
            id: origin.id.clone(),
            text,
            about,
            section,
            date: self.today().to_string(),
            turn: origin.turn,
            by: by.map(str::to_owned),
            outside: origin.is_tainted,
        };
        let place = self.proposed();
        place.make_folder()?;
        let new = Line::Waiting(new);
        written(|| {
            place.change(&mut state.proposals, |text| {
                changed(text, |_| true, Some(&new))
            })
        })?;
        Ok(Kept {
            id: origin.id,
            was_there: false,
        })
    }

    /// Keeps what was proposed, by the owner's word, who may give it another text; the mark of text from
    /// outside goes only then. A stop in between leaves a memory, and nothing that waits.
    ///
    /// # Errors
    /// Why not, in one sentence: an unknown id, for instance.
    pub fn accept(&self, id: &MemoryId, text: Option<&str>) -> Result<Memory, String> {
        let text = text.map(one_line).transpose()?;
        let mut state = self.look();
        let proposal = found(&state, id)?;
        let text = text.filter(|text| *text != proposal.text);
        let is_as_proposed = text.is_none();
        let source = proposal.source(&self.today().to_string());
        let (place, section) = match &source {
            Source::Person(section) => {
                let place = self.person();
                (
                    place.ok_or_else(|| locale::no_own_file().to_owned())?,
                    *section,
                )
            }
            Source::LongTerm(section) => (self.long_term(), *section),
            Source::Day(_) => (Place::new(&self.settings.daily, PROPOSALS), None),
        };
        let entry = Entry {
            id: id.clone(),
            text: text.unwrap_or(proposal.text),
            date: Some(proposal.date),
            turn: proposal.turn,
            is_as_written: is_as_proposed,
            is_tainted: proposal.outside && is_as_proposed,
        };
        place.make_folder()?;
        let heading = match &source {
            Source::Day(day) => format!("# {day}\n"),
            Source::Person(_) | Source::LongTerm(_) => "# Memory\n".to_owned(),
        };
        let add = |text: &str| {
            let mut all = document::entries(text).into_iter();
            if section.is_some() && all.any(|(_, other)| other.says(&entry.text)) {
                return text.to_owned();
            }
            let text = if text.is_empty() { &heading } else { text };
            document::with(text, section, &entry)
        };
        written(|| self.change(&mut state, &source, add))?;
        self.drop_proposals(&mut state, |proposal| proposal.id == *id)?;
        let mut all = state.known.all.iter();
        let kept = all.find(|memory| memory.entry.id == *id).or_else(|| {
            let mut all = state.known.all.iter();
            all.find(|memory| memory.entry.says(&entry.text))
        });
        kept.cloned().ok_or_else(|| locale::unknown(id))
    }

    /// Refuses what was proposed: its sessions do not propose it again.
    ///
    /// # Errors
    /// Why not, in one sentence: an unknown id, for instance.
    pub fn refuse(&self, id: &MemoryId) -> Result<Proposal, String> {
        let mut state = self.look();
        let proposal = found(&state, id)?;
        let new = Line::Refused(Refused {
            refused: MemoryId::of_words(&proposal.text),
            by: proposal.by.clone(),
        });
        let place = self.proposed();
        place.change(&mut state.proposals, |text| {
            let old = lines(text).filter(|line| matches!(line, Line::Refused(_)));
            let mut over = (old.count() + 1).saturating_sub(MAX_REFUSED);
            let stays = |line: &Line| match line {
                Line::Waiting(it) => !it.repeats(&proposal.text, proposal.by.as_deref()),
                Line::Refused(_) if over > 0 => {
                    over -= 1;
                    false
                }
                Line::Refused(_) => true,
            };
            changed(text, stays, Some(&new))
        })?;
        Ok(proposal)
    }

    /// Takes proposals away, if there are such.
    pub(super) fn drop_proposals(
        &self,
        state: &mut State,
        is_gone: impl Fn(&Proposal) -> bool,
    ) -> Result<(), String> {
        let is_it = |line: &Line| matches!(line, Line::Waiting(proposal) if is_gone(proposal));
        if !lines(&state.proposals.text).any(|line| is_it(&line)) {
            return Ok(());
        }
        let place = self.proposed();
        place.change(&mut state.proposals, |text| {
            changed(text, |line| !is_it(line), None)
        })
    }

    pub(super) fn proposed(&self) -> Place {
        Place::new(&self.settings.daily, PROPOSALS)
    }
}

fn found(state: &State, id: &MemoryId) -> Result<Proposal, String> {
    let mut waiting = waiting(state).into_iter();
    let found = waiting.find(|proposal| proposal.id == *id);
    found.ok_or_else(|| locale::no_proposal(id))
}
