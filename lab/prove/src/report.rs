//! What a run has counted.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::count::Counts;
use crate::violation::Violation;

/// Broken promises that are told one by one; all are counted.
pub const MOST_TOLD: usize = 100;

/// The result of a run, whole or as far as it went.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// What all chance came from.
    pub seed: u64,
    /// How many servers were to be killed.
    pub kills_wanted: u64,
    /// The fault that was planted.
    pub plant: Option<String>,
    /// Whether the spool was damaged between a kill and the next start.
    pub is_cut: bool,
    /// Whether it went to its end.
    pub is_whole: bool,
    /// How long it took, in milliseconds.
    pub took_ms: u64,
    /// What was counted.
    pub counts: Counts,
    /// How often each promise was broken, by its code.
    pub broken: BTreeMap<String, u64>,
    /// The first [`MOST_TOLD`] of them, each with the folder that was kept for it.
    pub violations: Vec<ReportedViolation>,
    /// How many named points servers were to end at.
    pub points_wanted: u64,
    /// Named points that no server has reached.
    pub unreached: BTreeSet<String>,
    /// From a server's start to its serving.
    pub starts: StartTimes,
}

/// A broken promise.
#[derive(Clone, Debug, Serialize)]
pub struct ReportedViolation {
    /// What was broken.
    #[serde(flatten)]
    pub violation: Violation,
    /// Where the data directory, the workspace and the log were kept.
    pub kept_in: PathBuf,
}

/// Times from a server's start to its serving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StartTimes {
    /// How many were measured.
    pub count: u64,
    /// Half of them took no longer, in milliseconds.
    pub p50_ms: u64,
    /// None took longer, in milliseconds.
    pub max_ms: u64,
}

impl Report {
    /// Whether every promise was kept.
    pub fn is_clean(&self) -> bool {
        self.broken.is_empty()
    }

    /// How often this promise was broken.
    pub(crate) fn times(&self, code: &str) -> u64 {
        self.broken.get(code).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, violation: Violation, kept_in: PathBuf) {
        let code = violation.kind.code().to_owned();
        *self.broken.entry(code).or_default() += 1;
        if self.violations.len() < MOST_TOLD {
            self.violations
                .push(ReportedViolation { violation, kept_in });
        }
    }
}

impl StartTimes {
    pub(crate) fn of(times: &[Duration]) -> Self {
        let mut times = times.to_vec();
        times.sort_unstable();
        let millis = |time: Option<&Duration>| {
            let millis = time.map_or(0, Duration::as_millis);
            u64::try_from(millis).unwrap_or(u64::MAX)
        };
        Self {
            count: u64::try_from(times.len()).unwrap_or(u64::MAX),
            p50_ms: millis(times.get(times.len() / 2)),
            max_ms: millis(times.last()),
        }
    }
}
