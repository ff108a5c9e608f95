//! Where a window begins, and how it moves.

use super::{MAX_BYTES, Transcript, shortened, start, weight};

impl Transcript {
    /// Moves the window as the next turn would.
    pub(crate) fn make_room(&mut self, max: usize) {
        self.move_to(start(self.before + self.messages.len(), max), max);
    }

    /// Moves the window to a place, or further while it is too long.
    fn move_to(&mut self, place: usize, max: usize) {
        let from = place.max(self.before);
        self.begin_at(if self.bytes <= MAX_BYTES {
            from
        } else {
            shortened(from, self.before, &self.messages, max)
        });
    }

    /// Drops the messages before the place `start`.
    pub(crate) fn begin_at(&mut self, start: usize) {
        let cut = start.saturating_sub(self.before).min(self.messages.len());
        let kept = self.before + cut;
        if let Some(turn) = self.turns.iter().rfind(|turn| **turn < kept) {
            self.opening = self.messages.get(turn - self.before).cloned();
        }
        self.turns.retain(|turn| *turn >= kept);
        let dropped = self.messages.drain(..cut);
        self.bytes -= dropped
            .map(|message| weight::of_message(&message))
            .sum::<usize>();
        self.before = kept;
    }
}
