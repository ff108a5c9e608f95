//! Chance that can be repeated: the same seed always throws the same.

use std::ops::RangeInclusive;
use std::time::Duration;

/// A stream of numbers from one seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Dice of their own for a part of the work, so that what one part throws does not depend on how
    /// often another has.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    /// A number from this range.
    pub(crate) fn within(&mut self, range: RangeInclusive<u64>) -> u64 {
        let span = (range.end() - range.start()).saturating_add(1);
        range.start() + self.next() % span
    }

    /// A time from this range of milliseconds.
    pub(crate) fn millis(&mut self, range: RangeInclusive<u64>) -> Duration {
        Duration::from_millis(self.within(range))
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&mut self, percent: u64) -> bool {
        self.within(0..=99) < percent
    }

    /// One of these; none when there are none.
    pub(crate) fn one_of<'t, T>(&mut self, things: &'t [T]) -> Option<&'t T> {
        let count = u64::try_from(things.len())
            .ok()
            .filter(|count| *count > 0)?;
        let index = self.next() % count;
        things.get(usize::try_from(index).ok()?)
    }

    /// Puts things into another order.
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let range = u64::try_from(last).unwrap_or(u64::MAX);
            let other = usize::try_from(self.within(0..=range)).unwrap_or(last);
            things.swap(last, other);
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_and_another_does_not() {
        let throw = |seed| {
            let mut dice = Dice::new(seed);
            let mut fork = dice.fork();
            [fork.within(0..=u64::MAX - 1), dice.within(0..=u64::MAX - 1)]
        };
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
    }

    #[test]
    fn every_side_comes_and_no_other() {
        let mut dice = Dice::new(1);
        let mut seen = [0_u32; 4];
        for _ in 0..400 {
            let side = usize::try_from(dice.within(1..=3)).unwrap();
            seen[side] += 1;
        }
        assert_eq!(seen[0], 0);
        assert!(seen[1..].iter().all(|times| *times > 80), "{seen:?}");
        assert_eq!(dice.one_of::<u8>(&[]), None);
    }
}
