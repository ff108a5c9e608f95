//! How each life of a server ends.

use std::time::Duration;

use crate::dice::Dice;
use crate::plan::{Needs, Point};

/// Visits of a point among which the one is chosen at which the server ends.
const VISITS: u64 = 6;

/// How a server ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// At a named point, at this visit; by force when it is not reached in this time.
    Point {
        point: Point,
        visit: u64,
        at_last: Duration,
    },
    /// It is asked to stop so long after it began to serve, and killed so long after that.
    Asked { after: Duration, at_last: Duration },
    /// So long after it began to serve.
    Serving(Duration),
    /// So long after its start, whether it serves or not.
    Starting(Duration),
}

/// Chooses the next ending. Every point has its turn before one comes again.
#[derive(Debug)]
pub(crate) struct Killer {
    points: Vec<Point>,
    left: Vec<Point>,
    dice: Dice,
}

impl Killer {
    pub(crate) fn new(points: &[Point], dice: Dice) -> Self {
        Self {
            points: points.to_vec(),
            left: Vec::new(),
            dice,
        }
    }

    pub(crate) fn next(&mut self) -> Ending {
        if !self.points.is_empty() && self.dice.percent(65) {
            return self.point();
        }
        match self.dice.within(0..=99) {
            0..=11 => Ending::Starting(self.dice.millis(1..=90)),
            12..=17 => Ending::Asked {
                after: self.dice.millis(5..=500),
                at_last: self.dice.millis(0..=300),
            },
            _ => Ending::Serving(self.dice.millis(5..=700)),
        }
    }

    fn point(&mut self) -> Ending {
        if self.left.is_empty() {
            self.left.clone_from(&self.points);
        }
        let last = u64::try_from(self.left.len())
            .unwrap_or(1)
            .saturating_sub(1);
        let place = usize::try_from(self.dice.within(0..=last)).unwrap_or(0);
        // Often the first visit: some points are passed but once in a life.
        let point = self.left.swap_remove(place);
        // What an end passes, it passes once.
        let visit = if self.dice.percent(50) || point.needs == Needs::Stop {
            1
        } else {
            self.dice.within(1..=VISITS)
        };
        Ending::Point {
            point,
            visit,
            at_last: self.dice.millis(500..=900),
        }
    }
}

impl Ending {
    /// What the server is told of it.
    pub(crate) fn failpoint(&self) -> Option<String> {
        match self {
            Self::Point { point, visit, .. } => Some(format!("{}:{visit}", point.name)),
            Self::Asked { .. } | Self::Serving(_) | Self::Starting(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_point_has_its_turn_before_one_comes_again() {
        let points = ["a", "b", "c"].map(|name| Point {
            name: name.to_owned(),
            needs: Needs::Load,
        });
        let mut killer = Killer::new(&points, Dice::new(3));
        let named = std::iter::repeat_with(|| killer.next()).filter_map(|ending| match ending {
            Ending::Point { point, .. } => Some(point.name),
            Ending::Asked { .. } | Ending::Serving(_) | Ending::Starting(_) => None,
        });
        let nine: Vec<_> = named.take(9).collect();
        for round in nine.chunks(3) {
            assert_eq!(round.iter().collect::<BTreeSet<_>>().len(), 3, "{nine:?}");
        }
    }

    #[test]
    fn without_points_the_times_are_random() {
        let mut killer = Killer::new(&[], Dice::new(3));
        let endings: Vec<_> = std::iter::repeat_with(|| killer.next()).take(50).collect();
        assert!(endings.iter().all(|ending| ending.failpoint().is_none()));
        assert!(
            endings
                .iter()
                .any(|ending| matches!(ending, Ending::Starting(_)))
        );
    }
}
