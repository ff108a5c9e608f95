//! The named points and the planted faults that this build has.

use samovar_locale::{self as text, prove as says};
#[cfg(feature = "failpoints")]
use samovar_prove::Needs;
use samovar_prove::Point;

use crate::exit::{Exit, Failure};

/// What can be named on the command line.
pub(super) struct Names {
    points: Vec<Point>,
    faults: Vec<String>,
}

/// Every point.
const ALL: &str = "all";
/// No point: random times alone.
const NONE: &str = "none";

impl Names {
    pub(super) fn of_this_build() -> Self {
        Self {
            points: points(),
            faults: faults(),
        }
    }

    /// The points that were asked for; all that there are when nobody asked.
    ///
    /// # Errors
    /// There is no such point, or this build has none: exit code 2.
    pub(super) fn points(&self, asked: Option<&str>) -> Result<Vec<Point>, Failure> {
        match asked.map(str::trim) {
            Some(NONE) => Ok(Vec::new()),
            Some(_) if self.points.is_empty() => {
                Err(refused("no_failpoints", says::no_failpoints().to_owned()))
            }
            None | Some(ALL) => Ok(self.points.clone()),
            Some(names) => names
                .split(',')
                .map(|name| self.point(name.trim()))
                .collect(),
        }
    }

    /// The fault that was asked for.
    ///
    /// # Errors
    /// As [`Names::points`].
    pub(super) fn plant(&self, asked: Option<&str>) -> Result<Option<String>, Failure> {
        match asked.map(str::trim) {
            None => Ok(None),
            Some(_) if self.faults.is_empty() => {
                Err(refused("no_faults", says::no_faults().to_owned()))
            }
            Some(name) if self.faults.iter().any(|fault| fault == name) => {
                Ok(Some(name.to_owned()))
            }
            Some(name) => {
                let all = self.faults.join(", ");
                let why = says::unknown_fault(text::quoted(name), all);
                Err(refused("unknown_fault", why))
            }
        }
    }

    fn point(&self, name: &str) -> Result<Point, Failure> {
        let mut points = self.points.iter();
        if let Some(point) = points.find(|point| point.name == name) {
            return Ok(point.clone());
        }
        let all: Vec<_> = self
            .points
            .iter()
            .map(|point| point.name.as_str())
            .collect();
        let why = says::unknown_point(text::quoted(name), all.join(", "));
        Err(refused("unknown_point", why))
    }
}

fn refused(code: &str, why: String) -> Failure {
    Failure::new(Exit::Usage, code, why)
}

#[cfg(feature = "failpoints")]
fn points() -> Vec<Point> {
    use samovar_points::failpoint::{LifeStage, POINTS};
    let point = |point: &samovar_points::failpoint::Point| {
        let needs = match point.when {
            LifeStage::Start | LifeStage::Run | LifeStage::Relay => Needs::Load,
            LifeStage::Resume(cut_at) => Needs::Cut(cut_at.to_owned()),
            LifeStage::Stop => Needs::Stop,
            LifeStage::Sweep => Needs::Sweep,
            // No load is sure to come there.
            LifeStage::Care => return None,
        };
        let name = point.name.to_owned();
        Some(Point { name, needs })
    };
    POINTS.iter().filter_map(point).collect()
}

#[cfg(not(feature = "failpoints"))]
fn points() -> Vec<Point> {
    Vec::new()
}

#[cfg(feature = "plant")]
fn faults() -> Vec<String> {
    let faults = samovar_points::plant::FAULTS.iter();
    faults.map(|fault| fault.name.to_owned()).collect()
}

#[cfg(not(feature = "plant"))]
fn faults() -> Vec<String> {
    Vec::new()
}
