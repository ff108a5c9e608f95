//! A day that is over: what a model is given of it, and what becomes of its answer (MD-14).

use std::cell::Cell;
use std::fmt::Write as _;

use jiff::Timestamp;
use jiff::civil::Date;
use samovar_core::history::Exchange;
use samovar_core::{Millis, TurnId};
use serde::Deserialize;
use serde_json::json;

use super::proposals::{is_refused, waiting};
use super::{About, Memories};
use crate::document::Section;
use crate::entry::{Entry, MemoryId};
use crate::file::{Place, Seen};
use crate::memory::{Memory, Origin, Source};

/// What the model is told about its work.
const PROMPT: &str = include_str!("PROMPT.md");
/// The file, in the folder of the daily notes, with the last day that was looked at.
const LOOKED_AT: &str = "looked_at";
/// A process that has begun with a day and not finished is given up after so long.
const GIVEN_UP: i64 = 10 * 60 * 1_000;
/// How often a day is begun, at most: each time may cost money.
const MAX_TRIES: u32 = 3;
/// Bytes of a day that a model is given, and of what is known already.
const MAX_BYTES: usize = 32 * 1024;
const MAX_KNOWN_BYTES: usize = 16 * 1024;
/// Characters of a message that count.
const MAX_CHARS: usize = 1_500;
/// Facts that are taken from an answer.
const MAX_FACTS: usize = 10;

/// What a model is given of a day: all of it from sessions that had read text from outside, or none.
#[derive(Clone, Debug, PartialEq)]
pub struct PartOfDay {
    /// The message, a line of JSON for each thing.
    pub text: String,
    /// Whether it is marked as from outside (TL-10).
    pub is_tainted: bool,
    date: Date,
    /// The turns that the numbered lines come from.
    turns: Vec<Option<TurnId>>,
}

/// What a day's look at its last day has come to: `2026-11-29`, then, while it is not finished, how often
/// it was begun and when last.
#[derive(Default)]
struct Look {
    day: Option<Date>,
    begun: Option<(u32, i64)>,
}

impl Look {
    fn read(text: &str) -> Self {
        let mut words = text.split_whitespace();
        let day = words.next().and_then(|word| word.parse().ok());
        let begun = words.next().zip(words.next());
        let begun = begun.and_then(|(tries, at)| Some((tries.parse().ok()?, at.parse().ok()?)));
        Self { day, begun }
    }

    /// How often it is begun with the next try; `None` if there must be none now.
    fn next(&self, day: Date, now: i64) -> Option<u32> {
        if self.day.is_none_or(|looked_at| looked_at < day) {
            return Some(1);
        }
        let (tries, at) = self.begun.filter(|_| self.day == Some(day))?;
        let is_free = tries < MAX_TRIES && !(at..at.saturating_add(GIVEN_UP)).contains(&now);
        is_free.then_some(tries + 1)
    }
}

/// A line of a model's answer.
#[derive(Deserialize)]
struct Fact {
    n: usize,
    #[serde(default)]
    section: Section,
    text: String,
}

fn facts(answer: &str) -> impl Iterator<Item = Fact> {
    let lines = answer.lines().map(|line| line.trim().trim_end_matches(','));
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .take(MAX_FACTS)
}

impl Memories {
    /// What the model is told about the work.
    pub fn prompt_for_days() -> &'static str {
        PROMPT
    }

    /// The last day before today on which something was noted, or said in one of these exchanges of the
    /// owner's, unless it was looked at; with its parts, those from outside apart, so that nothing of
    /// them is in a prompt whose answer is not marked.
    pub fn past_day(&self, exchanges: &[Exchange]) -> Option<(Date, Vec<PartOfDay>)> {
        let today = self.today();
        let texts = self.texts();
        let mut past = texts.days.iter().rev();
        let past = past.find(|(day, notes)| *day < today && !notes.is_empty());
        let day_of = |it: &&Exchange| self.day_of(it.at);
        let said = exchanges.iter().map(|it| day_of(&it));
        let said = said.filter(|day| *day < today).max();
        let date = past.map(|(day, _)| *day).max(said)?;
        let mut seen = Seen::default();
        self.looked_at().look(&mut seen);
        Look::read(&seen.text).next(date, self.clock.now().0)?;
        let of_day = past.filter(|(day, _)| *day == date);
        let notes = of_day.map_or(&[][..], |(_, notes)| notes);
        let said: Vec<_> = exchanges.iter().filter(|it| day_of(it) == date).collect();
        let parts = [false, true].map(|is_tainted| self.part(date, notes, &said, is_tainted));
        Some((date, parts.into_iter().flatten().collect()))
    }

    fn part(
        &self,
        date: Date,
        notes: &[Entry],
        said: &[&Exchange],
        is_tainted: bool,
    ) -> Option<PartOfDay> {
        let notes = notes.iter().filter(|note| note.is_tainted == is_tainted);
        let notes = notes.map(|note| (json!({"noted": note.text}), note.turn.clone()));
        let said = said.iter().filter(|it| it.tainted == is_tainted);
        let said = said.map(|it| {
            let short = |text: &str| text.chars().take(MAX_CHARS).collect::<String>();
            let line = json!({"said": short(&it.said), "answer": short(&it.answer)});
            (line, Some(it.id.turn.clone()))
        });
        let mut text = format!("The day is {date}.\n");
        for known in self.known_texts() {
            // Writing to a string cannot fail.
            let _infallible = writeln!(text, "{}", json!({"known": known}));
        }
        let (mut left, mut turns) = (MAX_BYTES, Vec::new());
        for (mut line, turn) in notes.chain(said) {
            line["n"] = (turns.len() + 1).into();
            let line = line.to_string();
            if line.len() > left {
                break;
            }
            left -= line.len();
            text.push_str(&line);
            text.push('\n');
            turns.push(turn);
        }
        (!turns.is_empty()).then_some(PartOfDay {
            text,
            is_tainted,
            date,
            turns,
        })
    }

    /// What need not be proposed: it is remembered for long, or waits for an answer.
    fn known_texts(&self) -> Vec<String> {
        let state = self.look();
        let is_plain =
            |memory: &&Memory| !matches!(memory.source, Source::Day(_)) && !memory.entry.is_tainted;
        let kept = state.known.all.iter().filter(is_plain);
        let kept = kept.map(|memory| memory.entry.text.clone());
        let waits = waiting(&state).into_iter();
        let waits = waits.filter(|it| it.by.is_none() && !it.outside);
        let mut left = MAX_KNOWN_BYTES;
        let all = kept.chain(waits.map(|it| it.text)).take_while(|text| {
            let fits = text.len() <= left;
            left = left.saturating_sub(text.len());
            fits
        });
        all.collect()
    }

    /// Begins with a day; false if another process has begun, or nothing is left to do.
    ///
    /// # Errors
    /// Why that cannot be kept, in one sentence.
    pub fn begin_day(&self, day: Date) -> Result<bool, String> {
        let (now, has_begun) = (self.clock.now().0, Cell::new(false));
        let place = self.looked_at();
        place.make_folder()?;
        place.change(&mut Seen::default(), |text| {
            let tries = Look::read(text).next(day, now);
            has_begun.set(tries.is_some());
            tries.map_or_else(|| text.to_owned(), |tries| format!("{day} {tries} {now}\n"))
        })?;
        Ok(has_begun.get())
    }

    /// A day is looked at for good.
    ///
    /// # Errors
    /// Why that cannot be kept, in one sentence.
    pub fn end_day(&self, day: Date) -> Result<(), String> {
        let done = format!("{day}\n");
        self.looked_at()
            .change(&mut Seen::default(), |_| done.clone())
    }

    /// Proposes what a model's answer about a part of a day names, and answers the new ids. With `auto`
    /// it is remembered at once, unless it is marked as from outside.
    pub fn take_answer(&self, part: &PartOfDay, answer: &str, auto: bool) -> Vec<MemoryId> {
        let mut new = Vec::new();
        for Fact { n, section, text } in facts(answer) {
            // A number of no line is made up, and so may the text be.
            let turn = n.checked_sub(1).and_then(|at| part.turns.get(at));
            let Some(turn) = turn.cloned() else { continue };
            let origin = Origin {
                id: MemoryId::of_call(&part.date.to_string(), &text),
                turn,
                is_tainted: part.is_tainted,
            };
            let kept = if auto && !part.is_tainted && !is_refused(&self.look(), &text, None) {
                self.remember(&text, section, origin)
            } else {
                self.propose(&text, (About::Folder, section), None, origin)
            };
            match kept {
                Ok(kept) => new.extend((!kept.was_there).then_some(kept.id)),
                Err(why) => tracing::debug!(%why, "a fact out of a day is not proposed"),
            }
        }
        new
    }

    /// The day of a moment.
    pub(super) fn day_of(&self, at: Millis) -> Date {
        let at = Timestamp::from_millisecond(at.0).unwrap_or_default();
        at.to_zoned(self.settings.zone.clone()).date()
    }

    fn looked_at(&self) -> Place {
        Place::new(&self.settings.daily, LOOKED_AT)
    }
}
