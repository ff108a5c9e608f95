//! What is measured, and how.

use std::fmt;
use std::fs;
use std::thread;
use std::time::Duration;

use super::children;
use super::http::Connection;
use super::local::MODEL;
use super::program::{Program, WayIn};
use super::sample::Sample;

/// One row of the table.
pub(crate) struct Figure {
    /// What a reader calls it; no other row has it.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// What the median may be, at most.
    pub(crate) budget: f64,
    /// Measures it, with the binary in folders that are the row's own.
    pub(crate) measure: fn(&Program) -> Result<Sample, String>,
}

/// What a value counts.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Milliseconds,
    /// Of 1,000,000 bytes.
    Megabytes,
}

/// Every row. To add one, add it here, with the function that measures it below.
pub(crate) const FIGURES: &[Figure] = &[
    Figure {
        name: "size of the binary",
        unit: Unit::Megabytes,
        budget: 30.0,
        measure: size,
    },
    Figure {
        name: "CPU of `samovar --help`",
        unit: Unit::Milliseconds,
        budget: 10.0,
        measure: |program| cpu(program, &["--help"], 100),
    },
    Figure {
        name: "CPU of `samovar sessions list`, 50 sessions",
        unit: Unit::Milliseconds,
        budget: 40.0,
        measure: |program| {
            fill(program, 50)?;
            cpu(program, &["sessions", "list"], 25)
        },
    },
    Figure {
        name: "added to `samovar run` by model servers that hang",
        unit: Unit::Milliseconds,
        budget: 250.0,
        measure: |program| {
            let program = program.looking();
            // Who names a model looks for none.
            let named = format!("vllm/{MODEL}");
            let without = || program.run(&["run", "hi", "--model", &named]);
            added(without, || program.run(&["run", "hi"]))
        },
    },
    Figure {
        // Nothing, but for the noise: who waits for them adds 250 ms.
        name: "added to the first `/readyz` by model servers that hang",
        unit: Unit::Milliseconds,
        budget: 10.0,
        measure: |program| added(|| start(program), || start(&program.looking())),
    },
    Figure {
        name: "start to the first `/readyz`, no session",
        unit: Unit::Milliseconds,
        budget: 50.0,
        measure: |program| starts(program, 0),
    },
    Figure {
        name: "start to the first `/readyz`, 10,000 sessions",
        unit: Unit::Milliseconds,
        budget: 30.0,
        measure: |program| starts(program, 10_000),
    },
    Figure {
        name: "memory of an idle server, no session",
        unit: Unit::Megabytes,
        budget: 15.0,
        measure: |program| Sample::take(5, || memory(program)),
    },
];

/// How often something is measured with and without what is to add nothing.
const PAIRS: u32 = 15;

/// How many values of a CPU time are taken, each the mean of many runs.
const BATCHES: u32 = 7;

/// How often a start is measured.
const STARTS: u32 = 15;

/// How many clients fill a data directory at once: they share its commits.
const CLIENTS: u32 = 16;

/// How long a server is left alone before it counts as idle.
const IDLE: Duration = Duration::from_secs(1);

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
fn starts(program: &Program, sessions: u32) -> Result<Sample, String> {
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
fn fill(program: &Program, sessions: u32) -> Result<(), String> {
    let serving = program.serve()?;
    let way_in = &serving.way_in;
    thread::scope(|scope| {
        let shares = (0..CLIENTS).map(|client| {
            let share = sessions / CLIENTS + u32::from(client < sessions % CLIENTS);
            scope.spawn(move || make_sessions(way_in, share))
        });
        let clients: Vec<_> = shares.collect();
        let done = clients.into_iter().map(|client| match client.join() {
            Ok(done) => done,
            Err(_) => Err("a client of the bench broke".to_owned()),
        });
        done.collect::<Result<(), String>>()
    })?;
    serving.running.stop()
}

fn make_sessions(way_in: &WayIn, count: u32) -> Result<(), String> {
    let unmade = |why: &dyn fmt::Display| format!("no session was made: {why}");
    let mut server = Connection::open(way_in.address).map_err(|cause| unmade(&cause))?;
    for _ in 0..count {
        let made = server.post("/services/agent/createSession", &way_in.token, "{}");
        match made.map_err(|cause| unmade(&cause))? {
            200 => {}
            status => return Err(unmade(&format!("the server answered {status}"))),
        }
    }
    Ok(())
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
            Unit::Megabytes => "MB",
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
        let folders: BTreeSet<_> = FIGURES.iter().map(folder).collect();

        assert_eq!(folders.len(), FIGURES.len());
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
