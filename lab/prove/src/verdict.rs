//! What a judge found: counts, and promises that were broken.

use crate::count::Counts;
use crate::violation::{Broken, Violation};

/// What was seen, and what it means.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) counts: Counts,
    pub(crate) violations: Vec<Violation>,
}

impl Verdict {
    pub(crate) fn find(&mut self, kind: Broken, place: &str, found: impl Into<String>) {
        self.violations.push(Violation::new(kind, place, found));
    }
}
