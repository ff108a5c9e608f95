//! Turns that are taken back, and lines of what was deleted.

use samovar_core::TurnId;

use super::proposals::waiting;
use super::{Memories, State, forgotten};
use crate::document;
use crate::entry::MemoryId;
use crate::memory::{Memory, Source};

impl Memories {
    /// Deletes the memories and proposals of turns that are taken back, but for what a person has
    /// corrected since; of a token's turns the proposals alone. Answers their ids. From then on they are
    /// used nowhere; their lines go with [`finish`](Self::finish).
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn forget_turns(
        &self,
        turns: &[TurnId],
        token: Option<&str>,
    ) -> Result<Vec<MemoryId>, String> {
        let mut state = self.look();
        let is_of = |turn: &Option<TurnId>| turn.as_ref().is_some_and(|turn| turns.contains(turn));
        // What a person has moved into their own file is theirs.
        let of_turns = |memory: &&Memory| {
            let (entry, is_persons) = (&memory.entry, matches!(memory.source, Source::Person(_)));
            token.is_none() && !is_persons && entry.is_as_written && is_of(&entry.turn)
        };
        let all = state.known.all.iter().filter(of_turns);
        let mut gone: Vec<_> = all.map(|memory| memory.entry.id.clone()).collect();
        let proposed = waiting(&state).into_iter();
        let proposed = proposed.filter(|it| is_of(&it.turn));
        let proposed = proposed.filter(|it| token.is_none() || it.by.as_deref() == token);
        gone.extend(proposed.map(|proposal| proposal.id));
        self.bury(&mut state, &gone)?;
        Ok(gone)
    }

    /// Brings back what [`forget_turns`](Self::forget_turns) deleted, because the turns stay.
    ///
    /// # Errors
    /// Why not, in one sentence.
    pub fn put_back(&self, ids: &[MemoryId]) -> Result<(), String> {
        let mut state = self.look();
        self.buried().change(&mut state.forgotten, |text| {
            let is_left = |line: &&str| !ids.iter().any(|id| id.as_str() == *line);
            let left = text.lines().filter(is_left);
            left.flat_map(|line| [line, "\n"]).collect()
        })?;
        self.index(&mut state);
        Ok(())
    }

    /// Takes away the lines of what is deleted. Where a file cannot be written they stay, unused.
    pub fn finish(&self) {
        let mut state = self.look();
        if let Err(why) = self.remove_forgotten(&mut state) {
            tracing::warn!(%why, "the line of a deleted memory is still in its file; it is not used");
        }
    }

    /// Takes away the lines of memories that are kept as deleted, and of proposals that wait no more.
    fn remove_forgotten(&self, state: &mut State) -> Result<(), String> {
        let waiting = waiting(state);
        let waits = |id: &MemoryId| waiting.iter().any(|proposal| proposal.id == *id);
        self.drop_proposals(state, |proposal| !waits(&proposal.id))?;
        let gone = forgotten(state);
        if gone.is_empty() {
            return Ok(());
        }
        let clean = |text: &str| document::without(text, |entry| gone.contains(&entry.id));
        let files = [
            (Source::Person(None), state.person.text.clone()),
            (Source::LongTerm(None), state.long_term.text.clone()),
        ];
        let days = state.days.iter();
        let days = days.map(|(day, seen)| (Source::Day(day.to_string()), seen.text.clone()));
        let files: Vec<_> = files.into_iter().chain(days).collect();
        for (source, text) in files {
            if clean(&text) != *text {
                self.change(state, &source, clean)?;
            }
        }
        Ok(())
    }
}
