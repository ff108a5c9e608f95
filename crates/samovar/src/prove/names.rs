//! The named points and the planted faults that this build has.

use samovar_locale::{self as text, prove as says};

use crate::exit::{Exit, Failure};

/// What can be named on the command line.
pub(super) struct Names {
    points: Vec<String>,
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
    pub(super) fn points(&self, asked: Option<&str>) -> Result<Vec<String>, Failure> {
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

    fn point(&self, name: &str) -> Result<String, Failure> {
        if self.points.iter().any(|point| point == name) {
            return Ok(name.to_owned());
        }
        let why = says::unknown_point(text::quoted(name), self.points.join(", "));
        Err(refused("unknown_point", why))
    }
}

fn refused(code: &str, why: String) -> Failure {
    Failure::new(Exit::Usage, code, why)
}

#[cfg(feature = "failpoints")]
fn points() -> Vec<String> {
    [
        "accept.before",
        "accept.after",
        "step.before",
        "step.after",
        "answer.before",
        "answer.after",
        "intent.before",
        "intent.after",
        "result.before",
        "result.after",
        "finish.before",
        "finish.after",
        "model.ask",
        "tools.ran",
        "spool.write.before",
        "spool.write.after",
        "journal.commit.before",
        "journal.commit.after",
        "journal.epoch.before",
        "journal.epoch.after",
        "history.commit.before",
        "history.commit.after",
        "history.sync.before",
        "history.sync.after",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[cfg(not(feature = "failpoints"))]
fn points() -> Vec<String> {
    Vec::new()
}

fn faults() -> Vec<String> {
    Vec::new()
}
