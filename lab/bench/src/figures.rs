//! What is measured, and how.

use std::fmt;
use std::fs;
use std::thread;
use std::time::Duration;

use crate::chat::{Chat, share_out};
use crate::local::MODEL;
use crate::program::Program;
use crate::sample::Sample;
use crate::{cancelled, children, commits, killed, posted, relayed, repeated, stalled};

/// One row of the table.
pub(crate) struct Figure {
    /// What a reader calls it; no other row has it.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// What the median may be, at most; none when it is told for information alone.
    pub(crate) budget: Option<f64>,
}

/// What is measured together.
pub(crate) struct Experiment {
    pub(crate) figures: &'static [Figure],
    /// Measures them in this order, with the binary in folders that are the experiment's own.
    pub(crate) measure: fn(&Program) -> Result<Vec<Sample>, String>,
}

/// What a value counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    Microseconds,
    /// Of 1,000,000 bytes.
    Megabytes,
    /// Of 1024 bytes.
    Kibibytes,
    Commits,
    Turns,
    Messages,
    Rows,
}

/// Every row. To add one, add it here, with the function that measures it: below, or in a file of its
/// own when it needs turns.
pub(crate) const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        figures: &[Figure {
            name: "size of the binary",
            unit: Unit::Megabytes,
            budget: Some(30.0),
        }],
        measure: |program| one(size(program)),
    },
    Experiment {
        figures: &[Figure {
            name: "CPU of `samovar --help`",
            unit: Unit::Milliseconds,
            budget: Some(10.0),
        }],
        measure: |program| one(cpu(program, &["--help"], 100)),
    },
    Experiment {
        figures: &[Figure {
            name: "CPU of `samovar sessions list`, 50 sessions",
            unit: Unit::Milliseconds,
            budget: Some(40.0),
        }],
        measure: |program| {
            fill(program, 50)?;
            one(cpu(program, &["sessions", "list"], 25))
        },
    },
    Experiment {
        figures: &[Figure {
            name: "added to `samovar run` by model servers that hang",
            unit: Unit::Milliseconds,
            budget: Some(250.0),
        }],
        measure: |program| {
            let program = program.looking();
            // Who names a model looks for none.
            let named = format!("vllm/{MODEL}");
            let without = || program.run(&["run", "hi", "--model", &named]);
            one(added(without, || program.run(&["run", "hi"])))
        },
    },
    Experiment {
        figures: &[Figure {
            // Nothing, but for the noise: who waits for them adds 250 ms.
            name: "added to the first `/readyz` by model servers that hang",
            unit: Unit::Milliseconds,
            budget: Some(10.0),
        }],
        measure: |program| one(added(|| start(program), || start(&program.looking()))),
    },
    Experiment {
        figures: &[Figure {
            name: "start to the first `/readyz`, no session",
            unit: Unit::Milliseconds,
            budget: Some(50.0),
        }],
        measure: |program| one(starts(program, 0)),
    },
    Experiment {
        figures: &[Figure {
            name: "start to the first `/readyz`, 10,000 sessions",
            unit: Unit::Milliseconds,
            budget: Some(30.0),
        }],
        measure: |program| one(starts(program, 10_000)),
    },
    Experiment {
        figures: &[Figure {
            name: "memory of an idle server, no session",
            unit: Unit::Megabytes,
            budget: Some(15.0),
        }],
        measure: |program| one(Sample::take(5, || memory(program))),
    },
    Experiment {
        figures: &[
            Figure {
                name: "synced commits of a text turn",
                unit: Unit::Commits,
                budget: Some(2.0),
            },
            Figure {
                name: "synced commits of a turn with a call that reads",
                unit: Unit::Commits,
                budget: Some(4.0),
            },
            Figure {
                name: "synced commits of a turn with a call that writes",
                unit: Unit::Commits,
                budget: Some(5.0),
            },
        ],
        measure: commits::measure,
    },
    Experiment {
        figures: &[Figure {
            name: "cancel to quiet, p99 of 200, 10 at once",
            unit: Unit::Milliseconds,
            budget: Some(500.0),
        }],
        measure: cancelled::measure,
    },
    Experiment {
        figures: &[
            Figure {
                name: "memory of a stalled reader, with the system's buffers",
                unit: Unit::Kibibytes,
                budget: Some(1024.0),
            },
            Figure {
                name: "of that in the system's buffers",
                unit: Unit::Kibibytes,
                budget: None,
            },
        ],
        measure: stalled::measure,
    },
    Experiment {
        figures: &[
            Figure {
                name: "second turns of 100,000 duplicate submits",
                unit: Unit::Turns,
                budget: Some(0.0),
            },
            Figure {
                name: "CPU of a duplicate submit",
                unit: Unit::Microseconds,
                budget: None,
            },
        ],
        measure: repeated::measure,
    },
    Experiment {
        figures: &[
            Figure {
                name: "`kill -9` with 1,000 turns of 200 deltas to `/readyz`",
                unit: Unit::Milliseconds,
                budget: Some(500.0),
            },
            Figure {
                name: "CPU of the new process until then",
                unit: Unit::Milliseconds,
                budget: None,
            },
            Figure {
                name: "the same kill until all 1,000 turns go on",
                unit: Unit::Milliseconds,
                budget: None,
            },
        ],
        measure: killed::measure,
    },
    Experiment {
        figures: &[Figure {
            name: "ids that 1,000 posts at once leave out",
            unit: Unit::Messages,
            budget: Some(0.0),
        }],
        measure: posted::at_once,
    },
    Experiment {
        figures: &[
            Figure {
                name: "missed, repeated or misplaced by 500 readers of 2,000",
                unit: Unit::Messages,
                budget: Some(0.0),
            },
            Figure {
                name: "CPU of a delivered message",
                unit: Unit::Microseconds,
                budget: None,
            },
        ],
        measure: posted::delivered,
    },
    Experiment {
        figures: &[
            Figure {
                name: "post to reader, 20 readers at 100 posts/s, p50",
                unit: Unit::Milliseconds,
                budget: Some(2.0),
            },
            Figure {
                name: "the same, p99",
                unit: Unit::Milliseconds,
                budget: Some(20.0),
            },
        ],
        measure: posted::heard,
    },
    Experiment {
        figures: &[
            Figure {
                // The chat keeps 32 MiB of messages at most.
                name: "memory behind 1,000,000 posts of 1 KiB",
                unit: Unit::Megabytes,
                budget: Some(34.0),
            },
            Figure {
                name: "of that behind the first 100,000",
                unit: Unit::Megabytes,
                budget: Some(4.0),
            },
            Figure {
                name: "memory behind 100,000 posts of 4 KiB, which fill 32 MiB",
                unit: Unit::Megabytes,
                budget: Some(34.0),
            },
            Figure {
                name: "CPU of a post",
                unit: Unit::Microseconds,
                budget: None,
            },
        ],
        measure: posted::kept,
    },
    Experiment {
        figures: &[
            Figure {
                name: "answers gone astray of 200,000 calls in 100 rooms",
                unit: Unit::Messages,
                budget: Some(0.0),
            },
            Figure {
                name: "rows that their study logs lack",
                unit: Unit::Rows,
                budget: Some(0.0),
            },
            Figure {
                name: "CPU of a call over the relay",
                unit: Unit::Microseconds,
                budget: None,
            },
        ],
        measure: relayed::crowded,
    },
    Experiment {
        figures: &[Figure {
            name: "added to a call by the relay, p50",
            unit: Unit::Milliseconds,
            budget: Some(1.0),
        }],
        measure: relayed::added,
    },
    Experiment {
        figures: &[Figure {
            name: "memory of a room in which nothing happens",
            unit: Unit::Kibibytes,
            budget: None,
        }],
        measure: relayed::idle,
    },
];

/// How often something is measured with and without what is to add nothing.
const PAIRS: u32 = 15;

/// How many values of a CPU time are taken, each the mean of many runs.
const BATCHES: u32 = 7;

/// How often a start is measured.
const STARTS: u32 = 15;

/// How many clients fill a data directory at once: they share its commits.
const CLIENTS: usize = 16;

/// How long a server is left alone before it counts as idle.
const IDLE: Duration = Duration::from_secs(1);

/// An experiment of one figure.
fn one(measured: Result<Sample, String>) -> Result<Vec<Sample>, String> {
    measured.map(|sample| vec![sample])
}

fn size(program: &Program) -> Result<Sample, String> {
    let file = program.binary();
    let data = fs::metadata(file).map_err(|cause| format!("{}: {cause}", file.display()))?;
    let kib = u32::try_from(data.len() / 1024).map_err(|_| "it has terabytes".to_owned())?;
    Sample::take(1, || Ok(megabytes(kib)))
}

/// CPU time of a command; each value is the mean of so many runs.
fn cpu(program: &Program, words: &[&str], runs: u32) -> Result<Sample, String> {
    // Brings everything into memory, and does what a first run after others does.
    program.run(words)?;
    Sample::take(BATCHES, || {
        let before = children::cpu()?;
        for _ in 0..runs {
            program.run(words)?;
        }
        let spent = children::cpu()?.saturating_sub(before);
        Ok(milliseconds(spent) / f64::from(runs))
    })
}

/// How much longer the second takes. The two stand side by side, so that what else the machine does
/// meets both.
fn added(
    without: impl Fn() -> Result<Duration, String>,
    with: impl Fn() -> Result<Duration, String>,
) -> Result<Sample, String> {
    Sample::take(PAIRS, || {
        let without = without()?;
        Ok(milliseconds(with()?) - milliseconds(without))
    })
}

/// Time from the start of a server to its first `/readyz`, with so many sessions on the disk.
fn starts(program: &Program, sessions: usize) -> Result<Sample, String> {
    fill(program, sessions)?;
    // The first one does what was left to do.
    start(program)?;
    Sample::take(STARTS, || start(program).map(milliseconds))
}

fn start(program: &Program) -> Result<Duration, String> {
    let serving = program.serve()?;
    serving.running.stop()?;
    Ok(serving.ready_after)
}

fn memory(program: &Program) -> Result<f64, String> {
    let serving = program.serve()?;
    thread::sleep(IDLE);
    let kib = children::resident_kib(serving.running.id())?;
    serving.running.stop()?;
    Ok(megabytes(kib))
}

/// Makes so many sessions.
fn fill(program: &Program, sessions: usize) -> Result<(), String> {
    let serving = program.serve()?;
    share_out(CLIENTS, sessions, |mut numbers| {
        let mut chat = Chat::open(&serving.way_in)?;
        numbers.try_for_each(|_| chat.call("createSession", "{}").map(drop))
    })?;
    serving.running.stop()
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

fn megabytes(kib: u32) -> f64 {
    f64::from(kib) * 1024.0 / 1_000_000.0
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Unit::Milliseconds => "ms",
            Unit::Microseconds => "µs",
            Unit::Megabytes => "MB",
            Unit::Kibibytes => "KiB",
            Unit::Commits => "commits",
            Unit::Turns => "turns",
            Unit::Messages => "messages",
            Unit::Rows => "rows",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_two_rows_share_a_name_nor_the_folder_that_is_made_of_it() {
        let folder = |figure: &Figure| {
            let letters = figure.name.chars().filter(char::is_ascii_alphanumeric);
            letters.collect::<String>()
        };
        let figures: Vec<_> = EXPERIMENTS
            .iter()
            .flat_map(|experiment| experiment.figures)
            .collect();
        let folders: BTreeSet<_> = figures.iter().map(|figure| folder(figure)).collect();

        assert_eq!(folders.len(), figures.len());
    }

    #[test]
    fn a_megabyte_has_a_million_bytes() {
        assert!((megabytes(15_625) - 16.0).abs() < 1e-9);
        assert!((milliseconds(Duration::from_micros(1500)) - 1.5).abs() < 1e-9);
    }

    #[test]
    fn what_is_added_is_the_difference_and_may_be_less_than_nothing() {
        let sample = |without: u64, with: u64| {
            let took = |millis| move || Ok(Duration::from_millis(millis));
            added(took(without), took(with)).unwrap()
        };

        assert!((sample(20, 30).median() - 10.0).abs() < 1e-9);
        assert!((sample(20, 15).median() + 5.0).abs() < 1e-9);
    }
}
