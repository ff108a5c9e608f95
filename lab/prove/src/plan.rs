//! What is to be proved, and with what.

use std::path::PathBuf;
use std::time::Duration;

use crate::observed::Spool;

/// A named point of the program's code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Its name, as the program knows it.
    pub name: String,
    /// What has to be done for it to be reached.
    pub needs: Needs,
}

/// What a broken promise does to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtBroken {
    /// Nothing: all are counted.
    GoOn,
    /// No further server is killed.
    End,
}

/// What has to be done for a point to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Load, or nothing at all.
    Load,
    /// The server is asked to stop.
    Stop,
    /// The server before it ended at this point.
    Cut(String),
    /// What is finished is removed, and the server asked to stop.
    Sweep,
}

/// A run of the proof.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program whose `serve` is killed.
    pub binary: PathBuf,
    /// How many servers are killed; at least 1.
    pub kills: u64,
    /// After which time no further server is killed; none for no limit.
    pub time: Option<Duration>,
    /// Named points to stop at, which the program must know; with none, all times are random.
    pub points: Vec<Point>,
    /// What all chance comes from.
    pub seed: u64,
    /// The fault to be planted, which the program must know.
    pub plant: Option<String>,
    /// What happens to the spool between a kill and the next start.
    pub spool: Spool,
    /// Data directories that are worked on at once; at least 1.
    pub lanes: usize,
    /// Lives of one data directory's server before all is read again; at least 1.
    pub lives: u64,
    /// What a broken promise does to the run.
    pub at_broken: AtBroken,
    /// How long after the last start a turn may take to end before it counts as stuck.
    pub patience: Duration,
}

impl Plan {
    /// The plan for a program, with what is usual for everything else.
    pub fn new(binary: PathBuf) -> Self {
        Self {
            binary,
            kills: 200,
            time: None,
            points: Vec::new(),
            seed: 1,
            plant: None,
            spool: Spool::Whole,
            lanes: 4,
            lives: 12,
            at_broken: AtBroken::GoOn,
            patience: Duration::from_mins(1),
        }
    }
}
