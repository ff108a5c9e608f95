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

/// Which lane of a run it is, of how many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lane {
    pub(crate) number: usize,
    pub(crate) of: usize,
}

/// Chooses the endings of one lane. The lanes deal the points among themselves, in another order in
/// each round, so that every point has its turn before one comes again.
#[derive(Debug)]
pub(crate) struct Killer {
    points: Vec<Point>,
    left: Vec<Point>,
    /// Those at which finished turns are removed.
    sweeps: Vec<Point>,
    /// What is reached by the next life alone, because this one ends as it has to.
    next: Option<Point>,
    lane: Lane,
    /// Shuffles; the same for all lanes.
    dealer: Dice,
    dice: Dice,
}

impl Killer {
    pub(crate) fn new(points: &[Point], lane: Lane, dealer: Dice, dice: Dice) -> Self {
        let is_sweep = |point: &Point| point.needs == Needs::Sweep;
        let (sweeps, points) = points.iter().cloned().partition(is_sweep);
        Self {
            points,
            left: Vec::new(),
            sweeps,
            next: None,
            lane,
            dealer,
            dice,
        }
    }

    pub(crate) fn next(&mut self) -> Ending {
        if let Some(point) = self.next.take() {
            return self.at(point);
        }
        if self.dice.percent(65)
            && let Some(point) = self.deal()
        {
            let Needs::Cut(before) = &point.needs else {
                return self.at(point);
            };
            let before = Point {
                name: before.clone(),
                needs: Needs::Load,
            };
            self.next = Some(point);
            return self.at(before);
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

    /// A point at which finished turns are removed, if there is one.
    pub(crate) fn sweep(&mut self) -> Option<Point> {
        self.dice.one_of(&self.sweeps).cloned()
    }

    fn deal(&mut self) -> Option<Point> {
        if self.left.is_empty() {
            let mut points = self.points.clone();
            self.dealer.shuffle(&mut points);
            let own = points.into_iter().skip(self.lane.number);
            self.left = own.step_by(self.lane.of.max(1)).collect();
        }
        self.left.pop()
    }

    fn at(&mut self, point: Point) -> Ending {
        // Often the first visit: some points are passed but once in a life, such as those of its end.
        let is_once = point.needs != Needs::Load;
        let visit = if is_once || self.dice.percent(70) {
            1
        } else {
            self.dice.within(1..=VISITS)
        };
        Ending::Point {
            point,
            visit,
            at_last: self.dice.millis(700..=1_400),
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

    fn killer(points: &[Point], number: usize) -> Killer {
        let lane = Lane { number, of: 2 };
        let seed = u64::try_from(number).unwrap();
        Killer::new(points, lane, Dice::new(3), Dice::new(seed))
    }

    #[test]
    fn every_point_has_its_turn_before_one_comes_again() {
        let points = ["a", "b", "c", "d"].map(|name| Point {
            name: name.to_owned(),
            needs: Needs::Load,
        });
        let mut lanes = [killer(&points, 0), killer(&points, 1)];
        for _ in 0..5 {
            let round = lanes.iter_mut().flat_map(|lane| {
                let endings = std::iter::repeat_with(|| lane.next());
                let named = endings.filter_map(|ending| match ending {
                    Ending::Point { point, .. } => Some(point.name),
                    Ending::Asked { .. } | Ending::Serving(_) | Ending::Starting(_) => None,
                });
                named.take(2).collect::<Vec<_>>()
            });
            assert_eq!(round.collect::<BTreeSet<_>>().len(), 4);
        }
    }

    #[test]
    fn what_only_a_cut_turn_reaches_comes_right_behind_the_cut() {
        let point = |name: &str, needs| Point {
            name: name.to_owned(),
            needs,
        };
        let cut = point("b", Needs::Cut("a".to_owned()));
        let sweep = point("c", Needs::Sweep);
        let mut killer = killer(&[cut.clone(), cut, sweep.clone()], 0);
        let endings = std::iter::repeat_with(|| killer.next()).take(40);
        let endings: Vec<_> = endings.map(|ending| ending.failpoint()).collect();
        let is = |ending: &Option<String>, name| {
            let ending = ending.as_ref();
            ending.is_some_and(|ending| ending.starts_with(name))
        };
        for pair in endings.windows(2) {
            assert_eq!(is(&pair[0], "a"), is(&pair[1], "b"), "{endings:?}");
        }
        assert!(endings.iter().any(|ending| is(ending, "b")));
        assert!(!endings.iter().any(|ending| is(ending, "c")));
        assert_eq!(killer.sweep(), Some(sweep));
    }

    #[test]
    fn without_points_the_times_are_random() {
        let mut killer = killer(&[], 0);
        let endings: Vec<_> = std::iter::repeat_with(|| killer.next()).take(50).collect();
        assert!(endings.iter().all(|ending| ending.failpoint().is_none()));
        let is_early = |ending: &Ending| matches!(ending, Ending::Starting(_));
        assert!(endings.iter().any(is_early));
    }
}
